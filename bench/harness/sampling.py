"""Taking samples: prepare, time, and nothing else inside the window."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import repeat
from typing import NamedTuple

from sprintprof.bench.case import Work
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.harness.clock import RunClock, Timer

BLOCK_S = 0.02
"""A block of samples ends after this time, so that time limits are kept."""

SHORT_S = 1e-3
"""Samples shorter than this are put off by what was done between blocks: an untimed one goes before them."""


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
        self._prepared_s = 0.0
        self._rewarms = self._flush is None and self._before is None and self._timed is None
        self._last_s = SHORT_S

    def block(self, calls: int, most: int) -> list[Reading]:
        """At most `most` samples of `calls` calls, one after the other; fewer, but at least one, when BLOCK_S is over.

        Whatever thinks about samples does so between blocks: its own use of the caches would show in the next sample.
        Where caches are not flushed, short samples are preceded by untimed calls for the same reason.
        """
        readings: list[Reading] = []
        collecting = gc.isenabled()
        gc.disable()
        try:
            if self._rewarms and self._last_s < SHORT_S:
                self._window(self._call, calls)
            end_s = self._now_s() + BLOCK_S
            while len(readings) < most:
                self.prepare()
                reading = self.time(calls)
                readings.append(reading)
                if reading.started_s + reading.host_s > end_s:
                    break
        finally:
            if collecting:
                gc.enable()
        self._last_s = readings[-1].host_s
        return readings

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
        self._prepared_s = self._now_s() - begin_s

    def time(self, calls: int) -> Reading:
        """Time `calls` calls; a Work that times itself is called once and asked. No garbage is collected meanwhile."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._ask(self._timed) if self._timed is not None else self._window(self._call, calls)
        finally:
            if collecting:
                gc.enable()

    def overhead_s(self, calls: int, readings: int = 11) -> float:
        """What the timer reads for a sample of `calls` calls that do nothing, per call, in s (median)."""
        totals = sorted(self._window(_nothing, calls).total_s for _ in range(readings))
        return totals[readings // 2] / calls

    def _window(self, call: Callable[[], object], calls: int) -> Reading:
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
        return Reading(total_s, host_s, started_s, calls, self._prepared_s)

    def _ask(self, timed: Callable[[], float]) -> Reading:
        started_s = self._now_s()
        total_s = timed()
        host_s = self._now_s() - started_s
        return Reading(total_s, host_s, started_s, 1, self._prepared_s)


def _nothing() -> None:
    return None
