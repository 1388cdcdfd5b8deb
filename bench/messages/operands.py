"""Operands whose sums are exact in fp32, so that a result can be checked to the last bit on any number of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.case import Skip

DTYPES: dict[str, Any] = {"fp32": np.float32, "fp64": np.float64}
PERIOD = 251
"""Operands repeat after so many elements: a prime, so that a block in the wrong place is noticed."""


def element_count(size_bytes: int, precision: str) -> int:
    """Elements of a vector of that size. Raises Skip where it is no whole number or the precision is not known."""
    if precision not in DTYPES:
        raise Skip(f"no messages in precision '{precision}': there are {', '.join(DTYPES)}")
    itemsize = int(np.dtype(DTYPES[precision]).itemsize)
    if size_bytes % itemsize or size_bytes <= 0:
        raise Skip(f"{size_bytes} bytes are no whole number of {precision} elements")
    return size_bytes // itemsize


def block(rank: int, count: int, precision: str, seed: int = 0, start: int = 0) -> npt.NDArray[Any]:
    """Rank `rank`'s elements start … start+count: whole numbers in −8..8, sums exact up to a million ranks."""
    period = (np.arange(PERIOD) * 7 + rank * 5 + seed * 3 + (np.arange(PERIOD) * (rank + 1)) % 13) % 17 - 8
    return _tiled(period, count, start).astype(DTYPES[precision])


def block_sum(ranks: int, count: int, precision: str, seed: int = 0, start: int = 0) -> npt.NDArray[Any]:
    """The sum of `block` over ranks 0 … ranks−1."""
    period = np.zeros(PERIOD)
    for rank in range(ranks):
        period += block(rank, PERIOD, "fp64", seed)
    return _tiled(period, count, start).astype(DTYPES[precision])


def _tiled(period: npt.NDArray[Any], count: int, start: int) -> npt.NDArray[Any]:
    shift = start % PERIOD
    return np.tile(np.roll(period, -shift), -(-count // PERIOD))[:count]


def byte_pattern(rank: int, size_bytes: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Bytes of rank `rank`'s messages."""
    period = ((np.arange(PERIOD) * 31 + rank * 17 + seed) % 256).astype(np.uint8)
    return np.tile(period, -(-size_bytes // PERIOD))[:size_bytes]


def difference(got: npt.NDArray[Any], expected: npt.NDArray[Any], what: str) -> str:
    """ "" where both agree in every element, else what is wrong and where first."""
    if got.shape != expected.shape:
        return f"{what}: {got.size} elements, expected {expected.size}"
    wrong = np.flatnonzero(got != expected)
    if not wrong.size:
        return ""
    first = int(wrong[0])
    return f"{what}: {wrong.size} of {got.size} elements differ, first at {first}: {got[first]} for {expected[first]}"
