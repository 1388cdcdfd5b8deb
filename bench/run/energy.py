"""Energy of one operation: the work repeated over a window long enough for the sensors, both readings kept."""

from __future__ import annotations

import math

import msgspec

from sprintprof.bench.case import Work
from sprintprof.bench.engines.base import Engine
from sprintprof.bench.harness.clock import RunClock
from sprintprof.environment.energy import energy_of_window
from sprintprof.environment.telemetry import Telemetry
from sprintprof.records import Measurement, Missing, Value

WINDOW_S = 2.0
"""Longer than the 1 s over which many power readings are averaged."""
DISAGREE = "energy-disagrees"


def with_energy(
    measured: Measurement, work: Work, engine: Engine, clock: RunClock, telemetry: Telemetry, window_s: float = WINDOW_S
) -> Measurement:
    """The measurement with `energy_J` (per operation, by the counter), `energy_power_J` (by integrated power), the
    window and, where a reading is missing, its reason; flagged where the two disagree by more than a tenth.

    Caches are warm in the window: calls follow one another without a flush. Energy is that of the whole device.
    """
    if work.before_sample is not None:
        work.before_sample()
    started_s, calls = clock.now_s(), 0
    while clock.now_s() - started_s < window_s:
        work.call()
        calls += 1
        if calls % 64 == 0 or engine.name == "numpy":
            engine.synchronize()  # a full queue would end long after the window
    engine.synchronize()
    ended_s = clock.now_s()
    times_s, counter_J, power_W = telemetry.energy_readings(started_s, ended_s)
    found = energy_of_window(times_s, counter_J, power_W, started_s, ended_s)
    each_s = (ended_s - started_s) / (calls * work.operations)
    reasons = [w.reason for w in (found.counter_W, found.power_W) if isinstance(w, Missing)]
    extra: dict[str, Value] = {
        "energy_J": _joule(found.counter_W, each_s),
        "energy_power_J": _joule(found.power_W, each_s),
        "energy_window_s": ended_s - started_s,
        "energy_note": "; ".join(dict.fromkeys(reasons)),
    }
    flags = (*measured.flags, DISAGREE) if found.agree is False else measured.flags
    return msgspec.structs.replace(measured, extra={**measured.extra, **extra}, flags=flags)


def _joule(power_W: float | Missing, each_s: float) -> float:
    return math.nan if isinstance(power_W, Missing) else power_W * each_s
