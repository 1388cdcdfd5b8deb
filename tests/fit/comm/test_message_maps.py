"""Message fits against known truths: break points, switch maps, cost terms beyond the measured ranks, knees."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fit_data import dataset, measured
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.fit.build import fit_profile
from sprintprof.model.cycle import allreduce_time
from sprintprof.model.messages import nearest_time
from sprintprof.profile import Estimator, Fit, Profile, load_profile, save_profile
from sprintprof.profile.estimate import times_s
from sprintprof.records import Measurement

KIB = 1024
SIZES = [8 * 4**i for i in range(10)]  # 8 B to 2 MiB


def pingpong(times: dict[int, float], **more: object) -> list[Measurement]:
    return [measured("pingpong", t, ranks=2, size_bytes=n, **more) for n, t in times.items()]  # type: ignore[arg-type]


def allreduce(cost: Callable[[int, int], float], ranks: tuple[int, ...], noise: float = 0.0) -> list[Measurement]:
    rng = np.random.default_rng(0)
    return [
        measured("allreduce", cost(n, p) * math.exp(noise * rng.standard_normal()), ranks=p, size_bytes=n)
        for p in ranks
        for n in SIZES
    ]


def only(profile: Profile, **fixed: object) -> Fit:
    (found,) = (f for f in profile.fits if f.fixed == fixed)
    return found


def breaks(fit: Fit) -> list[float]:
    return sorted({s.from_bytes for s in fit.segments} - {0.0})


def test_a_break_where_bandwidth_falls_is_found() -> None:  # U24
    rates = {
        2048: 7.91,
        4096: 13.78,
        8192: 23.35,
        16384: 13.16,
        32768: 13.95,
        65536: 15.31,
        131072: 18.15,
        262144: 23.76,
        524288: 34.39,
    }
    times = {n: n / rate * 1e-6 for n, rate in rates.items()}
    profile = fit_profile([dataset(pingpong(times))])
    fit = only(profile, ranks=2)
    assert 16384 in breaks(fit)
    assert any("bandwidth falls" in w and "8 KiB" in w and "16 KiB" in w for w in fit.warnings)
    e = Estimator(profile)
    assert e.message_time("pingpong", 8192, 2).time_s == pytest.approx(times[8192], rel=0.1)
    assert e.message_time("pingpong", 16384, 2).time_s == pytest.approx(times[16384], rel=0.35)


def test_non_monotone_bandwidth_is_reported_and_the_break_found() -> None:  # U25
    rates = {4096: 3761, 8192: 6422, 16384: 1485, 32768: 1868, 65536: 2345, 1 << 20: 4032, 4 << 20: 3840}
    times = {n: n / rate * 1e-6 for n, rate in rates.items()}
    fit = only(fit_profile([dataset(pingpong(times))]), ranks=2)
    assert 16384 in breaks(fit)
    falls = next(w for w in fit.warnings if "bandwidth falls" in w)
    assert "from 6.422 GB/s at 8 KiB to 1.485 GB/s at 16 KiB" in falls
    assert all(time > 0 for time in times_s(fit, {"size_bytes": np.geomspace(1, 1 << 30, 200)}))


def test_one_line_over_a_switch_is_not_presented_as_good() -> None:
    times = {64: 1e-6, 4096: 2e-6, 65536: 1e-4}  # too few sizes for two lines
    profile = fit_profile([dataset(pingpong(times))])
    fit = only(profile, ranks=2)
    assert len(fit.segments) == 1
    assert any("misfit" in w for w in fit.warnings)
    for size, time_s in times.items():
        estimate = Estimator(profile).message_time("pingpong", size, 2)
        assert 0.999 * estimate.low_s <= time_s <= 1.001 * estimate.high_s


def test_eager_and_rendezvous_are_recovered_from_noisy_times() -> None:
    rng = np.random.default_rng(1)

    def cost(n: int) -> float:
        return 1e-6 + 5e-10 * n if n < 16384 else 6e-6 + 1e-10 * n + 2e-5

    times = {2**i: cost(2**i) * math.exp(0.02 * rng.standard_normal()) for i in range(3, 24)}
    profile = fit_profile([dataset(pingpong(times))])
    fit = only(profile, ranks=2)
    assert breaks(fit) == [16384]
    assert fit.coefficients == pytest.approx([1e-6, 5e-10, 2.6e-5, 1e-10], rel=0.05)
    e = Estimator(profile).message_time("pingpong", 3 << 20, 2)
    assert e.low_s < cost(3 << 20) < e.high_s
    assert e.high_s < 1.2 * e.time_s


def test_a_straight_line_with_noise_has_breaks_by_bad_luck_only() -> None:
    rng = np.random.default_rng(2)
    found = 0  # of 10 lines
    for _ in range(10):
        times = {2**i: (2e-6 + 1e-9 * 2**i) * math.exp(0.03 * rng.standard_normal()) for i in range(3, 22)}
        found += bool(breaks(only(fit_profile([dataset(pingpong(times))]), ranks=2)))
    assert found <= 2


def test_the_time_falls_only_at_a_reported_switch() -> None:
    times = {2**i: 1e-6 + 1e-9 * 2**i if i < 18 else 2e-10 * 2**i for i in range(6, 24)}
    fit = only(fit_profile([dataset(pingpong(times))]), ranks=2)
    assert any("the time falls at the switch at 256 KiB" in w for w in fit.warnings)
    sizes = np.unique(np.geomspace(1, 1 << 26, 3000).round())
    falls = sizes[1:][np.diff(times_s(fit, {"size_bytes": sizes})) < 0]
    assert len(falls) == 1
    assert falls[0] == pytest.approx(1 << 18, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0.7, 4.0), min_size=5, max_size=9))
def test_any_times_give_a_positive_curve_without_unreported_falls(steps: list[float]) -> None:
    times = {64 * 4**i: float(1e-6 * np.prod(steps[:i])) for i in range(len(steps))}
    fit = only(fit_profile([dataset(pingpong(times))]), ranks=2)
    sizes = np.unique(np.geomspace(1, 1 << 28, 500).round())
    found = times_s(fit, {"size_bytes": sizes})
    assert (found > 0).all()
    reported = {s.from_bytes for s in fit.segments if s.falls}
    for i in np.flatnonzero(np.diff(found) < -1e-12 * found[:-1]):
        assert any(sizes[i] < start <= sizes[i + 1] for start in reported)


def ring(n: float, p: float) -> float:
    return 2 * (p - 1) * 3e-6 + 2 * n * (p - 1) / p * 4e-10


def doubling(n: float, p: float) -> float:
    return math.log2(p) * (5e-6 + n * 6e-10)


def rabenseifner(n: float, p: float) -> float:
    return 2 * math.log2(p) * 4e-6 + 2 * n * (p - 1) / p * 3e-10


@pytest.mark.parametrize(
    ("cost", "term"), [(ring, "ring"), (doubling, "recursive-doubling"), (rabenseifner, "rabenseifner")]
)
def test_the_cost_term_is_recognised_and_carried_to_more_ranks(
    cost: Callable[[float, float], float], term: str
) -> None:
    profile = fit_profile([dataset(allreduce(cost, (2, 4, 8, 16), noise=0.01))])
    assert term in {s.term for s in only(profile).segments}
    for n in (8, 2048, 1 << 20):
        estimate = Estimator(profile).message_time("allreduce", n, 64)
        assert estimate.time_s == pytest.approx(cost(n, 64), rel=0.12)
        assert "ranks 64 is outside 2..16" in estimate.extrapolated


def test_a_switch_over_sizes_has_a_term_on_either_side() -> None:
    profile = fit_profile(
        [dataset(allreduce(lambda n, p: doubling(n, p) if n < 8192 else ring(n, p) + 3e-5, (2, 4, 8, 16)))]
    )
    fit = only(profile)
    assert 8192 in breaks(fit)
    assert fit.segments[0].term == "recursive-doubling"
    assert Estimator(profile).message_time("allreduce", 1 << 21, 32).time_s == pytest.approx(
        ring(1 << 21, 32), rel=0.15
    )


def test_a_fall_over_ranks_is_a_switch_of_algorithm() -> None:
    def cost(n: float, p: float) -> float:
        return 5 * rabenseifner(n, p) if p < 16 else rabenseifner(n, p)

    fit = only(fit_profile([dataset(allreduce(cost, (4, 8, 16, 32)))]))
    assert {s.from_ranks for s in fit.segments} == {0.0, 16.0}
    assert any("switches at 16 ranks" in w for w in fit.warnings)


def test_intervals_widen_outside_what_was_measured() -> None:
    e = Estimator(fit_profile([dataset(allreduce(rabenseifner, (2, 4, 8), noise=0.05))]))
    widths = [
        (x.high_s - x.low_s) / x.time_s for x in (e.message_time("allreduce", 2048, p) for p in (6, 16, 64, 1024))
    ]
    assert widths == sorted(widths)
    assert widths[0] < 0.9 * widths[-1]
    far = e.message_time("allreduce", 1 << 30, 6)
    assert far.extrapolated
    assert (far.high_s - far.low_s) / far.time_s > widths[0]


def test_one_rank_count_still_answers_for_sixteen_nodes() -> None:
    points = [*allreduce(rabenseifner, (2,)), measured("barrier", 4e-6, ranks=2)]
    e = Estimator(fit_profile([dataset(points)]))
    estimate = allreduce_time(e, 1 << 20, 16, "fp32")
    assert rabenseifner(1 << 20, 2) < estimate.time_s < 16 * rabenseifner(1 << 20, 2)
    assert estimate.low_s < rabenseifner(1 << 20, 16) < estimate.high_s
    assert estimate.high_s > 1.9 * estimate.time_s
    assert "ranks 16 is outside 2..2" in estimate.extrapolated
    skew = nearest_time(e, "barrier", 0, 16, {})
    assert skew.time_s == pytest.approx(4 * 4e-6)
    assert skew.extrapolated


@pytest.mark.parametrize("benchmark", ["all_to_one", "one_to_all"])
def test_the_knee_of_an_incast_is_found(benchmark: str) -> None:
    peers = "senders" if benchmark == "all_to_one" else "receivers"

    def cost(n: int, k: int) -> float:
        return 2e-6 * k + max(8e-10 * n, 2e-10 * k * n)

    points = [
        measured(benchmark, cost(n, k), ranks=k + 1, size_bytes=n, **{peers: k})
        for k in (1, 2, 3, 5, 8, 12)
        for n in (1 << 10, 1 << 14, 1 << 18, 1 << 22)
    ]
    profile = fit_profile([dataset(points)])
    (fit,) = (f for f in profile.fits if "ranks" not in f.fixed)
    assert any("the receiver is the limit from 4.0 senders on" in w for w in fit.warnings)
    for k in (1, 2, 4, 10, 24):
        estimate = Estimator(profile).message_time(benchmark, 1 << 22, k + 1, **{peers: k})
        assert estimate.time_s == pytest.approx(cost(1 << 22, k), rel=0.02)


def test_quantiles_of_single_operations_are_kept() -> None:
    rng = np.random.default_rng(3)
    points = []
    for i in range(6, 20):
        time_s = 1e-6 + 1e-9 * 2**i
        samples = time_s * np.exp(0.2 * rng.standard_normal(3000))
        points.append(measured("pingpong", float(np.median(samples)), ranks=2, size_bytes=2**i, samples=samples))
    found = Estimator(fit_profile([dataset(points)])).message_time("pingpong", 4096, 2)
    assert list(found.quantiles_s) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    assert found.quantiles_s["0.95"] / found.time_s == pytest.approx(math.exp(0.2 * 1.6449), rel=0.03)
    assert found.quantiles_s["0.5"] == pytest.approx(found.time_s)


def test_maps_survive_the_disk(tmp_path: Path) -> None:
    profile = fit_profile([dataset(allreduce(rabenseifner, (2, 4, 8), noise=0.02))])
    save_profile(profile, tmp_path / "p.json")
    assert load_profile(tmp_path / "p.json").fits == profile.fits
