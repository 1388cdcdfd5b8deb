"""Features: what a fit's coefficients multiply, as named functions of a table of columns.

A feature is named by text that stands in the profile: a column ("flop", "batch", "size_bytes"), the constant "1", a
step "ceil(batch/32)", or one of NAMED. Columns are float64 arrays of one length (n,).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Array]

_STEP = re.compile(r"ceil\((\w+)/(\d{1,9})\)")


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
}
"""Features of more than one column: the columns they need and their function. log2(ranks) is rounded up: steps."""


def length(columns: Columns) -> int:
    """The number of rows of a table of columns."""
    return len(next(iter(columns.values()), np.empty(0)))


def columns_of(feature: str) -> tuple[str, ...] | None:
    """The columns a feature needs; None where the text is no feature."""
    if feature == "1":
        return ()
    if feature in NAMED:
        return NAMED[feature][0]
    if step := _STEP.fullmatch(feature):
        return (step[1],) if int(step[2]) > 0 else None
    return (feature,) if feature.isidentifier() else None


def evaluate_feature(feature: str, columns: Columns) -> Array:
    """The feature for every row, shape (n,). Raises KeyError where a column is not there."""
    if feature == "1":
        return np.ones(length(columns))
    if feature in NAMED:
        return NAMED[feature][1](columns)
    if step := _STEP.fullmatch(feature):
        return np.ceil(columns[step[1]] / int(step[2]))
    return np.asarray(columns[feature], np.float64)


def feature_matrix(features: list[str], columns: Columns) -> Array:
    """All features, shape (n, len(features))."""
    return np.column_stack([evaluate_feature(f, columns) for f in features]) if features else np.empty((0, 0))
