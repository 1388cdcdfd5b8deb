"""When a device is warm: two successive batches of calls agree."""

from __future__ import annotations

import statistics

BATCH = 5
"""Samples of the first batch; each later one has twice as many as the one before.

With batches of one size a slow fall passes for none, however far it has to go. When batches double, the later one
lies about twice as far from the start, and agreement means that little is left of an exponential fall.
"""

MAX_SAMPLES = 5000
"""Most samples, for a clock that stands still."""

TOLERANCE = 0.03
"""Medians of two batches that differ by no more than this share agree."""


def agree(earlier: list[float], later: list[float], tolerance: float = TOLERANCE) -> bool:
    """True if two batches of times (any unit) show no trend.

    Either their medians are within `tolerance`, or each median lies within the range of the other batch: noise then
    exceeds any difference. A steady fall does not pass the second way, since each batch lies below the one before.
    """
    first, second = statistics.median(earlier), statistics.median(later)
    if abs(second - first) <= tolerance * first:
        return True
    return min(later) <= first <= max(later) and min(earlier) <= second <= max(earlier)


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
            self._size *= 2

    def done(self) -> bool:
        return self.settled or self._elapsed_s >= self._timeout_s or self.count >= MAX_SAMPLES

    def reason(self) -> str:
        if self.settled:
            return "settled"
        return "time was up" if self.done() else ""
