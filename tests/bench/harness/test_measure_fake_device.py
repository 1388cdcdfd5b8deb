"""A device with a known time: the true value within 1 %, or the flag that says why not."""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sprintprof.bench.case import Skip, Work
from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.measure import measure_point
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.records import FLAGS, Measurement, Point

SETTINGS = HarnessSettings()


def measured(device: Any, point: Point, work: Work, settings: HarnessSettings = SETTINGS, **more: Any) -> Measurement:
    found = measure_point(point, work, device, settings, device.clock, **more)
    assert set(found.flags) <= set(FLAGS)
    return found


def test_u01_headline_is_device_time_and_host_time_is_beside_it(make_device: Any, point: Point) -> None:
    device = make_device(launch_s=20e-6)
    found = measured(device, point, Work(call=device.kernel(5e-3)))
    assert found.status == "ok"
    assert found.flags == ()
    assert found.median_s == pytest.approx(5e-3, rel=0.01)
    assert found.low_s <= found.median_s <= found.high_s
    assert found.extra["host_median_s"] == pytest.approx(5.02e-3, rel=0.01)
    assert found.extra["cache_state"] == "cold"


def test_host_time_shows_a_launch_bound_batch(make_device: Any, point: Point, warm: Callable[..., Work]) -> None:
    device = make_device(launch_s=20e-6, tick_s=1e-6)
    found = measured(device, point, warm(device.kernel(2e-6)))
    assert found.median_s == pytest.approx(20e-6, rel=0.02)  # the device waits for the host, and both clocks say so
    assert found.extra["host_median_s"] == pytest.approx(found.median_s, rel=0.1)


def test_u17_waiting_for_the_device_is_outside_its_time(make_device: Any, point: Point) -> None:
    """With the wait inside, the small size took 113.4 µs and the large one 87.0 µs: slower than 32 times the work."""
    times_s = []
    for size in (1, 32):
        device = make_device()
        device.wait_s = 26e-6 if size == 1 else 0.0
        found = measured(device, point, Work(call=device.kernel(84e-6 + size * 0.1e-6)))
        times_s.append(found.median_s)
        assert found.extra["host_median_s"] >= found.median_s + device.wait_s
    assert times_s == pytest.approx([84.1e-6, 87.2e-6], rel=0.01)


def test_u02_first_call_is_kept_apart(make_device: Any, point: Point) -> None:
    device = make_device()
    times = itertools.chain([0.812], itertools.cycle([3.1e-3, 3.0e-3]))
    found = measured(device, point, Work(call=device.kernel(times)), HarnessSettings(target_ci=0.001, max_samples=100))
    assert found.first_s == pytest.approx(0.812, rel=1e-3)
    assert found.median_s == pytest.approx(3.05e-3, rel=1e-3)
    assert found.samples.time_s.max() < 3.2e-3


def test_first_call_270_times_slower(make_device: Any, point: Point) -> None:
    device = make_device(launch_s=5e-6)
    found = measured(device, point, Work(call=device.kernel(itertools.chain([0.27], itertools.repeat(1e-3)))))
    assert found.first_s == pytest.approx(0.27, rel=0.01)
    assert found.median_s == pytest.approx(1e-3, rel=0.01)
    assert found.flags == ()


def test_slow_warm_up_is_waited_for(make_device: Any, point: Point) -> None:
    device = make_device()
    times = (1e-3 * (1 + 2 * math.exp(-i / 40)) for i in itertools.count())
    found = measured(device, point, Work(call=device.kernel(times)))
    assert found.median_s == pytest.approx(1e-3, rel=0.01) or "drift" in found.flags
    assert found.extra["warmup_samples"] > 50


def test_warm_up_that_never_settles_is_bounded_and_said(make_device: Any, point: Point) -> None:
    device = make_device()
    times = (1e-3 * 1.05**i for i in itertools.count())
    found = measured(device, point, Work(call=device.kernel(times)), HarnessSettings(timeout_s=3.0))
    assert found.status == "ok"
    assert {"not-converged", "drift"} <= set(found.flags)
    assert found.extra["warmup"] == "time was up"


def test_bimodal(make_device: Any, point: Point) -> None:
    device = make_device()
    draw = np.random.default_rng(3)
    kernel = device.kernel(lambda: (1e-3 if draw.random() < 0.6 else 1.3e-3) * (1 + 0.003 * draw.standard_normal()))
    found = measured(device, point, Work(call=kernel), HarnessSettings(target_ci=1e-4, max_samples=200))
    assert "multimodal" in found.flags
    assert len(found.samples) == 200


