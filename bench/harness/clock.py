"""The clock of a run, and how finely it and an engine's timer resolve."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import msgspec
import numpy as np

from sprintprof.bench.engines.base import Interval

EMPTY_READINGS = 101
"""Empty intervals read to learn what a timer shows for no work."""

SPIN_READS = 1 << 18
"""Most clock reads in one interval while waiting for a coarse timer to tick (about 15 ms)."""


class Timer(Protocol):
    """Whatever starts intervals: an engine, or a RunClock for host work."""

    def start(self) -> Interval:
        """Start a timing."""
        ...


class TimerQuality(msgspec.Struct, frozen=True):
    """What a timer can tell: its granularity, and what it reads for no work at all (median). Both in s.

    `tick_s` is 0 for a timer that never showed anything but 0.
    """

    tick_s: float
    empty_s: float

    @property
    def floor_s(self) -> float:
        """The least time that differs from nothing."""
        return max(self.tick_s, self.empty_s)


class _HostInterval:
    __slots__ = ("_begin", "_counter")

    def __init__(self, counter: Callable[[], float]) -> None:
        self._counter = counter
        self._begin = counter()

    def stop(self) -> tuple[float, float]:
        elapsed = self._counter() - self._begin
        return elapsed, elapsed


class RunClock:
    """Seconds since the start of the run, one for a whole process.

    `counter` is a monotonic clock in s, `sleep` pauses for s; both are replaced in tests. A RunClock is a Timer for
    work on the host.
    """

    def __init__(
        self, counter: Callable[[], float] = time.perf_counter, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._counter = counter
        self.sleep = sleep
        self._origin_s = counter()
        self._qualities: dict[int, tuple[Timer, TimerQuality]] = {}

    def now_s(self) -> float:
        """Seconds since the start of the run."""
        return self._counter() - self._origin_s

    def start(self) -> Interval:
        """Start a timing of host work."""
        return _HostInterval(self._counter)

    @cached_property
    def ticks(self) -> bool:
        """False for a clock that stands still: no time limit can be kept with it."""
        first = self._counter()
        return any(self._counter() != first for _ in range(SPIN_READS))

    @property
    def resolution_s(self) -> float:
        """Granularity of the host clock in s, measured once."""
        return self.quality(self).tick_s

    @property
    def overhead_s(self) -> float:
        """What one empty interval of the host clock reads, in s."""
        return self.quality(self).empty_s

    def quality(self, timer: Timer) -> TimerQuality:
        """Granularity and empty reading of `timer`, measured at the first call and remembered."""
        known = self._qualities.get(id(timer))
        if known is None:
            known = (timer, measure_timer(timer, self._counter))
            self._qualities[id(timer)] = known
        return known[1]


def measure_timer(timer: Timer, spin: Callable[[], float]) -> TimerQuality:
    """Read empty intervals of `timer`; where they read 0, spin (calling `spin`) until it ticks, within bounds.

    The tick is the least step between distinct readings, 0 counted as one; steps under 1 ns are rounding.
    """
    readings = [timer.start().stop()[0] for _ in range(EMPTY_READINGS)]
    spins = 1
    while max(readings) <= 0 and spins <= SPIN_READS:
        interval = timer.start()
        for _ in range(spins):
            spin()
        readings.append(interval.stop()[0])
        spins *= 2
    empty_s = float(np.median(readings[:EMPTY_READINGS]))
    distinct = np.unique(np.round(np.maximum(readings, 0.0), 9))
    steps = np.diff(distinct)
    tick_s = float(steps.min()) if len(steps) else float(distinct[0])
    return TimerQuality(tick_s=tick_s, empty_s=max(empty_s, 0.0))
