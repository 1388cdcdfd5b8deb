"""Workspace of a plan: one array, carved into parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array

_ALIGN = 64
"""Bytes of a cache line, where each part starts."""


class Workspace:
    """Parts of so many elements each, in an array that is given by `use` or made when a part is first taken."""

    def __init__(self, dtype: np.dtype[Any], *sizes: int) -> None:
        self.dtype = dtype
        self._lengths = [-(-size * dtype.itemsize // _ALIGN) * _ALIGN for size in sizes]
        self._parts: list[Array] = []

    @property
    def workspace_bytes(self) -> int:
        """Bytes of all parts."""
        return sum(self._lengths)

    def use(self, workspace: Array) -> None:
        """Take the parts from this array. Raises ValueError where it is too small."""
        memory = workspace.reshape(-1).view(np.uint8)
        if memory.size < self.workspace_bytes:
            raise ValueError(f"workspace of {memory.size} bytes, {self.workspace_bytes} wanted")
        self._parts, start = [], 0
        for length in self._lengths:
            self._parts.append(memory[start : start + length].view(self.dtype))
            start += length

    def part(self, index: int, *shape: int) -> Array:
        """A part, or its beginning, in this shape."""
        if not self._parts:
            self.use(np.empty(self.workspace_bytes, np.uint8))
        size = 1
        for length in shape:
            size *= length
        return self._parts[index][:size].reshape(shape)
