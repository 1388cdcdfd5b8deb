"""The family `segments`: T(size, ranks) by the cost term that the switch map names, never falling with the size.

Within a cell T = α·steps(ranks) + β·bytes(size, ranks) (+ a constant). Where a cell begins without a measured fall,
its time is at least what the cell before it reached at its last measured size, and between that size and the next
cell no time is above the greater of the two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sprintprof.profile.features import Array, Columns, columns_of, evaluate_feature, length
from sprintprof.profile.message_features import TERMS
from sprintprof.profile.schema import Fit
from sprintprof.profile.segments import QUANTILES, Segment

WIDEN_PER_DOUBLING = 0.2
"""Half the interval (in logarithms) grows by this share for each doubling beyond what was measured."""
BEYOND = 1.33
"""The interval is at least this factor either way beyond the measured ranks: libraries switch where nobody looked."""
CHEAPER = 0.8
"""Another term is named where it would take less than this share of the prediction."""
Index = npt.NDArray[np.intp]
Bands = list[tuple[float, list[Segment]]]


def bands_of(segments: list[Segment]) -> Bands:
    """(first size, its cells by ascending ranks), by ascending size."""
    ordered = sorted(segments, key=lambda s: (s.from_bytes, s.from_ranks))
    return [(start, list(cells)) for start, cells in itertools.groupby(ordered, key=lambda s: s.from_bytes)]


def evaluate_segments(fit: Fit, columns: Columns) -> Array:
    """Times in s, shape (n,). Raises KeyError where a column is missing."""
    table = with_defaults(columns)
    size, ranks = table["size_bytes"], table["ranks"]
    bands = bands_of(fit.segments)
    cells = [_places(band, ranks) for _, band in bands]

    def at(place: int, asked: Array) -> Array:
        return _cells(fit, bands[place][1], cells[place], {**table, "size_bytes": asked})

    out, reached = np.zeros(length(table)), np.zeros(length(table))
    for place, (start, band) in enumerate(bands):
        end = bands[place + 1][0] if place + 1 < len(bands) else math.inf
        here = (size >= start) & (size < end) if place else size < end
        reached = np.where(_of_cells([c.falls for c in band], cells[place]), 0.0, reached)
        value = np.maximum(at(place, size), reached)
        if place + 1 < len(bands):
            last = _of_cells([c.last_bytes for c in band], cells[place])
            reached = np.maximum(at(place, last), reached)
            falls = _of_cells([c.falls for c in bands[place + 1][1]], cells[place + 1])
            ceiling = np.maximum(at(place + 1, np.full(len(size), end)), reached)
            value = np.where((size > last) & (falls == 0), np.minimum(value, ceiling), value)
        out = np.where(here, value, out)
    return out


def with_defaults(columns: Columns) -> Columns:
    """The columns with `size_bytes` 0, `ranks` 1 and `senders` ranks − 1 where they are not there."""
    count = length(columns)
    table = {"size_bytes": np.zeros(count), "ranks": np.ones(count), **columns}
    if "senders" not in table:
        table["senders"] = table.get("receivers", np.maximum(table["ranks"] - 1.0, 1.0))
    return table


def segment_at(fit: Fit, size_bytes: float, ranks: float) -> Segment:
    """The cell of the switch map that answers for a size and a number of ranks."""
    bands = bands_of(fit.segments)
    _, cells = [b for place, b in enumerate(bands) if place == 0 or b[0] <= size_bytes][-1]
    return cells[int(_places(cells, np.array([ranks]))[0])]


def quantiles_s(fit: Fit, size_bytes: float, ranks: float, median_s: float) -> dict[str, float]:
    """Quantiles in s of single operations around a median; empty where no samples were kept."""
    shares = segment_at(fit, size_bytes, ranks).quantiles if fit.segments else []
    return {name: median_s * share for name, share in zip(QUANTILES, shares, strict=False)}


def interval_factors(fit: Fit, size_bytes: float, ranks: float) -> tuple[float, float]:
    """(low, high) of the 90 % interval over the prediction: the cell's, wider the farther outside what was measured.

    Between the last measured size of a cell and the next cell the break may be anywhere: there the interval is at
    least that of all left-out points. Beyond the measured ranks it is at least BEYOND.
    """
    cell = segment_at(fit, size_bytes, ranks)
    low, high = cell.low, cell.high
    if cell.last_bytes < size_bytes <= fit.range.get("size_bytes", (0.0, 0.0))[1]:
        low, high = min(low, fit.spread.low), max(high, fit.spread.high)
    if ranks > fit.range.get("ranks", (ranks, ranks))[1]:
        low, high = min(low, 1 / BEYOND), max(high, BEYOND)
    wider = 1.0 + WIDEN_PER_DOUBLING * _doublings(fit, size_bytes, ranks)
    return max(low**wider, 1e-6), min(high**wider, 1e6)


def crossings(fit: Fit, size_bytes: float, ranks: float, time_s: float) -> list[str]:
    """Beyond the measured ranks: which other cost term, with the same α and β, would be cheaper there."""
    measured = fit.range.get("ranks", (ranks, ranks))
    cell = segment_at(fit, size_bytes, ranks)
    if ranks <= measured[1] or cell.kind != "sum" or cell.term not in TERMS or size_bytes <= 0:
        return []
    coefficients = fit.coefficients[cell.first : cell.first + cell.count]
    by_feature = dict(zip(fit.features[cell.first : cell.first + cell.count], coefficients, strict=True))
    alpha, beta = by_feature.get(f"{cell.term}(steps)", 0.0), by_feature.get(f"{cell.term}(size_bytes)", 0.0)

    def cost(term: str, p: float) -> float:
        steps, moved = TERMS[term]
        at = np.array([p])
        return by_feature.get("1", 0.0) + alpha * float(steps(at)[0]) + beta * size_bytes * float(moved(at)[0])

    others = [t for t in ("recursive-doubling", "rabenseifner", "ring") if t != cell.term]
    if fit.benchmark != "allreduce":
        return []
    best = min(others, key=lambda t: cost(t, ranks))
    there, before = cost(best, ranks) / time_s, cost(best, measured[1]) / cost(cell.term, measured[1])
    if there < CHEAPER and there < before:
        return [f"may cross a switch: with the same α and β {best} would take {there:.0%} of {cell.term}"]
    return []


def describe(fit: Fit) -> list[str]:
    """The switch map in words, one line a cell: where it begins, its term and its coefficients."""
    lines = []
    for s in sorted(fit.segments, key=lambda s: (s.from_bytes, s.from_ranks)):
        part = range(s.first, s.first + s.count)
        terms = " + ".join(f"{fit.coefficients[i]:.4g}·{fit.features[i]}" for i in part if fit.coefficients[i])
        ranks = f", {s.from_ranks:g} ranks" if s.from_ranks else ""
        lines.append(f"from {s.from_bytes:.0f} B{ranks}: {s.term} {terms}")
    return lines


def check_segments(fit: Fit) -> str:
    """What is wrong with a fit of this family, "" where nothing is."""
    if not fit.segments:
        return "has no segments"
    if len(fit.features) != len(fit.coefficients):
        return f"has {len(fit.coefficients)} coefficients for {len(fit.features)} features"
    unknown = [f for f in fit.features if columns_of(f) is None]
    if unknown:
        return f"has an unknown feature '{unknown[0][:60]}'"
    if any(c < 0 for c in fit.coefficients):
        return "has a negative coefficient"
    for cell in fit.segments:
        if not (cell.first >= 0 and cell.count > 0 and cell.first + cell.count <= len(fit.coefficients)):
            return "has a segment whose coefficients are not there"
        if not any(fit.coefficients[cell.first : cell.first + cell.count]):
            return "has a segment that predicts 0 everywhere"
        if cell.kind == "incast" and cell.count != 3:
            return "has an incast segment without its three coefficients"
        if not (0 < cell.low <= 1 <= cell.high < math.inf):
            return "has a segment whose interval does not hold its own prediction"
        numbers = [cell.from_bytes, cell.from_ranks, cell.last_bytes, cell.jitter_cv or 0.0, *cell.quantiles]
        if not all(math.isfinite(x) and x >= 0 for x in numbers) or len(cell.quantiles) not in (0, len(QUANTILES)):
            return "has a segment with impossible numbers"
    return ""


def _of_cells(values: Sequence[float], cell: Index) -> Array:
    return np.asarray(np.array(values, np.float64)[cell], np.float64)


def _places(cells: list[Segment], ranks: Array) -> Index:
    starts = np.array([c.from_ranks for c in cells])
    return np.maximum(np.searchsorted(starts, ranks, side="right") - 1, 0)


def _cells(fit: Fit, cells: list[Segment], cell: Index, table: Columns) -> Array:
    out = np.zeros(length(table))
    for place, segment in enumerate(cells):
        part = range(segment.first, segment.first + segment.count)
        terms = [fit.coefficients[i] * evaluate_feature(fit.features[i], table) for i in part]
        value = terms[0] + np.maximum(terms[1], terms[2]) if segment.kind == "incast" else np.sum(terms, axis=0)
        out = np.where(cell == place, value, out)
    return out


def _doublings(fit: Fit, size_bytes: float, ranks: float) -> float:
    """How many doublings (or halvings) outside the measured sizes and ranks."""
    total = 0.0
    for name, value in (("size_bytes", size_bytes), ("ranks", ranks)):
        if name in fit.range and value > 0:
            low, high = fit.range[name]
            total += max(0.0, math.log2(value / high) if high > 0 else 0.0, math.log2(low / value) if low > 0 else 0.0)
    return total
