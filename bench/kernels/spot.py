"""Spot checks of results: a few elements, computed again in double precision by another road."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.case import Case
from sprintprof.bench.engines.base import Array

Host = npt.NDArray[Any]
Terms = Any
"""The summands of one element."""

UNIT_ROUNDOFF = {"fp64": 2.0**-53, "fp32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}


def hosted(case: Case, *arrays: Array) -> tuple[Host, ...]:
    """The arrays on the host, in their own precision."""
    return tuple(np.asarray(case.engine.to_host(a)) for a in arrays)


def double(values: Any) -> npt.NDArray[np.float64]:
    """A few elements in double precision."""
    return np.asarray(values, np.float64)


def places(shape: tuple[int, ...], seed: int, count: int = 6) -> list[tuple[int, ...]]:
    """First, last and a few drawn places of an array."""
    rng = np.random.default_rng(seed)
    drawn = [tuple(int(rng.integers(0, size)) for size in shape) for _ in range(count - 2)]
    return [tuple(0 for _ in shape), tuple(size - 1 for size in shape), *drawn]


def compare(case: Case, got: Array, at: Iterable[tuple[int, ...]], terms: Callable[..., Terms]) -> str:
    """ "" or the first place where `got` is not the sum of `terms(*place)`, by more than rounding explains.

    The allowance is 16 unit roundoffs of the sum of the terms' magnitudes, which covers any order of summation of
    what is summed in practice, plus one of the result.
    """
    roundoff = UNIT_ROUNDOFF[case.str("precision")]
    host = case.engine.to_host(got)
    for place in at:
        summands = double(terms(*place))
        expected, found = float(summands.sum()), float(host[place])
        if not abs(found - expected) <= 16 * roundoff * float(np.abs(summands).sum()) + 1e-300:
            return f"element {place} is {found:.9g}, expected {expected:.9g}"
    return ""
