"""Telemetry beside the samples, energy windows, CPU counters."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_nvml import FakeNvml, FakeNvmlError, gpu

from sprintprof.environment.cpu_fields import RaplEnergy
from sprintprof.environment.energy import energy_of_window
from sprintprof.environment.gpu_fields import GPU_FIELDS
from sprintprof.environment.nvml import Nvml
from sprintprof.environment.telemetry import MOST_SHARE, Telemetry, open_telemetry
from sprintprof.records import Missing


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def filled(readings: list[tuple[float, dict[str, float]]]) -> Telemetry:
    """Telemetry that has taken these readings, without a thread."""
    clock, current = Clock(), dict(readings[0][1])
    names: dict[str, Callable[[], Any]] = {name: (lambda n=name: current[n]) for name in current}  # type: ignore[misc]
    telemetry = Telemetry(clock, names, {})
    for at, values in readings:
        clock.now = at
        current.update(values)
        telemetry._read()
    return telemetry


def at(*times: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(times)


def test_a_short_sample_gets_the_nearest_reading_a_long_one_their_mean() -> None:
    telemetry = filled(
        [(0.00, {"power_W": 100}), (0.02, {"power_W": 200}), (0.04, {"power_W": 300}), (0.06, {"power_W": 400})]
    )
    columns, missing = telemetry.columns(at(0.019, 0.0), at(0.0191, 0.05))
    assert columns["power_W"].tolist() == [200, 200]
    assert missing == {}


def test_a_sample_far_from_any_reading_has_none() -> None:
    columns, _ = filled([(0.0, {"power_W": 100})]).columns(at(0.01, 5.0), at(0.011, 5.001))
    assert columns["power_W"][0] == 100
    assert np.isnan(columns["power_W"][1])


def test_throttle_reasons_are_ored_and_become_a_flag_column() -> None:
    telemetry = filled(
        [(0.0, {"throttle_reasons": 0}), (0.02, {"throttle_reasons": 1}), (0.04, {"throttle_reasons": 0x40})]
    )
    columns, _ = telemetry.columns(at(0.0, 0.0, 0.0), at(0.001, 0.03, 0.05))
    assert columns["throttle_reasons"].tolist() == [0, 1, 0x41]
    assert columns["throttled"].tolist() == [0, 0, 1]  # idle is not slowed down


def test_without_driver_the_run_goes_on_and_each_field_has_its_reason() -> None:
    with open_telemetry(time.perf_counter, gpu=True, nvml=Missing("no driver (x)")) as telemetry:
        columns, missing = telemetry.columns(at(0.0), at(1.0))
    assert {missing[name] for name in GPU_FIELDS} == {"no driver (x)"}
    assert not set(columns) & set(GPU_FIELDS)


def test_no_thread_where_nothing_answers() -> None:
    before = threading.active_count()
    with Telemetry(time.perf_counter, {"x": lambda: Missing("no")}, {}) as telemetry:
        assert threading.active_count() == before
        assert telemetry.columns(at(0.0), at(1.0)) == ({}, {"x": "no"})


def test_the_thread_reads_a_gpu_and_ends() -> None:
    device = gpu(0)
    nvml = Nvml(FakeNvml([device]))
    began = time.perf_counter()
    before = threading.active_count()
    with open_telemetry(lambda: time.perf_counter() - began, gpu=True, nvml=nvml) as telemetry:
        time.sleep(0.2)
        columns, missing = telemetry.columns(at(0.05, 0.1), at(0.06, 0.11))
    assert threading.active_count() == before
    assert columns["sm_clock_Hz"].tolist() == [1.41e9, 1.41e9]
    assert columns["throttled"].tolist() == [0, 0]
    assert "not in this binding" in missing["power_instant_W"]
    assert "power_instant_W" not in columns


def test_a_gpu_that_is_lost_on_the_way_leaves_a_gap_with_its_reason() -> None:
    device = gpu(0)
    answers = iter([300_000, 300_000])
    device["nvmlDeviceGetPowerUsage"] = lambda: next(answers, FakeNvmlError("GPU is lost"))
    telemetry = open_telemetry(Clock(), gpu=True, nvml=Nvml(FakeNvml([device])))
    telemetry._probe()
    telemetry._read()
    columns, missing = telemetry.columns(at(0.0), at(0.0))
    assert missing["power_W"] == "GPU is lost"
    assert columns["power_W"][0] in (300.0, pytest.approx(np.nan, nan_ok=True))
    assert 0 not in columns["power_W"]


def test_a_slow_reading_raises_the_interval() -> None:
    telemetry = Telemetry(time.perf_counter, {"x": lambda: time.sleep(0.01) or 1.0}, {})
    telemetry._probe()
    assert telemetry.interval_s >= 0.01 / MOST_SHARE


def readings(seconds: float, step_s: float, power: float) -> tuple[Any, Any, Any]:
    """A counter that moves every `step_s` and a power sensor, both at a constant power."""
    times = np.arange(0, seconds, 0.01)
    return times, np.floor(times / step_s + 1e-9) * step_s * power, np.full(len(times), power)


def test_energy_from_counter_and_power_agree() -> None:
    found = energy_of_window(*readings(3.0, 0.1, 250.0), 0.5, 2.5)
    assert found.counter_W == pytest.approx(250, rel=1e-9)
    assert found.power_W == pytest.approx(250, rel=1e-9)
    assert found.agree is True


def test_u51_a_sensor_that_reads_one_level_of_a_square_load_is_noticed() -> None:
    times, counter, _ = readings(3.0, 0.1, 250.0)
    found = energy_of_window(times, counter, np.full(len(times), 400.0), 0.0, 3.0)
    assert found.agree is False


def test_u53_a_counter_that_hardly_moves_is_refused() -> None:
    times = np.arange(0, 1.2, 0.05)
    counter = np.where(np.arange(len(times)) < 20, 0.0, 0.9)
    found = energy_of_window(times, counter, np.full(len(times), np.nan), 0.0, 1.2)
    assert "moved 1 times" in str(found.counter_W)
    assert "0 power readings" in str(found.power_W)
    assert isinstance(found.agree, Missing)


def test_a_short_window_is_refused() -> None:
    assert "too short" in str(energy_of_window(*readings(3.0, 0.1, 250.0), 0.5, 1.0).counter_W)


def rapl(root: Path, *values: int) -> Path:
    for number, value in enumerate(values):
        package = root / f"intel-rapl:{number}"
        package.mkdir(exist_ok=True)
        (package / "energy_uj").write_text(str(value))
        (package / "max_energy_range_uj").write_text("1000000")
        (root / f"intel-rapl:{number}:0").mkdir(exist_ok=True)  # a part of the package: counted in it already
    return root


def test_rapl_sums_packages_and_makes_good_a_wrap(tmp_path: Path) -> None:
    energy = RaplEnergy(rapl(tmp_path, 900_000, 10))
    assert energy() == 0
    rapl(tmp_path, 100_000, 20)
    assert energy() == pytest.approx(0.2 + 10e-6)


def test_no_rapl_or_no_permission_is_missing(tmp_path: Path) -> None:
    assert RaplEnergy(tmp_path / "nowhere")() == Missing("no RAPL counters here")
    energy = RaplEnergy(rapl(tmp_path, 5))
    (tmp_path / "intel-rapl:0/energy_uj").unlink()
    assert "cannot be read" in str(energy())
