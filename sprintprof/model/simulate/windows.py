"""In which window of the update threads a moment falls, for many moments at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sprintprof.model.special import Floats

MAX_CELLS = 1 << 22
"""Cells of the look-up table; beyond, or where windows are too uneven, a binary search takes its place."""


class Windows:
    """Boundaries of windows on one time axis, shape (n,), increasing. `index(t)` counts the boundaries below t."""

    def __init__(self, boundaries_s: Floats) -> None:
        self.boundaries_s = boundaries_s
        self._padded = np.append(boundaries_s, np.inf)
        gaps = np.diff(boundaries_s)
        self._cell_s = float(gaps.min()) * 0.999 if len(gaps) else 1.0
        span = float(boundaries_s[-1] - boundaries_s[0])
        cells = span / self._cell_s + 2
        self._by_table = bool(cells <= min(MAX_CELLS, 64 * len(boundaries_s) + 1024))
        if self._by_table:
            edges = boundaries_s[0] + self._cell_s * np.arange(int(cells) + 1)
            self._table = np.searchsorted(boundaries_s, edges, side="left").astype(np.int32)

    def index(self, t_s: Floats) -> npt.NDArray[np.int32]:
        """The number of boundaries < t, shape of `t_s`."""
        if not self._by_table:
            return np.asarray(np.searchsorted(self.boundaries_s, t_s, side="left"), np.int32)
        cell = ((t_s - self.boundaries_s[0]) * (1 / self._cell_s)).astype(np.int32)
        found: npt.NDArray[np.int32] = self._table.take(cell, mode="clip")
        # a cell is shorter than any window, so at most one boundary lies between its edge and t
        found += self._padded.take(found) < t_s
        return found
