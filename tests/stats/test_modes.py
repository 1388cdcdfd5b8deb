"""Several modes: the dip against a linear program, false alarms on one-mode data, finds on bimodal data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sprintprof.stats.dip import CRITICAL, dip, dip_significant, spread_ties
from sprintprof.stats.modes import best_cut, find_modes


def dip_by_linear_program(x: np.ndarray) -> float:
    """Least sup distance of the distribution function of distinct samples from a convex-then-concave one."""
    x = np.sort(x)
    n = len(x)
    above, below = np.arange(1, n + 1) / n, np.arange(n) / n
    best = 1.0
    for mode in range(n):
        left, right = mode + 1, n - mode
        size = left + right + 1
        rows: list[np.ndarray] = []
        bounds: list[float] = []

        def at_most(terms: dict[int, float], bound: float, size=size, rows=rows, bounds=bounds) -> None:
            row = np.zeros(size)
            for column, factor in terms.items():
                row[column] = factor
            rows.append(row)
            bounds.append(bound)

        def near(column: int, value: float, size=size, at_most=at_most) -> None:
            at_most({column: 1, size - 1: -1}, value)
            at_most({column: -1, size - 1: -1}, -value)

        for i in range(left):
            near(i, below[i])
            if i < mode:
                near(i, above[i])
        for j in range(right):
            near(left + j, above[mode + j])
            if j:
                near(left + j, below[mode + j])
        for i in range(left + right - 1):
            at_most({i: 1, i + 1: -1}, 0)
        for i in range(1, left - 1):
            a, b = x[i] - x[i - 1], x[i + 1] - x[i]
            at_most({i - 1: -1 / a, i: 1 / a + 1 / b, i + 1: -1 / b}, 0)
        for j in range(1, right - 1):
            a, b = x[mode + j] - x[mode + j - 1], x[mode + j + 1] - x[mode + j]
            at_most({left + j - 1: 1 / a, left + j: -1 / a - 1 / b, left + j + 1: 1 / b}, 0)
        cost = np.r_[np.zeros(size - 1), 1.0]
        done = linprog(cost, A_ub=np.array(rows), b_ub=bounds, bounds=[(None, None)] * size)
        best = min(best, done.fun)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_dip_is_the_distance_to_the_nearest_one_mode_distribution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    x = rng.normal(size=n) if seed % 2 else np.r_[rng.normal(0, 0.3, n // 2), rng.normal(4, 0.3, n - n // 2)]
    assert dip(x) == pytest.approx(dip_by_linear_program(x), abs=1e-8)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=2, max_size=60))
def test_dip_stays_in_its_bounds_and_ignores_shift_and_mirror(values: list[float]) -> None:
    x = np.unique(values)
    found = dip(x)
    assert found <= 0.25 + 1e-12
    assert len(x) < 2 or found >= 0.5 / len(x) - 1e-12
    assert dip(-x) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("n", [10, 30])
def test_critical_values_are_the_one_percent_points_of_the_uniform(n: int) -> None:
    rng = np.random.default_rng(n)
    over = np.mean([np.sqrt(n) * dip(rng.random(n)) > CRITICAL[n] for _ in range(1000)])
    assert 0.002 <= over <= 0.022


def test_ticks_of_a_clock_are_no_modes() -> None:
    assert np.diff(spread_ties([1, 1, 2, 2, 3, 3])) == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    assert not any(dip_significant(np.round(rng.gamma(2, 0.05, 100), 1)) for _ in range(100))


ONE_MODE = {
    "log-normal": lambda rng, n: np.exp(rng.normal(0, 0.6, n)),
    "Pareto": lambda rng, n: 1 + 0.1 * rng.pareto(1.2, n),
    "Cauchy": lambda rng, n: 1 + 0.02 * abs(rng.standard_cauchy(n)),
    "exponential": lambda rng, n: 1 + rng.exponential(0.1, n),
    "uniform": lambda rng, n: rng.uniform(1, 1.5, n),
    "ticks": lambda rng, n: np.round(1 + rng.gamma(2, 0.05, n), 1),
}


@pytest.mark.parametrize("name", ONE_MODE)
def test_one_mode_with_any_tail_is_one_mode(name: str) -> None:
    rng = np.random.default_rng(5)
    alarms = [find_modes(ONE_MODE[name](rng, n)).count > 1 for n in (10, 30, 100) for _ in range(100)]
    assert np.mean(alarms) <= 0.02


def test_two_and_three_modes_are_found_with_centres_and_shares() -> None:
    rng = np.random.default_rng(6)
    level = rng.permutation(np.repeat([1.0, 1.3], [60, 40]))
    two = find_modes(1e-3 * level * np.exp(rng.normal(0, 0.01, 100)))
    assert two.count == 2
    assert two.centres_s == pytest.approx((1e-3, 1.3e-3), rel=0.01)
    assert two.shares == pytest.approx((0.6, 0.4))
    assert 1.05e-3 < two.bounds_s[0] < 1.25e-3
    three = find_modes(np.repeat([1.0, 1.5, 2.5], 40) * np.exp(rng.normal(0, 0.01, 120)))
    assert three.count == 3
    assert three.centres_s == pytest.approx((1, 1.5, 2.5), rel=0.01)


def test_groups_nobody_would_act_on_and_too_few_samples_are_one_mode() -> None:
    rng = np.random.default_rng(7)
    near = np.repeat([1.0, 1.02], 50) * np.exp(rng.normal(0, 0.001, 100))
    assert find_modes(near).count == 1
    assert find_modes([1, 1, 1, 2, 2, 2]).count == 1
    assert not find_modes([1, 1, 1, 2, 2, 2]).enough
    assert find_modes([]).count == 0


def test_best_cut_is_the_least_sum_of_squares() -> None:
    x = np.sort(np.random.default_rng(8).lognormal(size=17))
    cost = [np.var(x[:k]) * k + np.var(x[k:]) * (17 - k) for k in range(1, 17)]
    assert best_cut(x) == 1 + int(np.argmin(cost))
