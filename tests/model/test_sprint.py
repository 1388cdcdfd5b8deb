"""Mini-batch and staleness of SPRINT against MODEL.md's reference values and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.model.counting import counts_over
from sprintprof.model.discrete import Discrete
from sprintprof.model.jitter import jitter
from sprintprof.model.renewal import asymptotic_cumulants, conditional_counts, interval_nodes
from sprintprof.model.sprint import distributions, low_jitter
from sprintprof.records import InputError

REFERENCE = [
    # N, b, T_u, cv T_g, cv T_u, E[B], Var(B)/b², E[S]: long runs of an independent event simulation
    (24, 8, 0.37, 0.03, 0.03, 71.04, 5.67, 3.703),
    (24, 8, 0.37, 0.10, 0.20, 71.04, 8.61, 3.703),
    (96, 4, 0.11, 0.03, 0.10, 42.24, 10.6, 10.091),
    (48, 16, 1.60, 0.03, 0.10, 1228.8, 69.2, 1.625),
    (256, 1, 0.05, 0.05, 0.30, 12.80, 26.8, 21.00),
]


@pytest.mark.parametrize(("n", "b", "update", "cv_g", "cv_u", "batch", "variance", "stale"), REFERENCE)
def test_reference_rows(
    n: int, b: int, update: float, cv_g: float, cv_u: float, batch: float, variance: float, stale: float
) -> None:
    found = distributions([(n, jitter(1.0, cv_g))], jitter(update, cv_u), b)
    assert found.minibatch.mean == pytest.approx(batch, rel=0.005)
    assert (found.minibatch.std / b) ** 2 == pytest.approx(variance, rel=0.04)
    assert found.staleness.mean == pytest.approx(stale, rel=0.005)


def test_first_reference_row_has_the_known_staleness() -> None:
    found = distributions([(24, jitter(1.0, 0.03))], jitter(0.37, 0.03), 8)
    known = Discrete.of(3, np.array([0.297, 0.703]))
    assert found.staleness.distance(known) <= 0.03
    assert found.staleness.probability(4) == pytest.approx(0.703, abs=0.01)


def test_much_update_jitter_spreads_staleness_over_the_known_range() -> None:
    found = distributions([(256, jitter(1.0, 0.05))], jitter(0.05, 0.3), 1)
    inside = sum(found.staleness.probability(s) for s in range(16, 28))
    assert inside > 0.998
    assert found.staleness.probability(21) < 0.3


@given(st.integers(1, 600), st.integers(1, 64), st.floats(0.02, 5), st.floats(0.0, 0.3), st.floats(0.0, 0.3))
@settings(max_examples=40, deadline=None)
def test_invariant_of_staleness_and_mini_batch(n: int, b: int, rho: float, cv_g: float, cv_u: float) -> None:
    found = distributions([(n, jitter(1.0, cv_g))], jitter(rho, cv_u), b)
    assert (found.staleness.mean - 1) * found.minibatch.mean == pytest.approx(n * b, rel=1e-9)
    values = found.minibatch.values
    assert float(found.minibatch.probabilities @ values) == pytest.approx(found.minibatch.mean, rel=2e-3)
    assert float(found.staleness.probabilities @ found.staleness.values) == pytest.approx(
        found.staleness.mean, rel=2e-3
    )


def test_mixed_gpus_keep_the_invariant_and_widen_staleness() -> None:
    update = jitter(0.2, 0.05)
    groups = [(20, jitter(1.0, 0.03)), (4, jitter(3.0, 0.03))]
    found = distributions(groups, update, 8)
    assert (found.staleness.mean - 1) * found.minibatch.mean == pytest.approx(24 * 8, rel=1e-9)
    # 20 push 20 a second with S about 6, 4 push 4/3 a second with S about 16
    assert found.staleness.probability(16) == pytest.approx(0.0625 * 0.6, abs=0.03)
    assert sum(found.staleness.probability(s) for s in range(14, 19)) == pytest.approx(4 / 3 / (20 + 4 / 3), abs=1e-3)


@pytest.mark.parametrize("rho", [0.37, 1.6, 2.0, 0.1])
def test_low_jitter_is_the_limit(rho: float) -> None:
    near = distributions([(24, jitter(1.0, 1e-4))], jitter(rho, 1e-4), 8)
    limit = low_jitter(24, 8, 1.0, rho)
    assert near.minibatch.distance(limit.minibatch) < 0.01
    assert near.staleness.distance(limit.staleness) < 0.01
    assert near.minibatch.std == pytest.approx(limit.minibatch.std, rel=0.01, abs=0.6)


def test_without_jitter_the_limit_is_exact() -> None:
    found = distributions([(24, jitter(1.0, 0.0))], jitter(0.37, 0.0), 8)
    limit = low_jitter(24, 8, 1.0, 0.37)
    np.testing.assert_allclose(found.minibatch.mean, 71.04)
    assert found.minibatch.distance(limit.minibatch) < 1e-9
    assert found.staleness.distance(limit.staleness) < 1e-9


@pytest.mark.parametrize(
    ("rho", "cv_g", "cv_u"), [(1e-4, 0.3, 0.3), (5e3, 0.1, 0.2), (3e4, 0.01, 0.3), (2e-5, 0.0, 0.0)]
)
@pytest.mark.parametrize("n", [1, 64])
def test_far_cycles_keep_mean_and_variance(n: int, rho: float, cv_g: float, cv_u: float) -> None:
    found = distributions([(n, jitter(1.0, cv_g, "gamma"))], jitter(rho, cv_u, "gamma"), 1)
    for known in (found.minibatch, found.staleness):
        mean = float(known.probabilities @ known.values)
        assert mean == pytest.approx(known.mean, rel=2e-3)
        assert float(known.probabilities @ (known.values - mean) ** 2) == pytest.approx(
            known.std**2, rel=0.02, abs=1e-6
        )


def test_long_tails_keep_the_median() -> None:
    # T_u log-normal with cv 2.5: half of the windows are shorter than 0.5/√(1 + 2.5²) s, 100 GPUs push 100 a second
    found = distributions([(100, jitter(1.0, 0.1))], jitter(0.5, 2.5, "lognormal"), 1)
    assert found.minibatch.quantile(0.5) == pytest.approx(100 * 0.5 / np.sqrt(1 + 2.5**2), rel=0.06)
    assert float(found.minibatch.probabilities @ found.minibatch.values) == pytest.approx(50, rel=0.01)


def test_many_cycles_meet_their_limit() -> None:
    interval, cycle = jitter(300.0, 0.2), jitter(1.0, 0.3, "gamma")
    exact = counts_over(interval, [(3, cycle)])
    y, _ = interval_nodes(interval)
    mean, variance = asymptotic_cumulants(cycle, y)
    known = conditional_counts(cycle, y).cumulants()
    np.testing.assert_allclose(mean, known[0], rtol=1e-3)
    np.testing.assert_allclose(variance[20:], known[1][20:], rtol=0.02)
    assert exact.mean == pytest.approx(900)


def test_absurd_cycles_are_refused() -> None:
    with pytest.raises(InputError, match="update cycle"):
        distributions([(4, jitter(1.0, 0.1))], jitter(1e-7, 0.1), 1)
