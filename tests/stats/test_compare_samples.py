"""Comparison: verdicts on simulated pairs, the arithmetic against scipy, honesty with little data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sprintprof.stats.compare import assumed_launch_sd, compare_samples, summarize
from sprintprof.stats.pool import compare_points


def normal(rng: np.random.Generator, n: int = 30, cv: float = 0.02) -> np.ndarray:
    return 1e-3 * (1 + cv * rng.normal(size=n))


def test_u15_same_code_at_low_noise_is_not_judged() -> None:
    """nvbench#316: 1.478 and 1.465 ms at 0.11 % noise, 3 runs each, were judged SLOW/FAST."""
    rng = np.random.default_rng(1)
    three = [1.478 * (1 + 0.0011 * rng.normal(size=3)), 1.465 * (1 + 0.0011 * rng.normal(size=3))]
    assert compare_samples(*three).word == "not enough data"
    runs = [[level * (1 + 0.0011 * rng.normal(size=10)) for _ in range(3)] for level in (1.478, 1.465)]
    verdict = compare_samples(*runs)
    assert (verdict.word, verdict.basis) == ("same", "launches")
    assert verdict.ratio == pytest.approx(1.465 / 1.478, rel=2e-3)


def test_thirty_samples_at_two_percent_noise() -> None:
    rng = np.random.default_rng(2)
    same = [compare_samples(normal(rng), normal(rng)).word for _ in range(150)]
    slower = [compare_samples(normal(rng), 1.05 * normal(rng)).word for _ in range(150)]
    faster = [compare_samples(1.05 * normal(rng), normal(rng)).word for _ in range(50)]
    assert same.count("same") >= 143
    assert slower.count("slower") >= 140
    assert "faster" not in slower
    assert faster.count("faster") >= 45


def test_differences_under_the_margin_are_never_called() -> None:
    rng = np.random.default_rng(3)
    words = [compare_samples(normal(rng, 2000, 0.01), 1.02 * normal(rng, 2000, 0.01)).word for _ in range(10)]
    assert set(words) == {"same"}


def test_single_launch_is_yuens_test_on_logs() -> None:
    rng = np.random.default_rng(4)
    checked = 0
    for _ in range(20):
        a, b = rng.lognormal(0, 0.02, 30), rng.lognormal(0.01, 0.02, 25)
        verdict = compare_samples(a, b, launch_sd=0.0)
        if summarize(a).df != 17 or summarize(b).df != 14:  # autocorrelation by chance: wider than Yuen's
            continue
        yuen = stats.ttest_ind(np.log(b), np.log(a), trim=0.2, equal_var=False).confidence_interval()
        assert (math.log(verdict.low), math.log(verdict.high)) == pytest.approx((yuen.low, yuen.high), rel=1e-4)
        checked += 1
    assert checked >= 10


def test_several_launches_are_welchs_test_on_launch_medians() -> None:
    rng = np.random.default_rng(5)
    a, b = ([normal(rng, 20) * np.exp(0.03 * rng.normal()) for _ in range(k)] for k in (5, 7))
    verdict = compare_samples(a, b)
    medians = [[float(np.log(np.median(launch))) for launch in side] for side in (a, b)]
    welch = stats.ttest_ind(medians[1], medians[0], equal_var=False).confidence_interval()
    assert (math.log(verdict.low), math.log(verdict.high)) == pytest.approx((welch.low, welch.high), rel=1e-4)


def test_launches_that_differ_are_not_taken_for_a_change() -> None:
    """2,000 samples in 5 launches that scatter by 4 %: over samples nearly every pair would be judged."""
    rng = np.random.default_rng(6)
    words = []
    for _ in range(60):
        a, b = ([normal(rng, 200) * np.exp(0.04 * rng.normal()) for _ in range(5)] for _ in range(2))
        words.append(compare_samples(a, b).word)
    assert words.count("faster") + words.count("slower") <= 3


def test_one_launch_beside_several_takes_their_scatter() -> None:
    rng = np.random.default_rng(7)
    many = [normal(rng, 30, 0.005) * factor for factor in (0.92, 0.97, 1.0, 1.03, 1.09)]
    one = 1.06 * normal(rng, 30, 0.005)
    verdict = compare_samples(many, one)
    assert verdict.word == "not enough data"
    assert verdict.remedy == "measure more launches on both sides"
    assert compare_samples(many[2], one).word == "slower"


def test_autocorrelated_samples_are_worth_less() -> None:
    rng = np.random.default_rng(8)

    def walk() -> np.ndarray:
        noise = rng.normal(size=230)
        for i in range(1, 230):
            noise[i] = 0.8 * noise[i - 1] + 0.6 * noise[i]
        return np.exp(0.03 * noise[200:])

    words = [compare_samples(walk(), walk()).word for _ in range(200)]
    assert words.count("faster") + words.count("slower") <= 10


def test_a_noisy_single_launch_asks_for_launches() -> None:
    rng = np.random.default_rng(9)
    verdict = compare_samples(normal(rng, 100, 0.12), 1.2 * normal(rng, 100, 0.12))
    assert verdict.word == "not enough data"
    assert "--launches" in verdict.remedy
    assert assumed_launch_sd(0.02) == 0
    assert compare_samples(normal(rng, 100, 0.12), 3 * normal(rng, 100, 0.12)).word == "slower"


def test_too_little_and_unfit_data() -> None:
    assert compare_samples([1.0] * 5, [2.0] * 30).word == "not enough data"
    assert compare_samples([], [1.0]).basis == "none"
    assert compare_samples([1.0] * 6, [1.0] * 6).word == "same"
    assert compare_samples([1.0] * 6, [1.1] * 6).word == "slower"
    with pytest.raises(ValueError, match="positive"):
        compare_samples([1.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


def test_a_few_changed_points_are_found_among_many_that_are_the_same() -> None:
    rng = np.random.default_rng(10)
    factors = np.ones(60)
    factors[:3] = 1.1
    verdicts, scatter = compare_points([(normal(rng), f * normal(rng)) for f in factors])
    words = [v.word for v in verdicts]
    assert words[:3] == ["slower"] * 3
    assert words[3:].count("same") >= 55
    assert scatter.points == 60
    assert scatter.scatter < 0.5


def test_a_change_that_all_points_share_is_found() -> None:
    rng = np.random.default_rng(11)
    verdicts, _ = compare_points([(normal(rng), 1.05 * normal(rng)) for _ in range(60)])
    assert sum(v.word == "slower" for v in verdicts) >= 55


def test_two_runs_on_a_busy_machine_are_not_judged() -> None:
    """Load that outlasts a point: 10 % within a point, 15 % and heavy tails between runs, one launch a side."""
    rng = np.random.default_rng(12)
    false = 0
    for _ in range(10):
        shifts = 0.1 * rng.standard_t(3, (60, 2))
        pairs = [(normal(rng, 20, 0.1) * np.exp(s), normal(rng, 20, 0.1) * np.exp(t)) for s, t in shifts]
        false += sum(v.word in ("faster", "slower") for v in compare_points(pairs)[0])
    assert false <= 30  # 5 %


def test_two_quiet_machines_with_different_points_are_judged() -> None:
    rng = np.random.default_rng(13)
    ratios = np.exp(rng.normal(-0.5, 0.4, 60))
    verdicts, _ = compare_points([(normal(rng, 30, 0.005), r * normal(rng, 30, 0.005)) for r in ratios])
    clear = [v for v, r in zip(verdicts, ratios, strict=True) if abs(math.log(r)) > 0.2]
    assert len(clear) >= 35
    assert all(v.word == ("slower" if v.ratio > 1 else "faster") for v in clear)
