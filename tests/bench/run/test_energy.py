"""Energy windows: per operation, by counter and by power, told where there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest

from sprintprof.bench.case import Work
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.run.energy import with_energy
from sprintprof.environment.telemetry import Telemetry
from sprintprof.records import FLAGS, Measurement, Missing, Point

MEASURED = Measurement(Point("x", "numpy", {}), "ok", median_s=0.01, extra={"kept": 1})


def energy(readers: dict[str, Callable[[], Any]]) -> Measurement:
    clock = RunClock()
    work = Work(call=lambda: time.sleep(0.01), operations=2)
    with Telemetry(clock.now_s, readers, {}) as telemetry:
        return with_energy(MEASURED, work, NumpyEngine(), clock, telemetry, window_s=1.2)


def counter(power_W: float) -> Callable[[], float]:
    return lambda: time.perf_counter() * power_W


def test_counter_and_power_per_operation() -> None:
    found = energy({"energy_J": counter(200.0), "power_W": lambda: 200.0})
    # a call takes 10 ms or a little more and is two operations
    assert found.extra["energy_J"] == pytest.approx(200 * 0.005, rel=0.5)
    assert found.extra["energy_power_J"] == pytest.approx(float(found.extra["energy_J"]), rel=0.05)
    assert found.extra["energy_note"] == ""
    assert found.extra["kept"] == 1
    assert "energy-disagrees" not in found.flags


def test_readings_that_disagree_are_flagged() -> None:
    found = energy({"energy_J": counter(200.0), "power_W": lambda: 300.0})
    assert "energy-disagrees" in found.flags
    assert "energy-disagrees" in FLAGS


def test_the_cpu_has_a_counter_only() -> None:
    found = energy({"cpu_energy_J": counter(50.0)})
    assert found.extra["energy_J"] > 0
    assert math.isnan(float(found.extra["energy_power_J"]))
    assert "power readings" in str(found.extra["energy_note"])


def test_without_sensors_it_is_missing_with_the_reason_never_zero() -> None:
    found = energy({"energy_J": lambda: Missing("no driver")})
    assert math.isnan(float(found.extra["energy_J"]))
    assert "moved 0 times" in str(found.extra["energy_note"])
