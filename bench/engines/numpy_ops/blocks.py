"""Work in blocks that stay in the cache: several NumPy passes over a block cost one pass over memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An operand: a C-contiguous array of float64, float32 or float16."""

BLOCK_BYTES = 1 << 16
"""Bytes of one operand's block: a handful of them fit a second-level cache."""

_local = threading.local()


def blocks(array: Array) -> Iterator[slice]:
    """Slices of BLOCK_BYTES along a flat array."""
    step = max(1, BLOCK_BYTES // array.itemsize)
    for start in range(0, array.size, step):
        yield slice(start, min(start + step, array.size))


def scratch(shape: tuple[int, ...], dtype: np.dtype[Any], slot: int = 0) -> Array:
    """A small buffer of this thread that keeps its memory between calls; its content is anything.

    Buffers of one slot share memory: two that live at once need two slots.
    """
    wanted = int(np.prod(shape)) * dtype.itemsize
    held: dict[int, npt.NDArray[np.uint8]] = _local.__dict__.setdefault("held", {})
    if slot not in held or held[slot].size < wanted:
        held[slot] = np.empty(max(wanted, BLOCK_BYTES), np.uint8)
    return held[slot][:wanted].view(dtype).reshape(shape)


def flat(array: Array) -> Array:
    """The array as one axis, without a copy. Raises ValueError where it is not C-contiguous."""
    if not array.flags.c_contiguous:
        raise ValueError("operands must be C-contiguous")
    return array.reshape(-1)
