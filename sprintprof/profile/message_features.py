"""Cost terms of messages as features: how many steps an algorithm takes among p ranks and how many bytes it moves.

A term `ring` is the pair `ring(steps)`, whose coefficient is α in s, and `ring(size_bytes)`, whose coefficient is
β (+ its share of γ) in s/B, so that coefficients of different terms compare. Sources: Thakur, Rabenseifner and Gropp
2005 (all-reduce, broadcast, gather); Hensgen, Finkel and Manber 1988 (dissemination barrier); Jia et al. 2018
(hierarchical). Ranks beyond a power of two cost one step before and one after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Array]
Of = Callable[[Array], Array]
"""Of the number of ranks (float64, ≥ 1)."""


def _log(p: Array) -> Array:
    return np.floor(np.log2(p) + 1e-9)


def _up(p: Array) -> Array:
    return np.ceil(np.log2(p) - 1e-9)


def _fold(p: Array) -> Array:
    """2 where p is not a power of two: the steps before and after."""
    return np.where(_up(p) > _log(p), 2.0, 0.0)


def _share(p: Array) -> Array:
    return (p - 1.0) / p


def _one(p: Array) -> Array:
    return np.ones_like(p)


TERMS: dict[str, tuple[Of, Of]] = {
    "line": (_one, _one),
    "recursive-doubling": (lambda p: _log(p) + _fold(p), lambda p: _log(p) + _fold(p)),
    "rabenseifner": (lambda p: 2 * _log(p) + _fold(p), lambda p: 2 * _share(p) + _fold(p)),
    "ring": (lambda p: 2 * (p - 1), lambda p: 2 * _share(p)),
    "pipelined-tree": (lambda p: 2 * _up(p), lambda p: 2 * _one(p)),
    "reduce-broadcast": (lambda p: 2 * _up(p), lambda p: 2 * _up(p)),
    "tree": (_up, _up),
    "scatter-allgather": (lambda p: _up(p) + p - 1, lambda p: 2 * _share(p)),
    "doubling-blocks": (_up, lambda p: p - 1),
    "linear": (lambda p: p - 1, lambda p: p - 1),
    "dissemination": (_up, _up),
}
"""Term → (steps, multiples of size_bytes moved by the busiest rank), as functions of the ranks."""


def _ranks(columns: Columns) -> Array:
    return np.maximum(np.asarray(columns["ranks"], np.float64), 1.0)


def _steps(of: Of) -> Callable[[Columns], Array]:
    return lambda c: np.asarray(of(_ranks(c)), np.float64)


def _moved(of: Of) -> Callable[[Columns], Array]:
    return lambda c: np.asarray(of(_ranks(c)) * c["size_bytes"], np.float64)


def features_of(term: str) -> list[str]:
    """The features of a cost term: of its steps, of its bytes."""
    return [f"{term}(steps)", f"{term}(size_bytes)"]


MESSAGE_FEATURES: dict[str, tuple[tuple[str, ...], Callable[[Columns], Array]]] = {
    **{f"{term}(steps)": (("ranks",), _steps(steps)) for term, (steps, _) in TERMS.items()},
    **{f"{term}(size_bytes)": (("ranks", "size_bytes"), _moved(moved)) for term, (_, moved) in TERMS.items()},
    "size_bytes*senders": (("senders", "size_bytes"), lambda c: np.asarray(c["size_bytes"] * c["senders"])),
}
"""Feature → the columns it needs, its function."""