def test_drifting(make_device: Any, point: Point) -> None:
    device = make_device()
    draw = np.random.default_rng(4)
    times = (1e-3 * (1 + i * 1e-3) * (1 + 0.003 * draw.standard_normal()) for i in itertools.count())
    found = measured(device, point, Work(call=device.kernel(times)), HarnessSettings(target_ci=1e-3, max_samples=150))
    assert "drift" in found.flags
    assert found.extra["drift"] == "sustained"
    assert found.extra["drift_change"] == pytest.approx(0.14, abs=0.04)


def test_noise_wider_than_the_target_is_flagged(make_device: Any, point: Point) -> None:
    device = make_device()
    draw = np.random.default_rng(5)
    kernel = device.kernel(lambda: 10e-3 * math.exp(0.3 * draw.standard_normal()))
    found = measured(device, point, Work(call=kernel), HarnessSettings(timeout_s=1.0))
    assert found.flags == ("noisy",)
    assert found.stop_reason == "timeout of 1 s"
    assert found.median_s == pytest.approx(10e-3, rel=0.1)


def test_back_pressure_after_1000_launches(make_device: Any, point: Point, warm: Callable[..., Work]) -> None:
    device = make_device(launch_s=1e-6, depth=1000, tick_s=100e-6)  # the coarse timer makes batches of thousands
    found = measured(device, point, warm(device.kernel(5e-6)))
    assert found.extra["calls"] > 1000
    assert device.waits > 0
    assert found.median_s == pytest.approx(5e-6, rel=0.01)
    assert found.flags == ()


def test_timer_that_returns_0(make_device: Any, point: Point, warm: Callable[..., Work]) -> None:
    for work in (warm, Work):
        device = make_device(blind=True)
        found = measured(device, point, work(device.kernel(1e-3)))
        assert found.status == "failed"
        assert found.flags == ("under-resolution",)
        assert "timer reads 0 s for 1024 calls" in found.reason
        assert math.isnan(found.median_s)
        assert device.launches < 100_000


def test_device_timer_that_returns_0_beside_a_clock_that_runs(make_device: Any, point: Point) -> None:
    device = make_device()
    real_start = device.start

    class Zero:
        def __init__(self) -> None:
            self._interval = real_start()

        def stop(self) -> tuple[float, float]:
            return 0.0, self._interval.stop()[1]

    device.start = Zero
    before_s = device.now_s
    found = measured(device, point, Work(call=device.kernel(1e-3)))
    assert found.status == "failed"
    assert found.flags == ("under-resolution",)
    assert device.now_s - before_s < 30  # the host's clock bounds the batch, the timeouts the rest


@pytest.mark.parametrize("tick_s", [1e-3, 4e-3])
@pytest.mark.parametrize("kernel_s", [30e-6, 300e-6, 7e-3, 0.4])
def test_coarse_timer(
    make_device: Any, point: Point, warm: Callable[..., Work], tick_s: float, kernel_s: float
) -> None:
    device = make_device(tick_s=tick_s)
    found = measured(device, point, warm(device.kernel(kernel_s)), HarnessSettings(timeout_s=20.0))
    assert found.median_s == pytest.approx(kernel_s, rel=0.01) or "under-resolution" in found.flags
    if found.status == "ok":
        assert found.extra["timer_tick_s"] == pytest.approx(tick_s, rel=0.1)


def test_cold_call_under_resolution_is_batched_and_called_warm(make_device: Any, point: Point) -> None:
    device = make_device(tick_s=1e-4)
    found = measured(device, point, Work(call=device.kernel(1e-3)))
    assert found.extra["cache_state"] == "warm-batched"
    assert found.extra["calls"] >= 10
    assert found.median_s == pytest.approx(1e-3, rel=0.01)


def test_under_resolution_even_batched(make_device: Any, point: Point, warm: Callable[..., Work]) -> None:
    device = make_device(tick_s=1.0)  # a sample may take half a second at most, so no batch can reach a tick
    found = measured(device, point, warm(device.kernel(1e-3)))
    assert "under-resolution" in found.flags


def test_cold_calls_stay_alone(make_device: Any, point: Point) -> None:
    device = make_device()
    found = measured(device, point, Work(call=device.kernel(5e-6)))
    assert found.extra["calls"] == 1
    assert found.extra["cache_state"] == "cold"
    assert found.median_s == pytest.approx(5e-6, rel=0.05)
    assert 0 <= found.extra["overhead_s"] < 0.1e-6


def test_u03_working_set_against_cache(make_device: Any, point: Point) -> None:
    seen = []
    for n in (1024, 2048, 4096, 8192, 16384):
        device = make_device(cache=129_000_000)
        work = Work(call=device.kernel(1e-3), working_set_bytes=2 * 4096 * n * 2)
        seen.append(measured(device, point, work).extra["cache_fit"])
    assert seen == ["fits", "fits", "fits", "borderline", "exceeds"]


