"""In which window of the update threads a moment falls, for many moments at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sprintprof.model.simulate.scratch import Scratch
from sprintprof.model.special import Floats

Ints = npt.NDArray[np.int64]
MAX_CELLS = 1 << 22
"""Cells of the look-up table; beyond, or where windows are too uneven, a binary search takes its place."""


class Windows:
    """Boundaries of windows on one time axis, shape (n,), increasing. `index(t)` counts the boundaries below t."""

    def __init__(self, boundaries_s: Floats) -> None:
        self.boundaries_s = boundaries_s
        self._begin_s = float(boundaries_s[0])
        gaps = np.diff(boundaries_s)
        self._cell_s = float(gaps.min()) * 0.999 if len(gaps) else 1.0
        cells = float(boundaries_s[-1] - self._begin_s) / self._cell_s + 2
        self._by_table = bool(cells <= min(MAX_CELLS, 64 * len(boundaries_s) + 1024))
        if self._by_table:
            edges = self._begin_s + self._cell_s * np.arange(int(cells) + 1)
            self._below = np.searchsorted(boundaries_s, edges, side="left").astype(np.int64)
            self._next_s = np.append(boundaries_s, np.inf)[self._below]

    def index(self, t_s: Floats, scratch: Scratch | None = None) -> Ints:
        """The number of boundaries < t, shape of `t_s`; in `scratch`, if given, until the next call."""
        if not self._by_table:
            return np.asarray(np.searchsorted(self.boundaries_s, t_s, side="left"), np.int64)
        held = scratch or Scratch()
        place, cell = held.floats("place", t_s.shape), held.ints("cell", t_s.shape)
        found, passed = held.ints("index", t_s.shape), held.flags("passed", t_s.shape)
        np.subtract(t_s, self._begin_s, out=place)
        place *= 1 / self._cell_s
        np.copyto(cell, place, casting="unsafe")
        # a cell is shorter than any window, so at most one boundary lies between its edge and t
        self._below.take(cell, out=found, mode="clip")
        self._next_s.take(cell, out=place, mode="clip")
        np.less(place, t_s, out=passed)
        found += passed
        return found
