"""The interval of the median against the binomial distribution and against its promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from sprintprof.stats.median import median_interval, median_interval_rank, quantiles, relative_half_width


@settings(deadline=None)
@given(st.integers(1, 3000), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_rank_is_the_greatest_whose_binomial_coverage_suffices(n: int, confidence: float) -> None:
    rank = median_interval_rank(n, confidence)
    coverage = 1 - 2 * binom.cdf(rank - 1, n, 0.5)
    assert rank == 0 or coverage >= confidence - 1e-9
    if rank + 1 <= (n + 1) // 2:
        assert 1 - 2 * binom.cdf(rank, n, 0.5) < confidence + 1e-9


@pytest.mark.parametrize(("n", "rank"), [(5, 0), (6, 1), (8, 1), (9, 2), (20, 6), (30, 10), (100, 40)])
def test_ranks_of_the_published_table(n: int, rank: int) -> None:
    """Conover, Practical Nonparametric Statistics: 95 % two-sided ranks for the median."""
    assert median_interval_rank(n) == rank


def test_too_few_samples_have_no_interval() -> None:
    for n in range(6):
        assert all(math.isnan(x) for x in median_interval(np.arange(n)))
        assert relative_half_width(np.arange(1, n + 1)) == math.inf
    assert median_interval([6, 1, 5, 2, 4, 3]) == (1, 6)
    assert all(math.isnan(x) for x in median_interval([1, 2, 3, 4, 5, 6, math.nan]))


def test_the_true_median_of_log_normal_samples_is_covered_as_promised() -> None:
    rng = np.random.default_rng(1)
    data = np.exp(rng.normal(0, 0.5, (4000, 25)))
    inside = sum(low <= 1.0 <= high for low, high in map(median_interval, data))
    assert 0.945 <= inside / 4000 <= 0.975  # 25 samples: 95.7 % by the binomial distribution


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e9), min_size=6, max_size=60), st.floats(1e-3, 1e3))
def test_interval_holds_the_median_and_scales_with_the_unit(values: list[float], factor: float) -> None:
    low, high = median_interval(values)
    assert low <= np.median(values) <= high
    assert median_interval(np.array(values) * factor) == pytest.approx((low * factor, high * factor))


def test_quantiles_are_type_7_and_nan_without_samples() -> None:
    assert quantiles([1, 2, 3, 4], [0, 0.25, 0.5, 1]) == pytest.approx([1, 1.75, 2.5, 4])
    assert np.isnan(quantiles([])).all()


def test_relative_half_width_by_hand() -> None:
    assert relative_half_width([9, 10, 10, 10, 10, 11]) == pytest.approx(0.1)
