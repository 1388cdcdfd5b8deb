"""Renewal counting against exact cases and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sprintprof.model.counting import counts_over
from sprintprof.model.jitter import Gamma, Samples, jitter
from sprintprof.model.renewal import (
    SERIES_SKEWNESS,
    _edgeworth_shortfalls,
    _lattice_shortfalls,
    conditional_counts,
    shortfalls,
    surplus_sum,
)


def test_exponential_cycles_count_as_a_poisson_process() -> None:
    y = np.array([0.3, 1.0, 4.0, 9.0])
    counts = conditional_counts(Gamma(1.0, 1.0), y)
    k = counts.first + np.arange(counts.pmf.shape[1])
    for row, length in zip(counts.pmf, y, strict=True):
        # the lattice widens the exponential's variance by 0.07 %
        np.testing.assert_allclose(row, stats.poisson(length).pmf(k), atol=2e-3)
        assert row @ k == pytest.approx(length, abs=1e-8)


def test_constant_cycles_count_by_hand() -> None:
    counts = conditional_counts(jitter(1.0, 0.0), np.array([0.25, 1.0, 2.75]))
    k = counts.first + np.arange(counts.pmf.shape[1])
    table = [{int(n): p for n, p in zip(k, row, strict=True) if p > 0} for row in counts.pmf]
    assert table == [{0: 0.75, 1: 0.25}, {1: 1.0}, {2: 0.25, 3: 0.75}]


def test_two_valued_cycles_count_by_hand() -> None:
    # X is 1 or 3; seen at random, P(N ≥ 1 in 1) = ∫₀¹ P(X > x) dx / 2 = 1/2;
    # P(N ≥ 2 in 2) = (E(2 − X)^+ − E(2 − S_2)^+)/2 = (1/2 − 0)/2
    counts = conditional_counts(Samples([1.0, 3.0]), np.array([1.0, 2.0]))
    at_least = np.cumsum(counts.pmf[:, ::-1], axis=1)[:, ::-1]
    assert at_least[0, 1 - counts.first] == pytest.approx(0.5, abs=2e-3)
    assert at_least[1, 2 - counts.first] == pytest.approx(0.25, abs=2e-3)


@given(st.floats(0.01, 0.8), st.floats(0.05, 30), st.sampled_from(["normal", "gamma", "lognormal"]))
@settings(max_examples=50, deadline=None)
def test_counts_are_distributions_with_the_exact_mean(cv: float, length: float, kind: str) -> None:
    counts = conditional_counts(jitter(1.0, cv, kind), np.array([length]))  # type: ignore[arg-type]
    assert counts.pmf.min() >= 0
    assert counts.pmf.sum() == pytest.approx(1.0, abs=1e-9)
    assert counts.cumulants()[0][0] == pytest.approx(length, rel=1e-4)


@pytest.mark.parametrize("kind", ["normal", "gamma", "lognormal"])
@pytest.mark.parametrize("cv", [0.01, 0.3, 0.6])
def test_sums_by_lattice_and_by_series_meet(kind: str, cv: float) -> None:
    cycle = jitter(1.0, cv, kind)  # type: ignore[arg-type]
    n = math.ceil(max(24.0, (cycle.skewness / SERIES_SKEWNESS) ** 2)) + 1
    y = n + cv * math.sqrt(n) * np.linspace(-4, 5, 41)
    exact, series = (form(cycle, np.array([n]), y)[0] for form in (_lattice_shortfalls, _edgeworth_shortfalls))
    np.testing.assert_allclose(series, exact, atol=2e-3 * cv * math.sqrt(n))


def test_gamma_sums_are_gamma() -> None:
    n, cv = 40, 0.5
    y = np.linspace(25, 60, 15)
    known = Gamma(40.0, 40 * cv / math.sqrt(n)).shortfall(y)
    np.testing.assert_allclose(shortfalls(Gamma(1.0, cv), np.array([n]), y)[0], known, atol=2e-3)


@pytest.mark.parametrize(
    ("interval", "cycle"),
    [((0.37, 0.03), (1.0, 0.03)), ((0.37, 0.2), (1.0, 0.1)), ((5.0, 0.1), (1.0, 0.3)), ((20.0, 0.3), (1.0, 0.05))],
)
def test_moments_without_a_pmf_agree_with_the_pmf(interval: tuple[float, float], cycle: tuple[float, float]) -> None:
    y, x = jitter(*interval), jitter(*cycle)
    whole = counts_over(y, [(1, x)])
    numbers = [np.array(v) for v in (y.mean_s, y.std_s, x.mean_s, x.std_s)]
    rho = y.mean_s / x.mean_s
    variance = rho + 2 * float(surplus_sum(*numbers)) / x.mean_s - rho**2
    assert whole.mean == pytest.approx(rho, abs=1e-12)
    assert whole.std**2 == pytest.approx(variance, rel=5e-3)


@pytest.mark.parametrize("number", [1, 3, 40, 700, 5000])
@pytest.mark.parametrize("rho", [0.02, 0.6, 1.0, 4.3])
def test_sums_over_many_processes_keep_mean_and_variance(number: int, rho: float) -> None:
    whole = counts_over(jitter(rho, 0.15), [(number, jitter(1.0, 0.08))])
    values = whole.first + np.arange(len(whole.probabilities))
    mean = float(whole.probabilities @ values)
    variance = float(whole.probabilities @ (values - mean) ** 2)
    assert whole.probabilities.sum() == pytest.approx(1.0)
    assert mean == pytest.approx(whole.mean, rel=2e-4)
    assert variance == pytest.approx(whole.std**2, rel=5e-3)


def test_independent_poisson_processes_add_up_to_a_poisson_process() -> None:
    whole = counts_over(jitter(0.8, 0.0), [(30, Gamma(1.0, 1.0)), (20, Gamma(2.0, 2.0))])
    known = stats.poisson(0.8 * (30 + 10))
    np.testing.assert_allclose(
        whole.probabilities, known.pmf(whole.first + np.arange(len(whole.probabilities))), atol=2e-4
    )
