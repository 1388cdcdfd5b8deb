"""Dependence, many tests at once, effect size, outliers: against scipy, closed forms and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, mannwhitneyu, rankdata

from sprintprof.stats.dependence import inefficiency, mean_ranks, rank_autocorrelation
from sprintprof.stats.effect import effect_size
from sprintprof.stats.multiple import benjamini_hochberg
from sprintprof.stats.outliers import mark_outliers

POSITIVE = st.floats(1e-6, 1e6)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=50)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_mean_ranks_are_scipys(values: list[int]) -> None:
    assert mean_ranks(np.array(values, float)) == pytest.approx(rankdata(values))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_inefficiency_of_an_autoregressive_series_is_its_closed_form(phi: float) -> None:
    rng = np.random.default_rng(2)
    series = rng.normal(size=6_000)
    for i in range(1, len(series)):
        series[i] += phi * series[i - 1]
    assert inefficiency(series) == pytest.approx((1 + phi) / (1 - phi), rel=0.2)


def test_short_independent_series_keep_most_of_their_worth() -> None:
    rng = np.random.default_rng(3)
    costs = [inefficiency(rng.lognormal(size=30)) for _ in range(300)]
    assert np.median(costs) == 1
    assert np.mean(costs) < 1.2
    assert inefficiency([1, 2, 3, 4, 5]) == 1
    assert inefficiency(np.ones(30)) == 1
    assert rank_autocorrelation([1.0, 2.0], 1).tolist() == [1, 0]


@settings(deadline=None)
@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))


def test_benjamini_hochberg_by_hand_and_untested_stay_untested() -> None:
    assert benjamini_hochberg([0.01, math.nan, 0.04]) == pytest.approx([0.02, math.nan, 0.04], nan_ok=True)


@settings(deadline=None)
@given(st.lists(POSITIVE, min_size=1, max_size=30), st.lists(POSITIVE, min_size=1, max_size=30))
def test_superiority_is_mann_whitneys_u_over_pairs(a: list[float], b: list[float]) -> None:
    effect = effect_size(a, b)
    assert effect.superiority == pytest.approx(mannwhitneyu(b, a).statistic / len(a) / len(b))
    assert effect.cliff_delta == pytest.approx(2 * effect.superiority - 1)
    assert effect.ratio == pytest.approx(np.exp(np.median(np.subtract.outer(np.log(b), np.log(a)))))


def test_effect_sizes_in_words() -> None:
    assert effect_size([1, 2, 3], [1, 2, 3]).size == "negligible"
    assert effect_size([1, 2, 3], [4, 5, 6]).size == "large"
    assert effect_size(np.arange(1, 3001), 2 * np.arange(1, 2501)).ratio == pytest.approx(5 / 3, rel=0.05)
    with pytest.raises(ValueError, match="both sides"):
        effect_size([], [1])


def test_outliers_are_marked_on_both_sides_and_none_is_lost() -> None:
    rng = np.random.default_rng(4)
    samples = np.exp(rng.normal(0, 0.01, 100))
    samples[[7, 50]] = 2.0, 0.5
    marks = mark_outliers(samples)
    assert np.flatnonzero(marks.mask).tolist() == [7, 50]
    assert (marks.count, marks.share, len(marks.mask)) == (2, 0.02, 100)
    assert marks.low_s < samples.min() + 0.5
    assert marks.high_s < 1.1


def test_a_long_tail_and_clock_ticks_are_hardly_marked() -> None:
    rng = np.random.default_rng(5)
    assert mark_outliers(np.exp(rng.normal(0, 0.5, 2000))).share < 0.01
    assert mark_outliers(1 + rng.gamma(2, 0.05, 2000)).share < 0.05
    assert mark_outliers([1.0] * 20 + [1.001]).count == 0
    assert mark_outliers([1, 1, 1, 1, 9]).count == 0
