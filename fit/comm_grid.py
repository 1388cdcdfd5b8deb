"""Message times as a table of sizes and ranks: medians over launches, and how single operations scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.fit.points import SIZE_NAMES
from sprintprof.profile.segments import QUANTILES
from sprintprof.records import Measurement

Array = npt.NDArray[np.float64]


class Grid(NamedTuple):
    """`times_s` (sizes, ranks), NaN where nothing was measured; `shares` (sizes, ranks, 5): QUANTILES over median."""

    sizes: Array
    ranks: Array
    times_s: Array
    shares: Array

    def without(self, sizes: Sequence[int]) -> Grid:
        """The table without the sizes of these indices."""
        keep = np.ones(len(self.sizes), np.bool_)
        keep[list(sizes)] = False
        return self._replace(sizes=self.sizes[keep], times_s=self.times_s[keep], shares=self.shares[keep])


def size_of(m: Measurement) -> float:
    """Bytes of one message; 0 for operations without any."""
    return next((float(m.point.parameters[n]) for n in SIZE_NAMES if n in m.point.parameters), 0.0)


def grid(points: Sequence[Measurement]) -> Grid:
    """The table of the points; launches and repeats of one size and rank count become their median."""
    sizes = np.array(sorted({size_of(m) for m in points}))
    ranks = np.array(sorted({float(m.point.ranks) for m in points}))
    members: dict[tuple[int, int], list[Measurement]] = {}
    for m in points:
        place = (int(np.searchsorted(sizes, size_of(m))), int(np.searchsorted(ranks, m.point.ranks)))
        members.setdefault(place, []).append(m)
    times = np.full((len(sizes), len(ranks)), np.nan)
    shares = np.full((len(sizes), len(ranks), len(QUANTILES)), np.nan)
    for place, group in members.items():
        times[place] = np.median([m.median_s for m in group])
        samples = np.concatenate([m.samples.time_s for m in group])
        samples = samples[np.isfinite(samples)]
        middle = float(np.median(samples)) if len(samples) else 0.0
        if len(samples) >= 5 and middle > 0:
            shares[place] = np.quantile(samples, [float(q) for q in QUANTILES]) / middle
    return Grid(sizes, ranks, times, shares)
