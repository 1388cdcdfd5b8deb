"""When a device is warm: two successive batches of calls agree."""

from __future__ import annotations

import statistics

BATCH = 5
"""Samples a batch."""

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
    quarter of `timeout_s` get smaller batches, down to one call each.
    """

    def __init__(self, timeout_s: float, call_s: float) -> None:
        self._timeout_s = timeout_s
        fitting = timeout_s / (4 * call_s) if call_s > 0 else BATCH
        self._batch = int(min(max(fitting, 1), BATCH))
        self._earlier: list[float] = []
        self._later: list[float] = []
        self._elapsed_s = 0.0
        self.count = 0
        self.settled = False

    def add(self, time_s: float, elapsed_s: float) -> None:
        self.count += 1
        self._elapsed_s = elapsed_s
        self._later.append(time_s)
        if len(self._later) == self._batch:
            self.settled = bool(self._earlier) and agree(self._earlier, self._later)
            self._earlier, self._later = self._later, []

    def done(self) -> bool:
        return self.settled or self._elapsed_s >= self._timeout_s

    def reason(self) -> str:
        if self.settled:
            return "settled"
        return "time was up" if self.done() else ""
