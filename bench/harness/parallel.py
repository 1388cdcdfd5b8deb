"""Measuring a parallel point: all ranks take samples together, rank 0 decides, the slowest rank is the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.case import Work
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.harness.agreement import Outcome, agree, as_measurement, guarded, outcome
from sprintprof.bench.harness.beside import with_telemetry
from sprintprof.bench.harness.caches import wants_flush
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.measure import close, verify
from sprintprof.bench.harness.procedure import Procedure
from sprintprof.bench.harness.sampling import Reading, Sampler
from sprintprof.bench.harness.settings import HarnessSettings, TelemetrySource
from sprintprof.bench.harness.straggler import rank_spread
from sprintprof.bench.harness.summary import Circumstances, summarise
from sprintprof.bench.harness.synchronise import Synchroniser, synchroniser
from sprintprof.records import Measurement, Point, SampleSet

PARALLEL_EXTRA: dict[str, tuple[type, str, str]] = {
    "sync": (str, "", "how ranks were brought together: barrier, window, or window, then barrier"),
    "start_skew_s": (float, "s", "bound of how far apart ranks start: time of a barrier, or error of the clocks"),
    "late_starts": (int, "1", "samples in which a rank came after the common start time"),
    "rank_min_s": (float, "s", "least of the ranks' medians"),
    "rank_median_s": (float, "s", "median of the ranks' medians"),
    "rank_max_s": (float, "s", "greatest of the ranks' medians"),
    "slowest_rank": (int, "1", "rank of the greatest median"),
    "straggler_rank": (int, "1", "rank that is slower than the others by more than their spread; -1 if none"),
}
"""What is added for parallel points to the harness's columns: type, unit, meaning."""

_Floats = npt.NDArray[np.float64]


def measure_parallel(
    point: Point,
    work: Work | Exception,
    comm: Any,
    settings: HarnessSettings,
    clock: RunClock,
    engine: Engine | None = None,
    telemetry: TelemetrySource | None = None,
    limits: Limits | None = None,
) -> Measurement | None:
    """Measure a point on all ranks of `comm`, which all call this; the Measurement on rank 0, None on the others.

    `work` is this rank's, or the exception its building raised. `comm` is a communicator as of mpi4py. Without an
    `engine` the host's clock times the calls. A sample is as long as its slowest rank takes; every rank's time is kept
    in `rank_times_s`. Batch size, end of warm-up and stop are decided on rank 0.

    An error on one rank fails the point on all. It is agreed upon before and after each sample, not inside one: where a
    rank raises in the middle of a call that others cannot finish without it, they wait for ever, and only the
    launcher or a watchdog can end that. Benchmarks check sizes before they communicate.
    """
    taken: _Taken | None = None
    try:
        if isinstance(work, Exception):
            raise work
        taken = _Taken(work, comm, settings, clock, engine)
        mine = None
    except Exception as error:  # noqa: BLE001  (whatever a benchmark raises is the point's outcome)
        mine = outcome(error)
    trouble = agree(comm, mine)
    if trouble is None and taken is not None:
        trouble = taken.run()
    if isinstance(work, Work):
        problem = close(work)
        trouble = agree(comm, Outcome("failed", problem) if problem else None) if trouble is None else trouble
    if comm.Get_rank() != 0:
        return None
    try:
        if trouble is None and taken is not None:
            return taken.summary(point, telemetry, limits)
    except Exception as error:  # noqa: BLE001  (as above)
        trouble = outcome(error)
    assert trouble is not None
    return as_measurement(point, trouble)


