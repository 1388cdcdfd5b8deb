"""Which cost term holds over the ranks in a band of sizes: named terms, switches where the time falls."""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.fit.comm_grid import Grid
from sprintprof.fit.comm_solve import robust
from sprintprof.profile.message_features import TERMS, features_of

Array = npt.NDArray[np.float64]

TERMS_OF: dict[str, list[str]] = {
    "allreduce": ["rabenseifner", "recursive-doubling", "ring", "pipelined-tree", "reduce-broadcast"],
    "broadcast": ["tree", "scatter-allgather", "pipelined-tree"],
    "reduce": ["tree", "scatter-allgather", "pipelined-tree"],
    "allgather": ["doubling-blocks", "linear"],
    "reduce_scatter": ["doubling-blocks", "linear"],
    "gather": ["doubling-blocks", "linear"],
    "scatter": ["doubling-blocks", "linear"],
    "all_to_one": ["linear"],
    "one_to_all": ["linear"],
}
"""Cost terms by benchmark; the first is the cheapest with equal α and β and answers where only one rank count was
measured, for then the data cannot tell terms apart."""
OTHERS = ["rabenseifner", "tree", "ring", "linear"]
WITHOUT_SIZE = ["dissemination", "linear"]
FALL = 0.97
"""No cost term falls as ranks are added: a time below this share of that of fewer ranks is a switch of algorithm."""
CLEARLY = 0.85
"""Another term must bring the left-out error below this share of that of the terms before it …"""
WORTHWHILE = 0.005
"""… and by this much."""
CONSTANT = 0.6
"""A constant (a launch that costs the same for any ranks) is no part of the terms: it must bring much more."""
INCAST = ["senders", "size_bytes", "size_bytes*senders"]


class Cell(NamedTuple):
    """A cost term with its coefficients for the ranks of these indices, and its left-out predictions.

    `left_out_s` is (sizes of the band, ranks of the cell), NaN where nothing could be left out.
    """

    first: int
    last: int
    term: str
    features: list[str]
    coefficients: Array
    left_out_s: Array
    kind: Literal["sum", "incast"] = "sum"


def cells_of(table: Grid, benchmark: str) -> list[Cell]:
    """The cost terms of one band (the sizes of `table`), by ascending ranks."""
    if benchmark in ("all_to_one", "one_to_all") and len(table.ranks) >= 3:
        return [_incast(table)]
    cuts = [0, *_switches(table), len(table.ranks)]
    names = TERMS_OF.get(benchmark, OTHERS) if table.sizes.any() else WITHOUT_SIZE
    return [_best(table, a, b, names) for a, b in itertools.pairwise(cuts)]


def _switches(table: Grid) -> list[int]:
    ratio: Array = np.asarray(table.times_s[:, 1:] / table.times_s[:, :-1])
    seen = [bool(np.isfinite(column).any()) for column in ratio.T]
    return [j + 1 for j in range(ratio.shape[1]) if seen[j] and np.nanmedian(ratio[:, j]) < FALL]


def _best(table: Grid, first: int, last: int, names: list[str]) -> Cell:
    """The term with the least error on rank counts left out (within the sample, where fewer than 3 were measured)."""
    times = table.times_s[:, first:last].ravel()
    sizes, ranks = (x.ravel() for x in np.meshgrid(table.sizes, table.ranks[first:last], indexing="ij"))
    seen = np.isfinite(times)
    measured = np.where(seen, times, 1.0)
    counts = np.unique(ranks)
    folds = [ranks == p for p in counts] if len(counts) > 1 else []
    chosen = np.array([seen, *(seen & ~fold for fold in folds)], np.float64)
    best: tuple[float, Cell] | None = None
    candidates = [(name, constant) for constant in (False, True) for name in names]
    if len(counts) < 3:
        candidates = [c for c in candidates if not c[1]]
    for name, constant in candidates:
        steps, moved = TERMS[name]
        matrix = np.column_stack([steps(ranks), moved(ranks) * sizes, np.ones(len(ranks))])
        features = [*features_of(name), "1"]
        useful = np.array([True, bool(sizes.any()), constant])
        matrix, features = matrix[:, useful], [f for f, keep in zip(features, useful.tolist(), strict=True) if keep]
        solved = robust(matrix, measured, chosen)
        predicted = np.maximum(solved @ matrix.T, 1e-12)
        left_out = np.full(len(ranks), np.nan)
        for row, fold in enumerate(folds):
            left_out[fold & seen] = predicted[row + 1][fold & seen]
        judged = left_out if len(counts) >= 3 else predicted[0]
        error = float(np.nanmean(np.abs(np.log(judged[seen] / measured[seen]))))
        bar = CONSTANT if constant and sizes.any() else CLEARLY
        if best is None or error < bar * best[0] - WORTHWHILE:
            shape = (len(table.sizes), last - first)
            best = error, Cell(first, last, name, features, solved[0], left_out.reshape(shape))
    assert best is not None
    return best[1]


def _incast(table: Grid) -> Cell:
    """α·k + max(β·n, β_N·k·n): the knee is tried between all measured k (MODEL.md, "k senders to one receiver")."""
    sizes, ranks = (x.ravel() for x in np.meshgrid(table.sizes, table.ranks, indexing="ij"))
    senders = ranks - 1.0
    times = table.times_s.ravel()
    seen = np.isfinite(times)
    measured = np.where(seen, times, 1.0)
    folds = [ranks == p for p in table.ranks]
    chosen = np.array([seen, *(seen & ~fold for fold in folds)], np.float64)
    best_error = np.full(len(chosen), np.inf)
    best = np.zeros((len(chosen), 3))
    for knee in np.sqrt(table.ranks[:-1] - 1.0) * np.sqrt(table.ranks[1:] - 1.0):
        below = senders < knee
        matrix = np.column_stack([senders, np.where(below, sizes, 0.0), np.where(below, 0.0, sizes * senders)])
        solved = robust(matrix, measured, chosen)
        error = _log_errors(solved, senders, sizes, measured) * chosen
        better = np.sum(error, axis=1) < best_error
        best[better], best_error[better] = solved[better], np.sum(error, axis=1)[better]
    predicted = _incast_times(best, senders, sizes)
    left_out = np.full(len(ranks), np.nan)
    for row, fold in enumerate(folds):
        left_out[fold & seen] = predicted[row + 1][fold & seen]
    return Cell(0, len(table.ranks), "incast", INCAST, best[0], left_out.reshape(table.times_s.shape), "incast")


def _incast_times(solved: Array, senders: Array, sizes: Array) -> Array:
    data = np.maximum(solved[:, 1:2] * sizes, solved[:, 2:3] * sizes * senders)
    return np.maximum(solved[:, :1] * senders + data, 1e-12)


def _log_errors(solved: Array, senders: Array, sizes: Array, measured: Array) -> Array:
    return np.asarray(np.abs(np.log(_incast_times(solved, senders, sizes) / measured)), np.float64)
