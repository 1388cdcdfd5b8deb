"""Strategies: closed forms against simulation, bounds, losses that sum, parameters that are checked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from sprintprof.model.jitter import Constant, Gamma, jitter
from sprintprof.model.orderstats import kth_mean_s, skew_s
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.run import Plan
from sprintprof.model.strategies import Asp, Bsp, Dssp, Softsync, Sprint, Ssp, Strategy, make_strategy
from sprintprof.model.strategies.base import outcome_of
from sprintprof.records import InputError

FREE = Constant(0.0)
ALL: list[Strategy] = [Sprint(), Bsp(), Bsp(backup_workers=2), Asp(), Ssp(2), Dssp(2, 5), Softsync(2)]


def test_mean_of_the_slowest_by_known_integrals() -> None:
    assert kth_mean_s([(8, Gamma(1.0, 1.0))], 8) == pytest.approx(sum(1 / k for k in range(1, 9)), rel=1e-3)
    normal = jitter(1.0, 0.05)
    known = integrate.quad(lambda x: 8 * x * stats.norm.pdf(x) * stats.norm.cdf(x) ** 7, -9, 9)[0]
    assert skew_s(normal, 8) == pytest.approx(0.05 * known, rel=1e-3)
    # the approximation of MODEL.md
    assert skew_s(normal, 64) == pytest.approx(0.05 * stats.norm.ppf((64 - 0.375) / 64.25), rel=0.01)


def test_mean_of_the_first_eight_of_ten() -> None:
    # U90: ten workers, wait for eight; exponential: Σ 1/(N − i) over the first 8
    known = sum(1 / (10 - i) for i in range(8))
    assert kth_mean_s([(10, Gamma(1.0, 1.0))], 8) == pytest.approx(known, rel=1e-3)
    mixed = kth_mean_s([(9, jitter(1.0, 0.02)), (1, jitter(10.0, 0.02))], 8)
    assert mixed == pytest.approx(kth_mean_s([(9, jitter(1.0, 0.02))], 8), rel=1e-6)
    outcome = Bsp(backup_workers=2).predict(Setting(10, 1, 4, jitter(1.0, 0.3), Constant(0.1)))
    assert outcome.minibatch.mean == 8 * 4


@pytest.mark.parametrize(
    ("strategy", "service"),
    [(s, t) for s in ALL for t in (0.0, 0.06) if s.name != "sprint" or t > 0],  # an update thread takes time
    ids=repr,
)
def test_prediction_and_simulation_agree(strategy: Strategy, service: float) -> None:
    update = jitter(service, 0.1) if service else FREE
    setting = Setting(2, 3, 4, jitter(1.0, 0.1), update, slow_gpus=((1, 1.2),))
    known = strategy.predict(setting)
    seen = outcome_of(strategy.simulate(setting, Plan(800, 16, 9)), setting)
    assert seen.samples_per_s == pytest.approx(known.samples_per_s, rel=0.03)
    assert seen.staleness.mean == pytest.approx(known.staleness.mean, rel=0.05, abs=1e-9)
    assert seen.minibatch.mean == pytest.approx(known.minibatch.mean, rel=0.01)
    for outcome in (known, seen):
        assert sum(outcome.losses.values()) == pytest.approx(1 - outcome.efficiency, abs=1e-9)
    assert known.samples_per_s <= known.at_most_samples_per_s * 1.01


def test_efficiency_and_wait_of_peers_by_cause() -> None:
    # U87: ready at 0, 0 and 20 ms: two of three wait 20 ms in a cycle of 100 ms
    setting = Setting(3, 1, 1, Constant(0.08), FREE, slow_gpus=((1, 1.25),))
    outcome = Bsp().predict(setting)
    assert outcome.losses["skew"] == pytest.approx(1 - outcome.efficiency)
    assert outcome.samples_per_s == pytest.approx(3 / 0.1)


def test_efficiency_of_known_throughputs() -> None:
    # U86: 750.3, 693.3, 584.3 images/s a GPU; the exchange that explains them is found again as the loss by cause
    for rate, share in ((693.3, 0.924), (584.3, 0.779)):
        compute_s = 64 / 750.3
        exchange_s = 64 / rate - compute_s
        outcome = Bsp().predict(Setting(4, 4, 64, Constant(compute_s), Constant(exchange_s)))
        assert outcome.efficiency == pytest.approx(share, abs=1e-3)
        assert outcome.losses["exposed_communication"] == pytest.approx(1 - share, abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 15, 30])
def test_softsync_of_thirty_learners(n: int) -> None:
    setting = Setting(30, 1, 4, jitter(1.0, 0.1), FREE)
    known = Softsync(n).predict(setting).staleness
    seen = Softsync(n).simulate(setting, Plan(1500, 4)).staleness
    for found in (known, seen):
        assert found.mean == pytest.approx(n, rel=0.05)
        assert sum(found.probability(s) for s in range(2 * n + 1, 10 * n + 10)) <= 1e-3
    if n == 1:
        assert sum(known.probability(s) for s in (0, 1, 2)) > 1 - 1e-4


def test_asp_of_equal_workers_has_n_minus_one_on_average() -> None:
    assert Asp().predict(Setting(1, 12, 1, jitter(1.0, 0.3), FREE)).staleness.mean == pytest.approx(11, rel=1e-9)


def test_more_bound_is_never_slower_and_between_bsp_and_asp() -> None:
    setting = Setting(1, 6, 1, jitter(1.0, 0.3), FREE)
    rates = [Ssp(s).predict(setting).samples_per_s for s in (0, 1, 4, 16)]
    assert rates == sorted(rates)
    assert rates[0] == pytest.approx(Bsp().predict(setting).samples_per_s, rel=0.02)
    assert rates[-1] <= Asp().predict(setting).samples_per_s * 1.01


def test_synchronous_over_asynchronous_is_the_slowest_over_the_mean() -> None:
    setting = Setting(1, 16, 1, Gamma(1.0, 0.5), FREE)
    ratio = Asp().predict(setting).samples_per_s / Bsp().predict(setting).samples_per_s
    assert ratio == pytest.approx(kth_mean_s(setting.groups, 16) / 1.0)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("magic", {}),
        ("ssp", {"lower": 3}),
        ("ssp", {"staleness_bound": -1}),
        ("dssp", {"lower": 5, "upper": 3}),
        ("dssp", {"variant": "best"}),
        ("bsp", {"backup_workers": -1}),
        ("bsp", {"hidden_fraction": 1.5}),
    ],
)
def test_bad_strategies_are_refused(name: str, given: dict[str, object]) -> None:
    with pytest.raises(InputError, match="--"):
        make_strategy(name, **given)


def test_parameters_are_checked_against_the_gpus() -> None:
    setting = Setting(1, 4, 1, jitter(1.0, 0.1), Constant(0.1))
    for strategy in (Bsp(backup_workers=4), Softsync(0), Softsync(5)):
        with pytest.raises(InputError, match="--"):
            strategy.predict(setting)
    assert make_strategy("dssp", lower=2, upper=None).predict(setting).method == "simulation"
    assert np.isfinite(make_strategy("sprint").predict(setting).samples_per_s)
