"""Drift: found where it is, not where samples merely hang together or are few."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import kendalltau, theilslopes

from sprintprof.stats.drift import Drift, find_drift, level_shift, runs_p, trend


def autoregressive(rng: np.random.Generator, n: int, phi: float, cv: float) -> np.ndarray:
    noise = rng.normal(size=n + 50)
    for i in range(1, n + 50):
        noise[i] = phi * noise[i - 1] + math.sqrt(1 - phi**2) * noise[i]
    return np.exp(cv * noise[50:])


def share(kinds: list[Drift], kind: str) -> float:
    return sum(d.kind == kind for d in kinds) / len(kinds)


@pytest.mark.parametrize(("n", "phi", "limit"), [(8, 0, 0.02), (30, 0, 0.02), (30, 0.5, 0.06), (100, 0.6, 0.05)])
def test_autocorrelated_samples_are_no_drift(n: int, phi: float, limit: float) -> None:
    rng = np.random.default_rng(n)
    found = [find_drift(autoregressive(rng, n, phi, 0.05)) for _ in range(200)]
    assert 1 - share(found, "none") <= limit


def test_tails_and_modes_in_random_order_are_no_drift() -> None:
    rng = np.random.default_rng(3)
    series = [np.exp(rng.normal(0, 0.3, 60)) for _ in range(60)]
    series += [1 + 0.05 * rng.pareto(2, 60) for _ in range(60)]
    series += [np.where(rng.random(60) < 0.3, 1.3, 1.0) * np.exp(rng.normal(0, 0.01, 60)) for _ in range(60)]
    series += [np.round(1 + rng.gamma(2, 0.05, 60), 1) for _ in range(60)]
    assert share([find_drift(s) for s in series], "none") >= 0.98


def test_trend_step_and_burst_are_told_apart() -> None:
    rng = np.random.default_rng(4)
    place = np.arange(40)
    noise = [np.exp(rng.normal(0, 0.01, 40)) for _ in range(50)]
    rising = [find_drift(x * (1 + 0.1 * place / 39)) for x in noise]
    stepped = [find_drift(x * np.where(place >= 26, 1.1, 1.0)) for x in noise]
    burst = [find_drift(x * np.where((place >= 10) & (place < 18), 1.3, 1.0)) for x in noise]
    assert share(rising, "sustained") == 1
    assert np.median([d.change for d in rising]) == pytest.approx(0.1, abs=0.01)
    assert share(stepped, "sustained") >= 0.95
    assert np.median([d.change for d in stepped]) == pytest.approx(0.1, abs=0.01)
    assert {(d.kind, d.first, d.last) for d in burst} == {("burst", 10, 17)}
    assert np.median([d.change for d in burst]) == pytest.approx(0.3, abs=0.02)


def test_slow_start_that_settles_is_sustained_and_falling() -> None:
    samples = np.r_[np.full(6, 1.5), np.full(24, 1.0)] * (1 + 1e-3 * np.tile([0, 1, 2], 10))
    drift = find_drift(samples)
    assert (drift.kind, drift.first, drift.last) == ("sustained", 0, 5)
    assert drift.change == pytest.approx(-1 / 3, abs=0.01)


def test_few_samples_and_small_changes_are_no_drift() -> None:
    assert find_drift([1, 2, 3, 4, 5, 6, 7]) == Drift("none", enough=False)
    assert find_drift(1 + 0.01 * np.arange(100) / 99).kind == "none"
    assert find_drift(np.ones(50)).kind == "none"


def test_trend_is_mann_kendall_and_theil_sen() -> None:
    """Without autocorrelation the p-value is Kendall's (normal form), the slope scipy's."""
    rng = np.random.default_rng(6)
    checked = 0
    for _ in range(20):
        y = rng.normal(size=25)
        slope, p = trend(y)
        assert slope == pytest.approx(theilslopes(y).slope)
        n = 25
        score = kendalltau(np.arange(n), y).statistic * n * (n - 1) / 2
        by_hand = math.erfc(max(abs(score) - 1, 0) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18) / math.sqrt(2))
        assert p >= by_hand - 1e-12  # the inflation only makes it more careful
        checked += p == pytest.approx(by_hand)
    assert checked >= 10


def test_long_series_are_thinned_and_keep_their_slope() -> None:
    rng = np.random.default_rng(7)
    slope, p = trend(1e-4 * np.arange(5000) + rng.normal(0, 0.01, 5000))
    assert slope == pytest.approx(1e-4, rel=0.02)
    assert p < 1e-6


def test_level_shift_names_the_place() -> None:
    at, step, p = level_shift([1.0] * 12 + [2.0] * 8)
    assert (at, step) == (12, 1.0)
    assert p < 0.01


@pytest.mark.parametrize("marks", ["110", "1110000", "0110100", "1010101"])
def test_runs_p_by_enumeration(marks: str) -> None:
    given = [c == "1" for c in marks]

    def runs(flags: list[bool]) -> int:
        return 1 + sum(a != b for a, b in pairwise(flags))

    n, ones = len(given), sum(given)
    orders = [[i in chosen for i in range(n)] for chosen in combinations(range(n), ones)]
    assert runs_p(given) == pytest.approx(np.mean([runs(o) <= runs(given) for o in orders]))
