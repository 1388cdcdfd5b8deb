"""The small parts: clock, order, caches, limits, throttling, stragglers, settings, flags."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sprintprof.bench.case import Work
from sprintprof.bench.harness.caches import cache_fit, cache_state, wants_flush
from sprintprof.bench.harness.clock import RunClock, measure_timer
from sprintprof.bench.harness.flags import Evidence, exceeds, find_flags
from sprintprof.bench.harness.limits import Limits, PeakShare, peak_share
from sprintprof.bench.harness.order import random_order
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.harness.straggler import rank_spread
from sprintprof.bench.harness.throttle import is_throttled, throttled_share
from sprintprof.records import InputError, Point


def test_clock_counts_from_the_start_of_the_run() -> None:
    readings = iter([10.0, 10.5, 12.0])
    clock = RunClock(lambda: next(readings))
    assert clock.now_s() == 0.5
    assert clock.now_s() == 2.0


def test_clock_of_this_machine_resolves_a_microsecond() -> None:
    clock = RunClock()
    assert clock.ticks
    assert 0 < clock.resolution_s <= 1e-6
    assert 0 < clock.overhead_s < 1e-3


def test_clock_that_stands_still_is_found_out() -> None:
    clock = RunClock(lambda: 5.0)
    assert not clock.ticks
    assert clock.quality(clock).floor_s == 0.0


def test_tick_of_a_coarse_timer(make_device: Any) -> None:
    device = make_device(tick_s=1e-3)
    quality = measure_timer(device, device.read)
    assert quality.tick_s == pytest.approx(1e-3, rel=0.01)
    assert quality.empty_s == 0.0
    assert quality.floor_s == quality.tick_s


def test_timer_is_measured_once() -> None:
    class Counting:
        starts = 0

        def start(self) -> Any:
            self.starts += 1
            return RunClock().start()

    clock, timer = RunClock(), Counting()
    clock.quality(timer)
    starts = timer.starts
    clock.quality(timer)
    assert timer.starts == starts


def points() -> list[Point]:
    return [Point("b", "numpy", {"n": n}) for n in range(50)]


def test_order_depends_on_the_seed_alone() -> None:
    order = random_order(points(), 3)
    assert order == random_order(reversed(points()), 3)
    assert order != random_order(points(), 4)
    assert sorted(p.key for p in order) == sorted(p.key for p in points())


def test_order_breaks_the_axis() -> None:
    sizes = [int(p.parameters["n"]) for p in random_order(points(), 0)]
    assert abs(np.corrcoef(np.arange(50), sizes)[0, 1]) < 0.5


def test_cache_states() -> None:
    cold, untouched = Work(call=int), Work(call=int, cache="untouched")
    assert wants_flush(cold, "cold")
    assert not wants_flush(cold, "warm")
    assert not wants_flush(untouched, "cold")
    assert [cache_state(cold, "cold", n) for n in (1, 8)] == ["cold", "warm-batched"]
    assert cache_state(cold, "warm", 8) == "warm"
    assert cache_state(untouched, "cold", 8) == "untouched"


def test_cache_fit_is_unknown_without_sizes() -> None:
    assert cache_fit(0, 100) == cache_fit(100, 0) == "unknown"


def test_share_of_the_limit_that_binds() -> None:
    limits = Limits(flops={"fp32": 1e12}, memory_Bps=100e9, link_Bps=10e9)
    both = {"flop": 0.5e9, "bytes": 0.08e9, "time_s": 1e-3}
    assert peak_share(limits, precision="fp32", path="memory", **both) == PeakShare(0.8, "memory bandwidth")
    assert peak_share(limits, precision="fp32", path="none", **both) == PeakShare(0.5, "flops fp32")
    assert peak_share(limits, precision="fp32", path="link", **both).share == pytest.approx(8.0)
    assert math.isnan(peak_share(limits, precision="fp64", path="network", **both).share)
    assert math.isnan(peak_share(None, precision="fp32", path="memory", **both).share)
    nothing = peak_share(limits, flop=math.nan, bytes=math.nan, precision="fp32", path="memory", time_s=1e-3)
    assert math.isnan(nothing.share)


def test_u93_share_of_an_h100s_peak() -> None:
    share = peak_share(
        Limits(memory_Bps=3350e9), flop=0.0, bytes=2900e9, precision="fp32", path="memory", time_s=1.0
    ).share
    assert round(100 * share) == 87


def test_above_a_limit_within_its_tolerance_is_not_above() -> None:
    limits = Limits(memory_Bps=1.0, tolerance=0.05)
    assert not exceeds(limits, PeakShare(1.04, "memory bandwidth"), "cold", "exceeds")
    assert exceeds(limits, PeakShare(1.06, "memory bandwidth"), "cold", "exceeds")
    assert exceeds(limits, PeakShare(1.06, "flops fp32"), "warm", "fits")
    assert not exceeds(None, PeakShare(9.0, "flops fp32"), "warm", "fits")


NAN = math.nan


@pytest.mark.parametrize(
    ("columns", "nominal_Hz", "share"),
    [
        ({}, 1e9, NAN),
        ({"sm_clock_Hz": [1e9, 0.7e9]}, None, NAN),
        ({"sm_clock_Hz": [1e9, 0.7e9]}, 1e9, 0.5),
        ({"sm_clock_Hz": [1e9, 0.7e9], "sm_clock_max_Hz": [2e9, 2e9]}, None, 1.0),
        ({"sm_clock_Hz": [NAN, NAN]}, 1e9, NAN),
        ({"sm_clock_Hz": [NAN, 0.5e9, 1e9]}, 1e9, 0.5),
        ({"throttled": [0.0, 1.0, 0.0, 1.0]}, None, 0.5),
        ({"throttled": [0.0, 1.0], "sm_clock_Hz": [0.5e9, 1e9]}, 1e9, 1.0),
        ({"throttled": [NAN, 1.0], "sm_clock_Hz": [1e9, NAN]}, 1e9, 0.5),
    ],
)
def test_throttled_share(columns: dict[str, list[float]], nominal_Hz: float | None, share: float) -> None:
    found = throttled_share({k: np.array(v) for k, v in columns.items()}, nominal_Hz, 0.75)
    assert found == pytest.approx(share, nan_ok=True)
    assert is_throttled(found) == (share > 0.1)


def test_one_slow_sample_makes_no_straggler() -> None:
    times_s = np.full((20, 4), 1e-3)
    times_s[3, 2] = 1.0
    spread = rank_spread(times_s)
    assert spread.straggler_rank == -1
    assert (spread.min_s, spread.median_s, spread.max_s) == (1e-3, 1e-3, 1e-3)


@pytest.mark.parametrize(
    ("slow", "skew_s", "straggler"), [(1.5, 0.0, 2), (1.03, 0.0, -1), (1.5, 1e-3, -1), (1.5, 0.4e-3, 2)]
)
def test_straggler_exceeds_the_spread_and_the_skew_of_starts(slow: float, skew_s: float, straggler: int) -> None:
    rng = np.random.default_rng(0)
    times_s = 1e-3 * (1 + 0.01 * rng.standard_normal((30, 4)))
    times_s[:, 2] *= slow
    assert rank_spread(times_s, skew_s).straggler_rank == straggler


def test_ranks_that_all_differ_have_no_straggler() -> None:
    times_s = np.tile([1.0, 1.3, 1.6, 1.9], (20, 1))
    spread = rank_spread(times_s)
    assert (spread.straggler_rank, spread.slowest_rank) == (-1, 3)


def test_one_rank_and_few_samples() -> None:
    assert rank_spread(np.ones((9, 1))).straggler_rank == -1
    assert rank_spread(np.tile([1.0, 9.0], (3, 1))).straggler_rank == -1


@pytest.mark.parametrize(
    "wrong",
    [{"min_samples": 5}, {"max_samples": 5}, {"target_ci": 0.0}, {"timeout_s": 0.0}, {"launches": 0}],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        HarnessSettings(**wrong)
    assert str(next(iter(wrong.values()))) in str(caught.value)


def test_flags_come_in_the_order_of_the_catalogue() -> None:
    everything = Evidence(
        settled=False,
        resolved=False,
        drift=True,
        multimodal=True,
        throttled=True,
        above_peak=True,
        straggler=True,
    )
    times_s = np.array(list(itertools.islice(itertools.cycle([1.0, 2.0]), 20)))
    assert find_flags(times_s, 0.02, everything) == (
        "noisy",
        "drift",
        "throttled",
        "multimodal",
        "above-peak",
        "not-converged",
        "under-resolution",
        "straggler",
    )
    assert find_flags(np.ones(6), 0.02, Evidence()) == ()
    assert find_flags(np.ones(5), 0.02, Evidence()) == ("not-converged",)