class _Taken:
    """The samples of one rank, and on rank 0 those of all."""

    def __init__(
        self, work: Work, comm: Any, settings: HarnessSettings, clock: RunClock, engine: Engine | None
    ) -> None:
        self._work = work
        self._comm = comm
        self._settings = settings
        self._engine = engine
        self._root = comm.Get_rank() == 0
        flush = wants_flush(work, settings.cache)
        self._sampler = Sampler(work, clock, engine, flush=flush)
        self._quality = clock.quality(self._sampler.timer)
        self._procedure = Procedure(settings, self._quality, clock, alone=True, batchable=work.timed is None)
        self._clock = clock
        self._sync: Synchroniser
        self._mine = np.zeros(6)  # whole sample by timer and by host, start, preparation, late, error
        self._rows = np.zeros((comm.Get_size(), 6)) if self._root else None
        self._rank_rows: list[_Floats] = []
        self._late = 0

    def run(self) -> Outcome | None:
        """Take samples until rank 0 wants no more, then check results (collective): the common outcome."""
        self._sync = synchroniser(self._settings.sync, self._comm, self._clock)
        calls = np.zeros(1, np.int64)
        trouble: Outcome | None = None
        while True:
            calls[0] = self._procedure.calls if self._root else 0
            self._comm.Bcast(calls, root=0)
            if calls[0] == 0:
                break
            trouble = guarded(self._sampler.prepare)
            if not self._anyone(trouble):
                trouble = self._sample(int(calls[0]))
                if not self._anyone(trouble):
                    continue
            return agree(self._comm, trouble)
        return agree(self._comm, self._verified())

    def _anyone(self, trouble: Outcome | None) -> bool:
        """True on all ranks if one of them has trouble (collective)."""
        count = np.zeros(1)
        self._comm.Allreduce(np.array([0.0 if trouble is None else 1.0]), count)
        return bool(count[0] > 0)

    def _sample(self, calls: int) -> Outcome | None:
        late = self._sync.meet()
        trouble: Outcome | None = None
        mine = self._mine
        try:
            reading = self._sampler.time(calls)
            mine[:] = reading.total_s, reading.host_s, reading.started_s, reading.prepared_s, late, 0.0
        except Exception as error:  # noqa: BLE001  (as everywhere: the point's outcome)
            trouble = outcome(error)
            mine[:] = 0.0, 0.0, 0.0, 0.0, late, 1.0
        self._comm.Gather(mine, self._rows, root=0)
        if self._rows is not None and not self._rows[:, 5].any():
            self._take_in(self._rows, calls)
        return trouble

    def _take_in(self, rows: _Floats, calls: int) -> None:
        """Rank 0: one sample of all ranks goes to the procedure as that of the slowest."""
        procedure = self._procedure
        any_late = bool(rows[:, 4].any())
        self._sync.report(any_late)
        total_s, host_s = rows[:, 0].max(), rows[:, 1].max()
        reading = Reading(float(total_s), float(host_s), float(rows[0, 2]), calls, float(rows[0, 3]))
        procedure.add(reading)
        if procedure.readings and procedure.readings[-1] is reading:
            self._rank_rows.append(rows[:, 0] / (calls * self._work.operations))
            self._late += any_late

    def _verified(self) -> Outcome | None:
        found: list[str] = []
        trouble = guarded(lambda: found.append(verify(self._work)))
        return Outcome("failed", found[0]) if trouble is None and found[0] else trouble

    def summary(self, point: Point, telemetry: TelemetrySource | None, limits: Limits | None) -> Measurement:
        """Rank 0: the Measurement."""
        work, procedure = self._work, self._procedure
        columns, missing, share = with_telemetry(procedure, work.operations, self._settings, telemetry, limits)
        rank_times_s = np.array(self._rank_rows).reshape(len(columns["time_s"]), -1)
        spread = rank_spread(rank_times_s, self._sync.skew_s)
        around = Circumstances(
            cache_bytes=self._engine.last_level_cache_bytes() if self._engine is not None else 0,
            timer_tick_s=self._quality.tick_s,
            overhead_s=self._sampler.overhead_s(procedure.readings[-1].calls),
            throttled_share=share,
            straggler=work.symmetric and spread.straggler_rank >= 0,
            extra={
                "sync": self._sync.name(),
                "start_skew_s": self._sync.skew_s,
                "late_starts": self._late,
                "rank_min_s": spread.min_s,
                "rank_median_s": spread.median_s,
                "rank_max_s": spread.max_s,
                "slowest_rank": spread.slowest_rank,
                "straggler_rank": spread.straggler_rank if work.symmetric else -1,
            },
        )
        samples = SampleSet(columns, rank_times_s, missing)
        return summarise(point, work, self._settings, procedure, samples, around, limits)
