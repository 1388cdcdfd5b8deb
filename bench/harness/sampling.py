"""Taking one sample: prepare, time, and nothing else inside the window."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import repeat
from typing import NamedTuple

from sprintprof.bench.case import Work
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.harness.clock import RunClock, Timer


class Reading(NamedTuple):
    """One sample of `calls` calls: seconds of the whole by the timer and by the host's clock, its start since the
    start of the run, and the seconds its preparation took.
    """

    total_s: float
    host_s: float
    started_s: float
    calls: int
    prepared_s: float = 0.0


class Sampler:
    """Takes samples of a Work.

    Without an engine the host's clock times the calls and no cache is flushed. `flush` flushes before each sample,
    after `before_sample`; `work.prime` and an empty window follow, because a flush evicts code as well, and on a CPU
    that of the timer alone costs 3 µs. The device is idle when the window opens; inside it are the calls only.
    Garbage is not collected inside.
    """

    def __init__(self, work: Work, clock: RunClock, engine: Engine | None, *, flush: bool) -> None:
        self._call = work.call
        self._timed = work.timed
        self._before = work.before_sample
        self._prime = work.prime
        self._flush = engine.flush_caches if engine is not None and flush else None
        self._synchronize = engine.synchronize if engine is not None else None
        self.timer: Timer = engine if engine is not None else clock
        self._start = self.timer.start
        self._now_s = clock.now_s
        self.prepared_s = 0.0

    def prepare(self) -> None:
        """Everything that happens before the window: the benchmark's own preparation, flush, an idle device."""
        begin_s = self._now_s()
        if self._before is not None:
            self._before()
        if self._flush is not None:
            self._flush()
            if self._prime is not None:
                self._prime()
            self._window(_nothing, 1)
        if self._synchronize is not None:
            self._synchronize()
        self.prepared_s = self._now_s() - begin_s

    def time(self, calls: int) -> Reading:
        """Time `calls` calls; a Work that times itself is called once and asked."""
        if self._timed is not None:
            return self._ask(self._timed)
        return self._window(self._call, calls)

    def overhead_s(self, calls: int, readings: int = 11) -> float:
        """What the timer reads for a sample of `calls` calls that do nothing, per call, in s (median)."""
        totals = sorted(self._window(_nothing, calls).total_s for _ in range(readings))
        return totals[readings // 2] / calls

    def _window(self, call: Callable[[], object], calls: int) -> Reading:
        collecting = gc.isenabled()
        gc.disable()
        try:
            started_s = self._now_s()
            if calls == 1:
                interval = self._start()
                call()
                total_s, host_s = interval.stop()
            else:
                turns = repeat(None, calls)
                interval = self._start()
                for _ in turns:
                    call()
                total_s, host_s = interval.stop()
        finally:
            if collecting:
                gc.enable()
        return Reading(total_s, host_s, started_s, calls, self.prepared_s)

    def _ask(self, timed: Callable[[], float]) -> Reading:
        collecting = gc.isenabled()
        gc.disable()
        try:
            started_s = self._now_s()
            total_s = timed()
            host_s = self._now_s() - started_s
        finally:
            if collecting:
                gc.enable()
        return Reading(total_s, host_s, started_s, 1, self.prepared_s)


def _nothing() -> None:
    return None
