"""How many calls make one sample, so that the timer can resolve it."""

from __future__ import annotations

import statistics

from sprintprof.bench.harness.clock import TimerQuality

TICKS = 100
"""A sample spans at least this many ticks of the timer: the rounding is then within 1 %."""

EMPTIES = 100
"""A batched sample is at least this many times what the timer reads for no work."""

EMPTIES_ALONE = 10
"""A single call that had better stay alone is at least this many times what the timer reads for no work."""

MAX_CALLS = 1 << 20
MAX_CALLS_BLIND = 1 << 10
"""Most calls a sample; the second where no clock moves, so that the time they take is not known."""

TRIES = 3
"""Readings of one call that decide (by their median) whether it stays alone."""


def needed_s(quality: TimerQuality, empties: int) -> float:
    """The least time of a sample in s: `TICKS` ticks, and `empties` empty readings."""
    return max(TICKS * quality.tick_s, empties * quality.empty_s)


class BatchSizer:
    """Fed with readings of samples of `calls` calls; grows `calls` until a sample takes `needed_s`.

    `alone` asks for samples of one call if it is long enough for `EMPTIES_ALONE`: with cold caches only the first call
    of a batch would find them cold, and calls of several ranks in a row overlap and hide who waits for whom. A shorter
    call cannot be resolved alone and is batched all the same.
    A timer whose tick is not known because it never showed one may have one as long as the first reading that is not
    0: that is taken for it. Growth ends at `max_calls` or when a sample takes `max_host_s` on the host's clock, so it
    always ends.
    """

    def __init__(self, quality: TimerQuality, *, alone: bool, max_calls: int, max_host_s: float) -> None:
        self._alone_s = needed_s(quality, EMPTIES_ALONE if alone else EMPTIES)
        self._needed_s = needed_s(quality, EMPTIES)
        self._tick_known = quality.floor_s > 0
        self._max_calls = max_calls
        self._max_host_s = max_host_s
        self._tries: list[float] = []
        self.calls = 1
        self.done = False

    @property
    def target_s(self) -> float:
        """The least time of a sample of the present size, in s."""
        return self._alone_s if self.calls == 1 else self._needed_s

    def add_first(self, total_s: float) -> None:
        """The very first call may be hundreds of times slower than the next: it decides only if it is very long."""
        self.done = self._tick_known and total_s >= 1000 * self._alone_s

    def add(self, total_s: float, host_s: float) -> None:
        """Take in the time of a whole sample by the timer and by the host's clock, both in s."""
        if not self._tick_known and total_s > 0:
            self._tick_known = True
            self._alone_s = self._needed_s = TICKS * total_s
        if self.calls == 1 and total_s < 10 * self._alone_s:
            self._tries.append(total_s)
            if len(self._tries) < TRIES:
                return
            total_s = statistics.median(self._tries)
            self._tries.clear()
        self.review(total_s, host_s)

    def review(self, total_s: float, host_s: float) -> None:
        """Decide by a typical sample: long enough, as long as it can be, or more calls."""
        if total_s > 0 and total_s >= self.target_s:
            self.done = True
            return
        factor = min(max(1.2 * self._needed_s / total_s, 2.0), 16.0) if total_s > 0 else 2.0
        if host_s > 0:
            factor = min(factor, self._max_host_s / host_s)
        grown = min(int(self.calls * factor), self._max_calls)
        self.done = grown <= self.calls
        self.calls = max(grown, self.calls)