def test_u04_flush_after_the_inputs_exist(make_device: Any, point: Point) -> None:
    device = make_device()
    device.random((4,))
    measured(device, point, Work(call=device.kernel(1e-3), before_sample=lambda: device.log.append("before")))
    assert device.log.count("alloc") == device.log.count("fill") == 1
    log = device.log[device.log.index("fill") + 1 :]
    kernels = [i for i, entry in enumerate(log) if entry == "kernel"]
    assert len(kernels) > 6
    for i in kernels:  # flush, an empty window, and the window with the kernel alone
        assert log[i - 5 : i + 2] == ["before", "flush", "start", "stop", "start", "kernel", "stop"]


def test_flush_only_where_asked(make_device: Any, point: Point) -> None:
    for settings, work, state in [
        (HarnessSettings(cache="warm"), Work, "warm"),
        (SETTINGS, lambda call: Work(call=call, cache="untouched"), "untouched"),
    ]:
        device = make_device()
        found = measured(device, point, work(device.kernel(1e-3)), settings)
        assert "flush" not in device.log
        assert found.extra["cache_state"] == state


def test_prime_runs_between_flush_and_window(make_device: Any, point: Point) -> None:
    device = make_device()
    measured(device, point, Work(call=device.kernel(1e-3), prime=lambda: device.log.append("prime")))
    i = device.log.index("kernel")
    assert device.log[i - 5 : i] == ["flush", "prime", "start", "stop", "start"]


class Clocks:
    """Telemetry whose clock goes round a list, or a flag of the device."""

    def __init__(self, **fields: list[float]) -> None:
        self._fields = {name: itertools.cycle(values) for name, values in fields.items()}
        self.asked = 0

    def columns(self, started_s: Any, ended_s: Any) -> tuple[dict[str, Any], dict[str, str]]:
        self.asked += 1
        assert (ended_s > started_s).all()
        taken = {name: np.array([next(v) for _ in started_s]) for name, v in self._fields.items()}
        return taken, {"power_W": "not supported"}


def test_u05_throttled_for_ever_is_kept_and_flagged(make_device: Any, point: Point) -> None:
    device = make_device()
    telemetry = Clocks(sm_clock_Hz=[827e6, 795e6, 847e6, 800e6, 838e6])
    limits = Limits(clock_Hz=1410e6)
    found = measured(device, point, Work(call=device.kernel(1e-3)), telemetry=telemetry, limits=limits)
    assert found.status == "ok"
    assert found.flags == ("throttled",)
    assert found.median_s == pytest.approx(1e-3, rel=0.01)
    assert found.extra["throttle_retries"] == SETTINGS.throttle_retries
    assert found.extra["throttled_share"] == 1.0
    assert telemetry.asked == SETTINGS.throttle_retries + 1
    assert device.slept_s == SETTINGS.throttle_retries * SETTINGS.throttle_pause_s
    assert len(found.samples.columns["sm_clock_Hz"]) == len(found.samples)
    assert found.samples.missing == {"power_W": "not supported"}


def test_throttled_for_a_while_is_measured_again(make_device: Any, point: Point) -> None:
    device = make_device()
    clocks = itertools.chain([800e6] * 6, itertools.repeat(1400e6))
    telemetry = Clocks(sm_clock_Hz=[])
    telemetry._fields["sm_clock_Hz"] = clocks  # type: ignore[assignment]
    limits = Limits(clock_Hz=1410e6)
    found = measured(device, point, Work(call=device.kernel(1e-3)), telemetry=telemetry, limits=limits)
    assert found.flags == ()
    assert found.extra["throttle_retries"] == 1


def test_u06_fill_and_seed_are_in_the_record(make_device: Any, point: Point) -> None:
    assert SETTINGS.fill == "random"
    for fill, seed in (("ones", 0), ("random", 7)):
        device = make_device()
        settings = HarnessSettings(fill=fill, seed=seed)
        found = measured(device, point, Work(call=device.kernel(1e-3)), settings)
        assert (found.extra["fill"], found.extra["seed"]) == (fill, seed)


