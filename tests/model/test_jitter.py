"""Cycle-time distributions against scipy.stats and their own draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sprintprof.model.jitter import CUT, Constant, CutNormal, Jitter, Samples, jitter, parse_cycle
from sprintprof.records import InputError


def reference(made: Jitter, kind: str) -> stats.rv_continuous:
    if kind == "gamma":
        return stats.gamma(1 / made.cv**2, scale=made.mean_s * made.cv**2)
    if kind == "lognormal":
        sigma = np.sqrt(np.log1p(made.cv**2))
        return stats.lognorm(sigma, scale=made.mean_s / np.exp(sigma**2 / 2))
    assert isinstance(made, CutNormal)
    return stats.truncnorm((made.floor_s - made.mu) / made.sigma, np.inf, made.mu, made.sigma)


@pytest.mark.parametrize("kind", ["normal", "gamma", "lognormal"])
@pytest.mark.parametrize("cv", [0.005, 0.1, 0.3, 0.6])
def test_moments_cdf_quantile_and_shortfall_agree_with_scipy(kind: str, cv: float) -> None:
    made = jitter(2.5, cv, kind)  # type: ignore[arg-type]
    known = reference(made, kind)
    mean, variance, skewness, excess = known.stats(moments="mvsk")
    assert mean == pytest.approx(2.5, rel=1e-9)
    assert variance == pytest.approx((2.5 * cv) ** 2, rel=1e-8)
    assert made.skewness == pytest.approx(float(skewness), rel=1e-4, abs=1e-6)
    assert made.excess == pytest.approx(float(excess), rel=1e-3, abs=1e-4)
    u = np.array([0.001, 0.1, 0.5, 0.9, 0.999])
    x = known.ppf(u)
    np.testing.assert_allclose(made.cdf(x), u, atol=1e-10)
    np.testing.assert_allclose(made.quantile(u), x, rtol=1e-8)
    for value in x:
        area = integrate.quad(known.cdf, known.ppf(1e-14), value, epsabs=1e-12, limit=200)[0]
        assert made.shortfall(np.array([value]))[0] == pytest.approx(area, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", ["normal", "gamma", "lognormal"])
@pytest.mark.parametrize("cv", [0.03, 0.5, 0.85])
def test_draws_have_the_mean_and_cv_asked_for(kind: str, cv: float) -> None:
    made = jitter(1.0, cv, kind)  # type: ignore[arg-type]
    draws = made.sample(np.random.default_rng(1), 400_000)
    assert draws.mean() == pytest.approx(1.0, abs=6 * cv / 632)
    assert draws.std() == pytest.approx(cv, rel=0.02)
    assert draws.min() > 0
    if kind == "normal":
        assert draws.min() >= CUT


def test_residual_is_that_of_a_stationary_process() -> None:
    made = jitter(1.0, 0.4, "gamma")
    draws = made.residual(np.random.default_rng(2), 200_000)
    # E[R] = E[X²]/2E[X], E[R²] = E[X³]/3E[X]
    assert draws.mean() == pytest.approx((1 + 0.4**2) / 2, rel=0.01)
    third = stats.gamma(1 / 0.16, scale=0.16).moment(3)
    assert np.mean(draws**2) == pytest.approx(third / 3, rel=0.015)


def test_samples_are_what_they_are() -> None:
    made = Samples([3.0, 1.0, 2.0, 2.0])
    assert (made.mean_s, made.std_s) == (2.0, pytest.approx(np.sqrt(0.5)))
    np.testing.assert_allclose(made.cdf(np.array([0.5, 1.0, 2.5, 9.0])), [0, 0.25, 0.75, 1])
    np.testing.assert_allclose(made.shortfall(np.array([1.0, 2.0, 4.0])), [0, 0.25, 2.0])
    assert set(made.sample(np.random.default_rng(0), 50)) == {1.0, 2.0, 3.0}


@given(st.floats(1e-6, 1e4), st.floats(0, 0.9), st.floats(0.1, 10))
@settings(max_examples=60, deadline=None)
def test_scaling_scales_everything(mean: float, cv: float, factor: float) -> None:
    made = jitter(mean, cv)
    scaled = made.scaled(factor)
    assert scaled.mean_s == pytest.approx(mean * factor)
    assert scaled.std_s == pytest.approx(made.std_s * factor)
    x = np.linspace(0.5, 1.5, 5) * mean
    np.testing.assert_allclose(scaled.shortfall(x * factor), made.shortfall(x) * factor, rtol=1e-9, atol=1e-12 * mean)


@pytest.mark.parametrize("text", ["", "abc", "1:2:3", "-1:0.1", "0", "1:-0.1", "nan:0.1", "1:0.95", "inf"])
def test_what_is_no_cycle_is_refused_by_the_options_name(text: str) -> None:
    with pytest.raises(InputError, match="--gpu-cycle"):
        parse_cycle(text, "--gpu-cycle")


def test_no_jitter_is_a_constant() -> None:
    assert parse_cycle("0.37", "--update-cycle") == Constant(0.37)
