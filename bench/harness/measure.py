"""Measuring a serial point: the driver that takes the samples the procedure asks for."""

from __future__ import annotations

from sprintprof.bench.case import Skip, Work
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.harness.beside import with_telemetry
from sprintprof.bench.harness.caches import wants_flush
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.procedure import Procedure
from sprintprof.bench.harness.sampling import Sampler
from sprintprof.bench.harness.settings import HarnessSettings, TelemetrySource
from sprintprof.bench.harness.summary import Circumstances, failed, one_line, skipped, summarise
from sprintprof.bench.harness.throttle import is_throttled
from sprintprof.records import Measurement, Point, SampleSet


def measure_point(
    point: Point,
    work: Work,
    engine: Engine,
    settings: HarnessSettings,
    clock: RunClock,
    telemetry: TelemetrySource | None = None,
    limits: Limits | None = None,
) -> Measurement:
    """Measure one serial point and return its Measurement; `work.close` is called whatever happens.

    A wrong result (`work.verify`) or an exception gives status `failed` with its reason, Skip gives `skipped`; only
    KeyboardInterrupt and its like pass through. Times are per operation; the headline is the engine's (device) time.
    """
    try:
        measured = _measure(point, work, engine, settings, clock, telemetry, limits)
    except Skip as reason:
        measured = skipped(point, str(reason))
    except Exception as error:  # noqa: BLE001  (whatever a benchmark raises is that point's outcome, not the run's end)
        measured = failed(point, one_line(error))
    finally:
        problem = close(work)
    return failed(point, problem) if problem and measured.status == "ok" else measured


def close(work: Work) -> str:
    """Close a Work; "" or what went wrong, in one line."""
    try:
        if work.close is not None:
            work.close()
    except Exception as error:  # noqa: BLE001  (as above)
        return f"close: {one_line(error)}"
    return ""


def verify(work: Work) -> str:
    """Check the result of the last call; "" or what is wrong with it."""
    wrong = work.verify() if work.verify is not None else ""
    return f"wrong result: {wrong}" if wrong else ""


def _measure(
    point: Point,
    work: Work,
    engine: Engine,
    settings: HarnessSettings,
    clock: RunClock,
    telemetry: TelemetrySource | None,
    limits: Limits | None,
) -> Measurement:
    flush = wants_flush(work, settings.cache)
    sampler = Sampler(work, clock, engine, flush=flush)
    quality = clock.quality(engine)
    procedure = Procedure(settings, quality, clock, alone=flush, batchable=work.timed is None)
    retries = 0
    while True:
        _drive(procedure, sampler)
        columns, missing, share = with_telemetry(procedure, work.operations, settings, telemetry, limits)
        if not is_throttled(share) or retries == settings.throttle_retries:
            break
        retries += 1
        clock.sleep(settings.throttle_pause_s)
        procedure.begin_sampling()
    problem = verify(work)
    if problem:
        return failed(point, problem)
    around = Circumstances(
        cache_bytes=engine.last_level_cache_bytes(),
        timer_tick_s=quality.tick_s,
        overhead_s=sampler.overhead_s(procedure.readings[-1].calls),
        throttled_share=share,
        throttle_retries=retries,
    )
    samples = SampleSet(columns, missing=missing)
    return summarise(point, work, settings, procedure, samples, around, limits)


def _drive(procedure: Procedure, sampler: Sampler) -> None:
    """Take samples until the procedure wants no more."""
    while calls := procedure.calls:
        procedure.add_block(sampler.block(calls, procedure.wanted))
