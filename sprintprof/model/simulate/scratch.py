"""Arrays that are used again: fresh ones of a few 100 KiB cost more (page faults) than what is done in them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sprintprof.model.special import Floats


class Scratch:
    """Named arrays of one thread. Each call gives a view whose content is left from before."""

    def __init__(self) -> None:
        self._held: dict[str, npt.NDArray[np.uint8]] = {}

    def _bytes(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        held = self._held.get(name)
        if held is None or len(held) < size:
            held = self._held[name] = np.empty(size, np.uint8)
        return held[:size]

    def floats(self, name: str, shape: tuple[int, ...]) -> Floats:
        """A float64 array of that shape."""
        return self._bytes(name, 8 * math.prod(shape)).view(np.float64).reshape(shape)

    def ints(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """An int64 array of that shape."""
        return self._bytes(name, 8 * math.prod(shape)).view(np.int64).reshape(shape)

    def flags(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """A bool array of that shape."""
        return self._bytes(name, math.prod(shape)).view(np.bool_).reshape(shape)
