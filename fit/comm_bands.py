"""Bands of message sizes with a straight line each (eager, rendezvous …), their number by cross-validation.

Dynamic programming over break points (Bellman and Roth 1969): for each number of bands the set of breaks with the
least Σ |log(predicted/measured)|. Several numbers of ranks share breaks, each has its own lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.fit.comm_grid import Grid
from sprintprof.fit.comm_solve import robust
from sprintprof.fit.crossval import folds

Array = npt.NDArray[np.float64]

MOST_BANDS = 8
MOST_BREAKS = 40
"""Places where a band may begin, spread evenly over the measured sizes."""
FOLDS = 10
HALF = 0.1
"""A log error that counts half as much as the largest could."""
CLEARLY = 0.95
"""More bands must bring the score below this share of that of fewer …"""
WORTHWHILE = 0.02
"""… and by at least this much …"""
LUCK = 0.5
"""… and by this many standard errors of the gain."""


class Bands(NamedTuple):
    """Indices of each band's first size, ascending from 0; the score on left-out sizes by number of bands.

    `predicted_s`, (sizes, ranks), are the times of left-out sizes by the number that was chosen; NaN for the least and
    the greatest size, which are never left out.
    """

    starts: list[int]
    scores: list[float]
    predicted_s: Array


Lines = dict[tuple[int, int], Array]
"""First and last index + 1 of a band → α and β, shape (ranks, 2), of each number of ranks."""


def choose_bands(table: Grid) -> Bands:
    """The bands whose lines predict left-out sizes best; fewer ones where more are not clearly better."""
    all_starts = divide(table)[0]
    unknown = np.full(table.times_s.shape, np.nan)
    if len(table.sizes) < 4:
        return Bands(all_starts[0], [], unknown)
    inner = np.arange(1, len(table.sizes) - 1)
    predicted = np.array([unknown] * len(all_starts))
    for fold in folds(inner.tolist(), FOLDS):
        out = inner[fold]
        rest = table.without(out.tolist())
        tried, lines = divide(rest)
        for count in range(len(all_starts)):
            starts = tried[min(count, len(tried) - 1)]
            predicted[count, out] = predict_lines(rest, starts, table.sizes[out], lines)
    losses = np.array([_losses(np.log(p / table.times_s)) for p in predicted])
    scores = losses.mean(axis=1)
    best = 0
    for count in range(1, len(scores)):
        gained = losses[best] - losses[count]
        luck = float(gained.std()) / np.sqrt(len(gained))
        if scores[count] < min(CLEARLY * scores[best], scores[best] - WORTHWHILE) and gained.mean() > LUCK * luck:
            best = count
    return Bands(all_starts[best], scores.tolist(), predicted[best])


def _losses(log_errors: Array) -> Array:
    """|e|/(|e| + HALF): beside a switch, or in noise, an error is large whatever the bands; it counts once."""
    error = np.abs(log_errors[np.isfinite(log_errors)])
    return np.asarray(error / (error + HALF), np.float64)


def divide(table: Grid) -> tuple[list[list[int]], Lines]:
    """For 1, 2, … bands the best first indices; the lines of all bands that were tried. Bands have at least 2 sizes."""
    count = len(table.sizes)
    edges = _edges(count)
    cost, lines = _line_costs(table, edges)
    most = max(1, min(MOST_BANDS, count // 2))
    places = len(edges)
    best = np.full((most + 1, places), np.inf)
    came = np.zeros((most + 1, places), np.intp)
    best[0, 0] = 0.0
    for k in range(1, most + 1):
        for end in range(1, places):
            through = best[k - 1, :end] + cost[:end, end]
            came[k, end] = int(np.argmin(through))
            best[k, end] = through[came[k, end]]
    out = []
    for k in range(1, most + 1):
        if not np.isfinite(best[k, -1]):
            break
        starts, end = [], places - 1
        for step in range(k, 0, -1):
            end = int(came[step, end])
            starts.append(int(edges[end]))
        out.append(starts[::-1])
    return out, lines


def predict_lines(table: Grid, starts: list[int], sizes: Array, lines: Lines) -> Array:
    """Times (sizes, ranks) by the lines of the bands; between two bands the break is where `_meeting` puts it."""
    bands = [lines[a, b] for a, b in zip(starts, [*starts[1:], len(table.sizes)], strict=True)]
    out = np.empty((len(sizes), len(table.ranks)))
    begins = table.sizes[starts]
    for row, size in enumerate(sizes):
        place = max(int(np.searchsorted(begins, size, side="right")) - 1, 0)
        value = bands[place] @ np.array([1.0, size])
        if place + 1 < len(starts) and size > table.sizes[starts[place + 1] - 1]:  # between two bands
            value = np.maximum(value, _meeting(table, bands, starts, place, float(size)))
        out[row] = np.maximum(value, 1e-12)
    return out


def fit_line(table: Grid) -> Array:
    """α and β, shape (2,), of the only number of ranks over all sizes of the table."""
    matrix = np.column_stack([np.ones(len(table.sizes)), table.sizes])
    return np.asarray(robust(matrix, table.times_s[:, 0], np.ones((1, len(table.sizes))))[0], np.float64)


def _meeting(table: Grid, lines: list[Array], starts: list[int], place: int, size: float) -> Array:
    """Between two bands whose lines meet there, the later one holds from the meeting on; else the earlier one."""
    following = lines[place + 1] @ np.array([1.0, size])
    first = lines[place + 1] @ np.array([1.0, table.sizes[starts[place + 1]]])
    before = lines[place] @ np.array([1.0, table.sizes[starts[place + 1]]])
    return np.asarray(np.where(first < 1.25 * before, following, 0.0), np.float64)


def _edges(count: int) -> npt.NDArray[np.intp]:
    if count <= MOST_BREAKS:
        return np.arange(count + 1)
    return np.unique(np.linspace(0, count, MOST_BREAKS + 1).round().astype(np.intp))


def _line_costs(table: Grid, edges: npt.NDArray[np.intp]) -> tuple[Array, Lines]:
    """Σ |log error| of the lines over sizes edges[i] .. edges[j], shape (places, places); inf where under 2 sizes."""
    places, count = len(edges), len(table.sizes)
    pairs = [(i, j) for i in range(places) for j in range(i + 1, places) if edges[j] - edges[i] >= min(2, count)]
    cost = np.full((places, places), np.inf)
    begins, ends = (np.array([edges[p[side]] for p in pairs]) for side in (0, 1))
    inside = (np.arange(count) >= begins[:, None]) & (np.arange(count) < ends[:, None])
    total = np.zeros(len(pairs))
    matrix = np.column_stack([np.ones(count), table.sizes])
    found = np.zeros((len(pairs), len(table.ranks), 2))
    for place in range(len(table.ranks)):
        measured = table.times_s[:, place]
        seen = np.isfinite(measured)
        chosen = (inside & seen).astype(np.float64)
        filled = np.where(seen, measured, 1.0)
        found[:, place] = robust(matrix, filled, chosen)
        error = np.abs(np.log(np.maximum(found[:, place] @ matrix.T, 1e-300) / filled))
        total += np.sum(np.where(chosen > 0, error, 0.0), axis=1)
    cost[tuple(np.array(pairs).T)] = total
    return cost, {(int(a), int(b)): lines for a, b, lines in zip(begins, ends, found, strict=True)}