def test_above_peak(make_device: Any, point: Point) -> None:
    def run(bytes: float, cache: str, working_set: int) -> Measurement:
        device = make_device(cache=1000)
        work = Work(call=device.kernel(1e-3), bytes=bytes, working_set_bytes=working_set)
        return measured(device, point, work, HarnessSettings(cache=cache), limits=Limits(memory_Bps=1e9))  # type: ignore[arg-type]

    assert run(1.2e6, "cold", 10).flags == ("above-peak",)
    assert run(1.2e6, "warm", 10).flags == ()  # served by the cache, which the memory does not limit
    assert run(1.2e6, "warm", 10_000).flags == ("above-peak",)
    fine = run(0.87e6, "cold", 10)
    assert fine.flags == ()
    assert fine.extra["peak_share"] == pytest.approx(0.87, rel=0.01)
    assert fine.extra["peak_limit"] == "memory bandwidth"


def test_times_are_per_operation(make_device: Any, point: Point, warm: Callable[..., Work]) -> None:
    device = make_device(tick_s=1e-6)
    found = measured(device, point, warm(device.kernel(4e-6), operations=2))
    assert found.median_s == pytest.approx(2e-6, rel=0.01)
    assert found.extra["host_median_s"] == pytest.approx(2e-6, rel=0.1)


def test_flags_only_the_benchmark_can_know(make_device: Any, point: Point) -> None:
    device = make_device()
    assert measured(device, point, Work(device.kernel(1e-3), flags=("staged",))).flags == ("staged",)
    found = measured(device, point, Work(device.kernel(1e-3), flags=("stagged",)))
    assert (found.status, found.reason) == ("failed", "ValueError: there is no flag stagged")


def test_work_that_times_itself(make_device: Any, point: Point) -> None:
    device = make_device()

    def timed() -> float:
        device.launch(3e-3)
        device.launch(1e-3)
        return 1e-3

    found = measured(device, point, Work(call=lambda: None, timed=timed))
    assert found.median_s == 1e-3
    assert found.extra["calls"] == 1
    assert "host_median_s" in found.extra


def test_time_is_up_before_there_are_enough_samples(make_device: Any, point: Point) -> None:
    device = make_device()
    found = measured(device, point, Work(call=device.kernel(2.0)))
    assert 1 <= len(found.samples) < 6
    assert found.flags == ("not-converged",)
    assert found.median_s == pytest.approx(2.0, rel=0.01)
    assert math.isnan(found.low_s)


def test_stop_reasons(make_device: Any, point: Point) -> None:
    device = make_device()
    assert "inside the target" in measured(device, point, Work(call=device.kernel(1e-3))).stop_reason
    draw = np.random.default_rng(0)
    kernel = device.kernel(lambda: 1e-3 * (1 + draw.random()))
    few = measured(device, point, Work(call=kernel), HarnessSettings(max_samples=20))
    assert few.stop_reason == "20 samples taken"


def test_no_garbage_collection_inside_the_window(make_device: Any, point: Point) -> None:
    device = make_device()
    collecting = []

    def call() -> None:
        collecting.append(gc.isenabled())
        device.launch(1e-3)

    assert gc.isenabled()
    measured(device, point, Work(call=call))
    assert not any(collecting)
    assert gc.isenabled()


def failing(at: int, error: BaseException) -> Iterator[None]:
    for _ in range(at):
        yield
    raise error


@pytest.mark.parametrize("at", [0, 1, 5, 15])
def test_an_exception_is_the_points_outcome(make_device: Any, point: Point, at: int) -> None:
    device = make_device()
    closed = []
    fail = failing(at, OverflowError("integer 4294967296 does not\nfit in 'int'"))

    def call() -> None:
        next(fail)
        device.launch(1e-3)

    found = measured(device, point, Work(call=call, close=lambda: closed.append(1)))
    assert found.status == "failed"
    assert found.reason == "OverflowError: integer 4294967296 does not fit in 'int'"
    assert math.isnan(found.median_s)
    assert closed == [1]
    assert gc.isenabled()


def test_skip_wrong_result_and_failing_close(make_device: Any, point: Point) -> None:
    device = make_device()

    def skip() -> None:
        raise Skip("no such algorithm")

    def bad_close() -> None:
        raise OSError("cannot free")

    found = measured(device, point, Work(call=skip))
    assert (found.status, found.reason) == ("skipped", "no such algorithm")
    closed: list[int] = []
    work = Work(call=device.kernel(1e-3), verify=lambda: "sum is 3, not 4", close=lambda: closed.append(1))
    found = measured(device, point, work)
    assert (found.status, found.reason) == ("failed", "wrong result: sum is 3, not 4")
    assert closed == [1]
    found = measured(device, point, Work(call=device.kernel(1e-3), close=bad_close))
    assert (found.status, found.reason) == ("failed", "close: OSError: cannot free")


def test_interrupt_passes_but_closes(make_device: Any, point: Point) -> None:
    closed: list[int] = []

    def call() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(make_device(), point, Work(call=call, close=lambda: closed.append(1)))
    assert closed == [1]
