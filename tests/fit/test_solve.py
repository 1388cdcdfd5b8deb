"""The solver and the choice of forms against known truths and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from sprintprof.fit.crossval import LeftOut, cross_validate, folds
from sprintprof.fit.solve import coefficients, solve

U76_BATCH = np.array([1, 2, 4, 8, 16, 32, 64, 128.0])
U76_TIME = 1e-6 * np.array([10.30, 10.05, 10.21, 10.11, 10.02, 10.18, 9.97, 10.04])


def line(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones_like(x), x])


def test_flat_data_give_no_negative_slope() -> None:  # U76, U77
    assert np.polyfit(U76_BATCH, U76_TIME, 1)[0] < 0  # what a plain fit does
    level, slope = coefficients(line(U76_BATCH), U76_TIME)
    assert slope == 0
    assert level == pytest.approx(10.11e-6, rel=5e-3)


def test_relative_errors_count() -> None:  # U78
    x = np.array([1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9])
    t = 1e-6 * np.array([5.1, 5.0, 5.3, 6.9, 25, 410, 4105])
    predicted = line(x) @ coefficients(line(x), t)
    error = np.abs(predicted / t - 1)
    assert error.max() < 0.4  # 1/t² weights alone: 0.33
    assert error[0] < 0.05
    plain = np.polyval(np.polyfit(x, t, 1), x)
    assert np.max(np.abs(plain / t - 1)) > 0.9


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_solution_is_the_bounded_least_squares_one_at_ratio_1(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.lognormal(0, 3, (12, 3))
    t = x @ np.array([1.0, 0.0, 0.2]) * rng.lognormal(0, 0.3, 12)
    ours = coefficients(x, t)
    scaled = x / t[:, None]
    norm = np.linalg.norm(scaled, axis=0)
    reference = lsq_linear(scaled / norm, np.ones(12), (0, np.inf), tol=1e-14).x / norm
    assert (ours >= 0).all()
    assert np.median(np.log(scaled @ ours)) == pytest.approx(0, abs=1e-9)
    assert x @ ours / np.linalg.norm(x @ ours) == pytest.approx(x @ reference / np.linalg.norm(x @ reference), abs=1e-4)


def test_a_misfit_is_too_high_as_often_as_too_low() -> None:
    t = np.array([1.0, 100.0])  # no constant fits both: the geometric mean is the fair one
    assert coefficients(np.ones((2, 1)), t) == pytest.approx([10.0])


def test_slow_outliers_weigh_little() -> None:
    x = line(np.arange(1.0, 21.0))
    t = x @ np.array([5.0, 1.0])
    t[[3, 9, 15]] *= 10
    assert x @ coefficients(x, t) == pytest.approx(x @ np.array([5.0, 1.0]), rel=0.05)


def test_the_covariance_is_the_scatter_of_repeated_fits() -> None:
    rng = np.random.default_rng(1)
    x = line(np.arange(1.0, 40.0))
    truth = np.array([5e-6, 1e-6])
    exact = x @ truth
    solutions = [solve(x, exact * (1 + 0.02 * rng.standard_normal(len(x)))) for _ in range(400)]
    scatter = np.cov(np.array([s.coefficients for s in solutions]).T)
    claimed = np.mean([s.covariance for s in solutions], axis=0)
    assert claimed == pytest.approx(scatter, rel=0.25)


def test_collinear_features_are_said() -> None:
    x = np.arange(1.0, 20.0)
    t = 1e-6 * x
    assert solve(np.column_stack([x, 3 * x + 1e-6]), t).condition_number > 1e3
    assert solve(line(x), t).condition_number < 30


def test_folds_keep_groups_together_and_cover_everything() -> None:
    groups = [f"g{i % 23}" for i in range(100)]
    parts = folds(groups, 5)
    assert sorted(np.concatenate(parts)) == list(range(100))
    for part in parts:
        inside = {groups[i] for i in part}
        assert not inside & {groups[i] for i in set(range(100)) - set(part.tolist())}


def test_a_left_out_point_is_not_seen() -> None:
    t = np.array([1.0, 2.0, 30.0])

    def mean_of_the_rest(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return np.full(len(test), t[train].mean())

    left_out = cross_validate(mean_of_the_rest, t, [0, 1, 2], ["a", "b", "c"], "loo")
    assert left_out.predicted_s.tolist() == [16.0, 15.5, 1.5]
    error = left_out.error()
    assert error.worst == 15.0
    assert error.worst_point == "a"
    assert error.bias == pytest.approx(33 / 33 - 1)


@pytest.mark.parametrize("n", [8, 30, 400])
def test_the_interval_covers_nine_of_ten(n: int) -> None:  # U82
    rng = np.random.default_rng(n)
    hits = []
    for _ in range(300):
        ratio = np.exp(0.15 * rng.standard_normal(n))
        spread = LeftOut(np.ones(n), ratio, [""] * n, "loo").spread()
        hits.append(
            np.mean((fresh := np.exp(0.15 * rng.standard_normal(200))) >= spread.low) - np.mean(fresh > spread.high)
        )
    assert 0.88 <= np.mean(hits) <= 0.94


def test_two_points_have_no_known_error() -> None:
    spread = LeftOut(np.ones(2), np.ones(2), ["", ""], "in-sample").spread()
    assert spread.low <= 0.5
    assert spread.high >= 2
