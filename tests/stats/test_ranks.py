"""Ranks before pooling: ANOVA or Kruskal–Wallis, and stragglers (case U32)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sprintprof.stats.ranks import compare_ranks, stragglers


def test_u32_one_slow_rank_is_the_headline_and_is_named() -> None:
    result = compare_ranks(1e-6 * np.array([[11.0, 12, 11, 95]]))
    assert result.headline_s == pytest.approx(95e-6)
    assert result.stragglers == (3,)
    assert result.min_median_max_s == pytest.approx((11e-6, 11.5e-6, 95e-6))
    assert not result.poolable


def test_normal_ranks_get_anova_and_skewed_ones_kruskal_wallis() -> None:
    rng = np.random.default_rng(1)
    normal = np.exp(rng.normal(0, 0.02, (40, 4)))
    result = compare_ranks(normal)
    assert result.test == "anova"
    assert result.p == pytest.approx(stats.f_oneway(*np.log(normal).T).pvalue)
    skewed = 1 + rng.exponential(0.5, (40, 4)) ** 2
    result = compare_ranks(skewed)
    assert result.test == "kruskal-wallis"
    assert result.p == pytest.approx(stats.kruskal(*np.log(skewed).T).pvalue)


def test_ranks_of_one_distribution_are_pooled_and_others_are_not() -> None:
    rng = np.random.default_rng(2)
    pooled = [compare_ranks(np.exp(rng.normal(0, 0.05, (30, 4)))).poolable for _ in range(50)]
    assert np.mean(pooled) >= 0.97
    factors = np.array([1.0, 1.0, 1.0, 1.1])
    apart = [compare_ranks(factors * np.exp(rng.normal(0, 0.03, (30, 4)))).poolable for _ in range(20)]
    assert not any(apart)
    tiny = compare_ranks(np.array([1.0, 1.0, 1.0, 1.01]) * np.exp(rng.normal(0, 1e-4, (30, 4))))
    assert tiny.p < 1e-6
    assert tiny.poolable  # significant and irrelevant


def test_noise_and_two_ranks_make_no_straggler() -> None:
    rng = np.random.default_rng(3)
    assert sum(bool(stragglers(np.exp(rng.normal(0, 0.1, (20, 8))))) for _ in range(200)) <= 4
    assert stragglers([[1.0, 5.0]]) == ()


def test_edges() -> None:
    assert compare_ranks([[1.0], [2.0]]).test == "none"
    assert compare_ranks(np.ones((10, 4))).poolable
    with pytest.raises(ValueError, match="shape"):
        compare_ranks([1.0, 2.0])
    with pytest.raises(ValueError, match="positive"):
        compare_ranks([[1.0, 0.0]])
