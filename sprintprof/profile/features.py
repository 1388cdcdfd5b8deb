"""Features: what a fit's coefficients multiply, as named functions of a table of columns.

A feature is named by text that stands in the profile. The grammar:

    1                       the constant
    flop, batch, gemm_m …   a column, or a derived one (`sprintprof.profile.derived`)
    ceil(batch/32)          steps of 32
    align(channels)         greatest common divisor with 8: 1, 2, 4 or 8
    tiles(128x64)           multiply-adds of a matrix product rounded up to whole tiles of 128 x 64, depth to 8
    waves(128x64/40)        the same, tiles rounded up to whole waves of 40 (the processors of the device)
    A / B                   the ratio of two features (with the spaces)
    log2(ranks) …           one of NAMED

Columns are float64 arrays of one length (n,).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sprintprof.profile.message_features import MESSAGE_FEATURES

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Array]

_STEP = re.compile(r"ceil\((\w+)/([1-9]\d{0,8})\)")
_ALIGN = re.compile(r"align\((\w+)\)")
_TILES = re.compile(r"(?:tiles|waves)\(([1-9]\d{0,4})x([1-9]\d{0,4})(?:/([1-9]\d{0,4}))?\)")
_GEMM = ("gemm_m", "gemm_n", "gemm_k", "gemm_count")


def _log2_ranks(columns: Columns) -> Array:
    return np.ceil(np.log2(np.maximum(columns["ranks"], 1.0)))


def _ring_share(columns: Columns) -> Array:
    ranks = np.maximum(columns["ranks"], 1.0)
    return np.asarray(columns["size_bytes"] * (ranks - 1.0) / ranks)


NAMED: dict[str, tuple[tuple[str, ...], Callable[[Columns], Array]]] = {
    "log2(ranks)": (("ranks",), _log2_ranks),
    "ranks-1": (("ranks",), lambda c: np.asarray(c["ranks"] - 1.0)),
    "size_bytes*log2(ranks)": (("size_bytes", "ranks"), lambda c: np.asarray(c["size_bytes"] * _log2_ranks(c))),
    "size_bytes*(ranks-1)": (("size_bytes", "ranks"), lambda c: np.asarray(c["size_bytes"] * (c["ranks"] - 1.0))),
    "size_bytes*(ranks-1)/ranks": (("size_bytes", "ranks"), _ring_share),
    **MESSAGE_FEATURES,
}
"""Features of messages: the columns they need and their function. log2(ranks) is rounded up: steps."""


def length(columns: Columns) -> int:
    """The number of rows of a table of columns."""
    return len(next(iter(columns.values()), np.empty(0)))


def columns_of(feature: str) -> tuple[str, ...] | None:
    """The columns a feature needs; None where the text is no feature."""
    if feature == "1":
        return ()
    if feature in NAMED:
        return NAMED[feature][0]
    if " / " in feature:
        parts = [columns_of(part) for part in feature.split(" / ")]
        return tuple(name for part in parts if part for name in part) if len(parts) == 2 and all(parts) else None
    if _TILES.fullmatch(feature):
        return _GEMM
    if match := _STEP.fullmatch(feature) or _ALIGN.fullmatch(feature):
        return (match[1],)
    return (feature,) if feature.isidentifier() else None


def evaluate_feature(feature: str, columns: Columns) -> Array:
    """The feature for every row, shape (n,). Raises KeyError where a column is not there."""
    if feature == "1":
        return np.ones(length(columns))
    if feature in NAMED:
        return NAMED[feature][1](columns)
    if " / " in feature:
        above, below = feature.split(" / ")
        return np.asarray(evaluate_feature(above, columns) / np.maximum(evaluate_feature(below, columns), 1e-300))
    if match := _TILES.fullmatch(feature):
        return _tiled(columns, int(match[1]), int(match[2]), int(match[3] or 1))
    if match := _STEP.fullmatch(feature):
        return np.ceil(columns[match[1]] / int(match[2]))
    if match := _ALIGN.fullmatch(feature):
        return np.gcd(columns[match[1]].astype(np.int64), 8).astype(np.float64)
    return np.asarray(columns[feature], np.float64)


def _tiled(columns: Columns, tile_m: int, tile_n: int, wave: int) -> Array:
    """Multiply-adds of a tiled matrix product: whole tiles, whole waves of them, depth in eights."""
    m, n, k, count = (columns[name] for name in _GEMM)
    tiles = np.ceil(m / tile_m) * np.ceil(n / tile_n) * count
    return np.asarray(np.ceil(tiles / wave) * wave * (tile_m * tile_n) * np.ceil(k / 8) * 8)


def feature_matrix(features: Sequence[str], columns: Columns) -> Array:
    """All features, shape (n, len(features))."""
    return np.column_stack([evaluate_feature(f, columns) for f in features]) if features else np.empty((0, 0))
