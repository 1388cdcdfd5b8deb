"""When a device is warm: two successive batches of calls agree."""

from __future__ import annotations

import statistics

from sprintprof.stats.drift import SIGNIFICANCE, trend

BATCH = 5
"""Samples of the first batch; each later one has half as many again as the one before.

With batches of one size a slow fall passes for none, however far it has to go. When batches grow, the later one lies
one and a half times as far from the start, and agreement means that little is left of an exponential fall.
"""

MAX_SAMPLES = 5000
"""Most samples, for a clock that stands still."""

TOLERANCE = 0.03
"""Medians of two batches whose ranges overlap agree if they differ by no more than this share."""

NO_CHANGE = 0.005
"""Medians that differ by no more than this share agree whatever the ranges."""


def agree(earlier: list[float], later: list[float]) -> bool:
    """True if two batches of times (any unit) show that nothing changes any more.

    Either their medians are as good as equal; or near each other, with ranges that overlap; or each median lies within
    the range of the other batch, so that noise exceeds any difference. Batches apart from each other are a fall or rise
    even where it is small: it would go on.
    """
    first, second = statistics.median(earlier), statistics.median(later)
    difference = abs(second - first)
    overlap = min(later) <= max(earlier) and min(earlier) <= max(later)
    mixed = min(later) <= first <= max(later) and min(earlier) <= second <= max(earlier)
    return difference <= NO_CHANGE * first or (overlap and difference <= TOLERANCE * first) or mixed


def steady_change(times: list[float], least: float) -> bool:
    """True if times in the order taken rise or fall by more than the share `least` in all, beyond chance (1 %)."""
    slope, p = trend(times)
    return p < SIGNIFICANCE and abs(slope) * (len(times) - 1) > least * statistics.median(times)


class WarmUp:
    """Fed with samples until two successive batches agree or the time is up.

    A stopping rule (see `sprintprof.bench.harness.stopping`). Calls so long that two full batches do not fit into a
    quarter of `timeout_s` begin with smaller batches, down to one call.
    """

    def __init__(self, timeout_s: float, call_s: float) -> None:
        self._timeout_s = timeout_s
        fitting = timeout_s / (4 * call_s) if call_s > 0 else BATCH
        self._size = int(min(max(fitting, 1), BATCH))
        self._earlier: list[float] = []
        self._later: list[float] = []
        self._elapsed_s = 0.0
        self.count = 0
        self.settled = False

    def add(self, time_s: float, elapsed_s: float) -> None:
        self.count += 1
        self._elapsed_s = elapsed_s
        self._later.append(time_s)
        if len(self._later) == self._size:
            self.settled = bool(self._earlier) and agree(self._earlier, self._later)
            self._earlier, self._later = self._later, []
            self._size += max(self._size // 2, 1)

    def done(self) -> bool:
        return self.settled or self._elapsed_s >= self._timeout_s or self.count >= MAX_SAMPLES

    def reason(self) -> str:
        if self.settled:
            return "settled"
        return "time was up" if self.done() else ""
