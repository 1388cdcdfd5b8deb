"""The course of a measurement: first call, batch size, warm-up, samples. It decides; others take the samples."""

from __future__ import annotations

import math
import statistics
from typing import Literal

import numpy as np
import numpy.typing as npt

from sprintprof.bench.harness.batching import MAX_CALLS, MAX_CALLS_BLIND, BatchSizer
from sprintprof.bench.harness.clock import RunClock, TimerQuality
from sprintprof.bench.harness.sampling import Reading
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.harness.stopping import FirstOf, SampleLimit, StoppingRule, TargetInterval, TimeLimit, next_look
from sprintprof.bench.harness.warmup import WarmUp, agree

Phase = Literal["first", "sizing", "warm-up", "sampling", "done"]

RESIZINGS = 2
"""Times a batch may be found too small after warm-up (early calls were slow) and grown."""


class Procedure:
    """Says how many calls the next sample has (0: no more) and takes in what it took.

    It runs in the only process of a serial point and on rank 0 of a parallel one, so that ranks cannot disagree.
    `alone` asks for one call a sample where the timer allows it, `batchable` says that several calls may make one.
    """

    def __init__(
        self, settings: HarnessSettings, quality: TimerQuality, clock: RunClock, *, alone: bool, batchable: bool
    ) -> None:
        self._settings = settings
        self._clock = clock
        max_calls = (MAX_CALLS if clock.ticks else MAX_CALLS_BLIND) if batchable else 1
        max_host_s = settings.timeout_s / (2 * settings.min_samples)
        self._sizer = BatchSizer(quality, alone=alone, max_calls=max_calls, max_host_s=max_host_s)
        self._resizings = 0
        self._rule: StoppingRule
        self._begin_s = 0.0
        self._warm: WarmUp | None = None
        self._unused: list[Reading] = []
        self.phase: Phase = "first"
        self.first: Reading | None = None
        self.warmup_samples = 0
        self.warmup_s = 0.0
        self.readings: list[Reading] = []
        self.sampling_s = 0.0

    @property
    def calls(self) -> int:
        """Calls of the next sample; 0 when there is none."""
        return 0 if self.phase == "done" else self._sizer.calls

    @property
    def wanted(self) -> int:
        """Samples that may be taken before the next decision, at least 1."""
        if self.phase != "sampling":
            return 1
        n = len(self.readings)
        most = self._settings.min_samples - n if n < self._settings.min_samples else next_look(n) - n
        return max(min(most, self._settings.max_samples - n), 1)

    def add(self, reading: Reading) -> None:
        """Take in a sample and move on."""
        if self.phase == "first":
            self.first = reading
            self._begin_s = self._clock.now_s()
            self._sizer.add_first(reading.total_s)
            if self._sizer.done:
                self._begin_warmup(reading.host_s)
            else:
                self.phase = "sizing"
        elif self.phase == "sizing":
            self._size(reading)
        elif self.phase == "warm-up":
            self._warm_up(reading)
        else:
            self._take([reading])

    def add_block(self, readings: list[Reading]) -> None:
        """Take in samples that were taken one after the other; all of them are kept."""
        if self.phase == "sampling":
            self._take(readings)
        else:
            for reading in readings:
                self.add(reading)

    def _take(self, readings: list[Reading]) -> None:
        for reading in readings:
            self.readings.append(reading)
            self.sampling_s = reading.started_s + reading.host_s - self._begin_s
            self._rule.add(reading.total_s, self.sampling_s)
        if self._rule.done():
            self.phase = "done"

    def begin_sampling(self) -> None:
        """Start to take samples that count, forgetting those of an earlier round."""
        settings = self._settings
        self.readings = []
        self._rule = FirstOf(
            [
                TargetInterval(settings.target_ci, settings.min_samples, settings.min_time_s),
                SampleLimit(settings.max_samples),
                TimeLimit(settings.timeout_s),
            ]
        )
        self._begin_s = self._clock.now_s()
        self.phase = "sampling"

    def _size(self, reading: Reading) -> None:
        before = self._sizer.calls
        self._unused.append(reading)
        self._sizer.add(reading.total_s, reading.host_s)
        if self._sizer.calls != before:
            self._unused.clear()
        if self._sizer.done and reading.total_s <= 0:
            self.begin_sampling()
            self.readings = [reading]  # the largest batch reads 0: no sample can do better
            self.phase = "done"
        elif self._sizer.done:
            self._begin_warmup(reading.host_s)

    def _begin_warmup(self, sample_s: float) -> None:
        self.phase = "warm-up"
        self._warm = WarmUp(self._settings.warmup_timeout_s, sample_s)
        readings, self._unused = self._unused, []
        for reading in readings:  # taken with the size that was settled on: they count as warm-up
            if self.phase == "warm-up":
                self._warm_up(reading)

    def _warm_up(self, reading: Reading) -> None:
        assert self._warm is not None
        self._unused.append(reading)
        self.warmup_samples += 1
        self.warmup_s = self._clock.now_s() - self._begin_s
        self._warm.add(reading.total_s, self.warmup_s)
        if not self._warm.done():
            return
        recent = self._unused[-3:]
        self._unused = []
        before = self._sizer.calls
        if self._resizings < RESIZINGS:
            self._resizings += 1
            total_s = statistics.median(r.total_s for r in recent)
            if total_s < 0.8 * self._sizer.target_s:
                self._sizer.review(total_s, statistics.median(r.host_s for r in recent))
        if self._sizer.calls != before:
            self.phase = "warm-up" if self._sizer.done else "sizing"
            self._warm = WarmUp(self._settings.warmup_timeout_s, recent[-1].host_s)
        else:
            self.begin_sampling()

    @property
    def warmup(self) -> str:
        """How warm-up ended: `settled` or `time was up`."""
        return self._warm.reason() if self._warm is not None else ""

    @property
    def stop_reason(self) -> str:
        """Why sampling ended."""
        return self._rule.reason()

    @property
    def settled(self) -> bool:
        """Warm-up settled, or the samples themselves show no trend from their first half to their second."""
        if self._warm is not None and self._warm.settled:
            return True
        totals = [reading.total_s for reading in self.readings]
        half = len(totals) // 2
        return half > 0 and agree(totals[:half], totals[half:])

    @property
    def resolved(self) -> bool:
        """A typical sample is long enough for the timer (half of what was aimed at is the margin)."""
        if not self.readings:
            return False
        typical_s = statistics.median(r.total_s for r in self.readings)
        return typical_s > 0 and typical_s >= self._sizer.target_s / 2

    def columns(self, operations: int) -> dict[str, npt.NDArray[np.float64]]:
        """The samples as columns (n,), times per operation in s; see SAMPLE_FIELDS."""
        table = np.array(self.readings, np.float64).reshape(len(self.readings), 5)
        calls = table[:, 3]
        return {
            "time_s": table[:, 0] / (calls * operations),
            "host_s": table[:, 1] / (calls * operations),
            "started_s": table[:, 2],
            "calls": calls,
        }

    @property
    def outside_s(self) -> float:
        """The harness's own time per sample, neither window nor preparation, in s."""
        inside_s = sum(reading.host_s + reading.prepared_s for reading in self.readings)
        return max(self.sampling_s - inside_s, 0.0) / max(len(self.readings), 1)

    def first_s(self, operations: int) -> float:
        """Host seconds of the first call per operation: a compilation happens on the host."""
        return math.nan if self.first is None else self.first.host_s / (self.first.calls * operations)
