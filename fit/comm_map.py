"""The switch map of one group of message points: bands of sizes, in each a cost term by ranks, as a profile's fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.fit.comm_bands import choose_bands, fit_line
from sprintprof.fit.comm_grid import Grid, grid, size_of
from sprintprof.fit.comm_terms import Cell, cells_of
from sprintprof.fit.comm_words import remarks
from sprintprof.fit.crossval import UNKNOWN_SPREAD, LeftOut
from sprintprof.fit.forms import Fitted
from sprintprof.fit.points import columns, data_sha256, jitter_cv, ranges, times
from sprintprof.profile import Fit, FitError, Spread
from sprintprof.profile.families import evaluate
from sprintprof.profile.segments import Segment
from sprintprof.records import Measurement, Value

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

JUMP = 1.25
"""A later line that begins above this multiple of the earlier one is a jump: it holds from its first size on."""
OWN_SPREAD = 5
"""A cell has an interval of its own from this many left-out points on."""
ONE_COUNT = "leave-one-size-out"
COUNTS = "leave-one-rank-count-out"


class Draft(NamedTuple):
    """A cell of the map before it is written down: where it begins, its term, the left-out log errors."""

    from_bytes: float
    from_ranks: float
    cell: Cell
    falls: bool
    errors: Array
    rows: slice


def fit_map(points: Sequence[Measurement], fixed: dict[str, Value], *, over_ranks: bool) -> Fitted:
    """T over sizes, and with `over_ranks` over the ranks too, as family `segments`."""
    table = grid(points)
    benchmark = points[0].point.benchmark
    bands = choose_bands(table)
    left_out = np.full(table.times_s.shape, np.nan)
    drafts: list[Draft] = []
    ends = [*bands.starts[1:], len(table.sizes)]
    for start, end in zip(bands.starts, ends, strict=True):
        band = Grid(table.sizes[start:end], table.ranks, table.times_s[start:end], table.shares[start:end])
        cells = cells_of(band, benchmark) if over_ranks else [_line(band)]
        for cell in cells:
            part = (slice(start, end), slice(cell.first, cell.last))
            left_out[part] = cell.left_out_s
            drafts.append(Draft(0.0, 0.0, cell, _falls(table, start, cell), np.empty(0), part[0]))
    method = COUNTS
    if not over_ranks:
        method = ONE_COUNT
        left_out = bands.predicted_s
    starts = [_begins(table, [d for d in drafts if d.rows.start == s], drafts, s) for s in bands.starts]
    drafts = [
        d._replace(
            from_bytes=starts[bands.starts.index(d.rows.start)],
            from_ranks=float(table.ranks[d.cell.first]) if d.cell.first else 0.0,
            errors=_errors(left_out, table, d, beside_breaks=over_ranks),
        )
        for d in drafts
    ]
    return _fitted(points, fixed, table, drafts, left_out, method)


def _line(band: Grid) -> Cell:
    features = ["1", "size_bytes"] if band.sizes.any() else ["1"]
    solved = fit_line(band)[: len(features)]
    return Cell(0, 1, "line", features, solved, np.full(band.times_s.shape, np.nan))


def _errors(left_out: Array, table: Grid, draft: Draft, *, beside_breaks: bool) -> Array:
    """Log errors of a cell, as a rule without its sizes beside a break: with one left out nothing tells its place."""
    first, last = draft.rows.start, draft.rows.stop
    if not beside_breaks:
        first, last = first + (first > 0), last - (last < len(table.sizes))
    part = (slice(first, max(first, last)), slice(draft.cell.first, draft.cell.last))
    errors = np.log(left_out[part] / table.times_s[part])
    return np.asarray(errors[np.isfinite(errors)], np.float64)


def _falls(table: Grid, start: int, cell: Cell) -> bool:
    """Whether the measured time falls from the size before the band to its first size."""
    if start == 0:
        return False
    ratio = table.times_s[start, cell.first : cell.last] / table.times_s[start - 1, cell.first : cell.last]
    return bool(np.isfinite(ratio).any() and np.nanmedian(ratio) < 0.98)


def _begins(table: Grid, here: list[Draft], drafts: list[Draft], start: int) -> float:
    """Where a band begins: where its lines meet those before it, if they do between two sizes; else its first size."""
    if start == 0:
        return 0.0
    before = [d for d in drafts if d.rows.stop == start]
    last, first = float(table.sizes[start - 1]), float(table.sizes[start])
    meetings = []
    for place, ranks in enumerate(table.ranks):
        old, new = (_line_at(group, place, float(ranks)) for group in (before, here))
        if new[0] + new[1] * first >= JUMP * (old[0] + old[1] * first) or new[1] <= old[1]:
            meetings.append(first)
        else:
            meetings.append(float(np.clip((old[0] - new[0]) / (new[1] - old[1]), last * 1.001, first)))
    return float(np.median(meetings))


def _line_at(group: list[Draft], place: int, ranks: float) -> tuple[float, float]:
    """α and β of the cell that holds for a number of ranks, from its values at two sizes."""
    cell = next(d.cell for d in group if d.cell.first <= place < d.cell.last)
    fit = _bare(cell)
    value = evaluate(fit, {"size_bytes": np.array([0.0, 1e9]), "ranks": np.array([ranks, ranks])})
    return float(value[0]), float(value[1] - value[0]) / 1e9


def _bare(cell: Cell) -> Fit:
    segment = Segment(0.0, 0.0, 0.0, cell.term, 0, len(cell.features), 1.0, 1.0, cell.kind)
    return Fit(
        benchmark="", engine="", level="message", fixed={}, family="segments", features=cell.features,
        coefficients=cell.coefficients.tolist(), covariance=[], range={}, error=FitError(0.0, 0.0, 0.0, "none", 0),
        jitter_cv=None, points=1, data_sha256="", segments=[segment],
    )  # fmt: skip


def _fitted(
    points: Sequence[Measurement],
    fixed: dict[str, Value],
    table: Grid,
    drafts: list[Draft],
    left_out: Array,
    method: str,
) -> Fitted:
    measured = times(points)
    rows = np.searchsorted(table.sizes, [size_of(m) for m in points])
    places = np.searchsorted(table.ranks, [float(m.point.ranks) for m in points])
    labels = [m.point.label() for m in points]
    features = [f for d in drafts for f in d.cell.features]
    values = [float(c) for d in drafts for c in d.cell.coefficients]
    numbers = {k: v for k, v in columns(points).items() if k not in fixed or k == "ranks"}
    fit = msgspec.structs.replace(
        _bare(drafts[0].cell),
        benchmark=points[0].point.benchmark,
        engine=points[0].point.engine,
        fixed=fixed,
        features=features,
        coefficients=values,
        segments=_segments(points, table, drafts, rows, places),
        range=ranges(numbers, measured),
        jitter_cv=jitter_cv(points),
        points=len(points),
        data_sha256=data_sha256(points),
    )
    predicted = left_out[rows, places]
    known = np.isfinite(predicted)
    if known.sum() < 3:
        predicted, known, method = evaluate(fit, columns(points)), np.ones(len(points), np.bool_), "in-sample"
    kept = LeftOut(predicted[known], measured[known], [x for x, k in zip(labels, known, strict=True) if k], method)
    spread = kept.spread()
    if method == "in-sample":  # a form that misfits its own points is at least that wrong elsewhere
        ratio = kept.measured_s / kept.predicted_s
        spread = Spread(min(spread.low, float(ratio.min())), max(spread.high, float(ratio.max())))
    fit = msgspec.structs.replace(fit, error=kept.error(), spread=spread, segments=_intervals(fit, drafts, spread))
    inside = np.abs(np.log(evaluate(fit, columns(points)) / measured))
    fit = msgspec.structs.replace(fit, warnings=remarks(fit, table, float(np.quantile(inside, 0.9))))
    return Fitted(fit, kept)


def _segments(
    points: Sequence[Measurement], table: Grid, drafts: list[Draft], rows: Index, places: Index
) -> list[Segment]:
    out, first = [], 0
    for d in drafts:
        here = (rows >= d.rows.start) & (rows < d.rows.stop) & (places >= d.cell.first) & (places < d.cell.last)
        members = [m for m, keep in zip(points, here, strict=True) if keep]
        shares = table.shares[d.rows, d.cell.first : d.cell.last].reshape(-1, table.shares.shape[2])
        shares = shares[np.isfinite(shares).all(axis=1)]
        out.append(
            Segment(
                from_bytes=d.from_bytes,
                from_ranks=d.from_ranks,
                last_bytes=float(table.sizes[d.rows.stop - 1]),
                term=d.cell.term,
                first=first,
                count=len(d.cell.features),
                low=1.0,
                high=1.0,
                kind=d.cell.kind,
                falls=d.falls,
                quantiles=np.median(shares, axis=0).tolist() if len(shares) else [],
                jitter_cv=jitter_cv(members) if members else None,
            )
        )
        first += len(d.cell.features)
    return out


def _intervals(fit: Fit, drafts: list[Draft], whole: Spread) -> list[Segment]:
    """Each cell with the interval of its own left-out errors, else that of the whole fit."""
    out = []
    for segment, d in zip(fit.segments, drafts, strict=True):
        spread = whole
        if len(d.errors) >= OWN_SPREAD:
            ones = np.ones(len(d.errors))
            spread = LeftOut(np.exp(d.errors), ones, [], COUNTS).spread()
        elif not len(d.errors):
            spread = Spread(min(whole.low, UNKNOWN_SPREAD.low), max(whole.high, UNKNOWN_SPREAD.high))
        out.append(msgspec.structs.replace(segment, low=spread.low, high=spread.high))
    return out
