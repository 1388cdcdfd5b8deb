"""The simulations against cases worked by hand, bounds and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.model.jitter import Constant, jitter
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.cycles import Block
from sprintprof.model.simulate.dssp import Lending
from sprintprof.model.simulate.free import simulate_free
from sprintprof.model.simulate.order import order_of, ranks_of
from sprintprof.model.simulate.rounds import simulate_barrier, simulate_rounds
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.server import Bound, simulate_server
from sprintprof.model.simulate.sprint import _Totals, simulate_sprint
from sprintprof.model.simulate.stragglers import Stragglers
from sprintprof.model.simulate.windows import Windows
from sprintprof.model.sprint import distributions

FREE = Constant(0.0)


def rate(run: Run) -> float:
    return run.gradients / run.duration_s


@given(st.lists(st.floats(0.01, 5), min_size=2, max_size=60), st.lists(st.floats(-1, 100), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_window_lookup_is_a_binary_search(gaps: list[float], moments: list[float]) -> None:
    boundaries = np.cumsum(gaps)
    t = np.concatenate([np.array(moments), boundaries, boundaries + 1e-9])
    np.testing.assert_array_equal(Windows(boundaries).index(t), np.searchsorted(boundaries, t, side="left"))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=80))
@settings(max_examples=60, deadline=None)
def test_order_is_a_stable_sort(times: list[float]) -> None:
    coarse = np.round(np.array(times), 3)  # ties, and nothing closer than the order can tell apart
    order = order_of(coarse)
    np.testing.assert_array_equal(order, np.argsort(coarse, kind="stable"))
    np.testing.assert_array_equal(ranks_of(order)[order], np.arange(len(order)))


def test_windows_and_staleness_of_six_pushes_by_hand() -> None:
    windows = Windows(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    totals = _Totals(1, warm=1, count=4, keep_spans=False)
    # worker 0 pushes in windows 1, 2, 3; worker 1 in 1, 2, 4. Windows 2..4 are measured
    ends = np.array([[0.5, 1.5, 2.5], [0.2, 1.7, 3.1]])
    totals.add(Block(ends, np.zeros(2, np.int64), np.arange(2)), windows, np.zeros(1), 4.5, 0)
    assert totals.batches.tolist() == [0, 2, 2, 1, 1]
    # read in window 1 and pushed in 2: S = 2; 2 → 3: 2; worker 1: 1 → 2: 2, 2 → 4: 3
    assert totals.staleness.tolist()[1:4] == [0, 3, 1]


@pytest.mark.parametrize(("update", "pmf"), [(0.4, {3: 0.5, 4: 0.5}), (2.0, {1: 0.5, 2: 0.5}), (1.0, {2: 1.0})])
def test_constant_cycles_give_two_values_of_staleness(update: float, pmf: dict[int, float]) -> None:
    setting = Setting(2, 5, 4, Constant(1.0), Constant(update))
    run = simulate_sprint(setting, Plan(60, 200, 3))
    assert run.staleness.mean == pytest.approx(1 + 1 / update, abs=0.02)
    assert all(run.staleness.probability(s) == pytest.approx(p, abs=0.02) for s, p in pmf.items())
    assert run.minibatch.mean == pytest.approx(10 * 4 * update, rel=0.01)
    assert run.updates == 60 * 200


def test_replicas_of_one_run_split_by_gpus_agree_with_many() -> None:
    setting = Setting(4, 4, 8, jitter(1.0, 0.1), jitter(0.37, 0.2))
    one, many = simulate_sprint(setting, Plan(20000, 1, 5)), simulate_sprint(setting, Plan(100, 200, 5))
    assert one.staleness.distance(many.staleness) < 0.01
    assert one.minibatch.distance(many.minibatch) < 0.03


@pytest.mark.parametrize(
    ("n", "rho", "cv_g", "cv_u"),
    [(24, 0.37, 0.03, 0.03), (3, 1.7, 0.2, 0.1), (60, 0.06, 0.1, 0.3), (500, 0.9, 0.02, 0.0)],
)
@pytest.mark.parametrize("kind", ["normal", "gamma"])
def test_prediction_agrees_with_an_ensemble(n: int, rho: float, cv_g: float, cv_u: float, kind: str) -> None:
    gpu, update = jitter(1.0, cv_g, kind), jitter(rho, cv_u, kind)  # type: ignore[arg-type]
    known = distributions([(n, gpu)], update, 4)
    run = simulate_sprint(Setting(1, n, 4, gpu, update), Plan(10, 1500, 7))
    assert run.minibatch.mean == pytest.approx(known.minibatch.mean, rel=0.01)
    assert run.minibatch.std**2 == pytest.approx(known.minibatch.std**2, rel=0.1)
    assert run.staleness.mean == pytest.approx(known.staleness.mean, rel=0.01)
    assert run.staleness.distance(known.staleness) < 0.03


def test_the_same_seed_gives_the_same_run() -> None:
    setting = Setting(1, 6, 1, jitter(1.0, 0.1), jitter(0.3, 0.1))
    first, again, other = (simulate_sprint(setting, Plan(50, 8, s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.minibatch.probabilities, again.minibatch.probabilities)
    assert first.minibatch.mean != other.minibatch.mean


def test_a_straggler_pushes_less() -> None:
    slow = Stragglers(np.array([0]), np.array([0.0]), np.array([1e9]), np.array([3.0]))
    setting = Setting(1, 2, 1, Constant(1.0), Constant(0.5))
    run = simulate_sprint(setting, Plan(300, 20, 1, stragglers=slow))
    assert rate(run) == pytest.approx(1 + 1 / 3, rel=0.02)


def test_asp_of_equal_constant_workers_counts_all_others() -> None:
    setting = Setting(1, 5, 1, Constant(1.0), FREE)
    run = simulate_free(setting, Plan(100, 4))
    assert run.staleness.probability(4) == pytest.approx(1.0)
    assert rate(run) == pytest.approx(5.0, rel=0.02)


def test_a_saturated_server_serves_without_pause() -> None:
    # four workers, 1 s to think, 0.5 s to serve: 2 pushes a second, a cycle of 2 s, of which 0.5 s in the queue
    run = simulate_server(Setting(1, 4, 1, Constant(1.0), Constant(0.5)), Plan(200, 3), Bound(math.inf), Constant(0.5))
    assert rate(run) == pytest.approx(2.0)
    assert run.waits_s["server_queue"] / run.gradients == pytest.approx(0.5)
    assert run.staleness.probability(3) == 1.0


def test_an_idle_server_and_none_agree() -> None:
    setting = Setting(1, 4, 1, jitter(1.0, 0.2), FREE)
    queue = simulate_server(setting, Plan(2000, 8), Bound(math.inf), None)
    free = simulate_free(setting, Plan(2000, 8))
    assert rate(queue) == pytest.approx(rate(free), rel=0.01)
    assert queue.staleness.distance(free.staleness) < 0.02


def test_ssp_by_recurrence_and_by_events_agree() -> None:
    setting = Setting(1, 6, 1, jitter(1.0, 0.2), FREE, slow_gpus=((1, 1.3),))
    events = simulate_server(setting, Plan(3000, 8), Bound(2), None)
    rounds = simulate_rounds(setting, Plan(3000, 8), 2)
    assert rate(rounds) == pytest.approx(rate(events), rel=0.01)
    assert rounds.staleness.distance(events.staleness) < 0.03


def test_ssp_of_two_constant_workers_goes_at_the_slower_ones_pace() -> None:
    setting = Setting(1, 2, 1, Constant(1.0), FREE, slow_gpus=((1, 2.5),))
    assert rate(simulate_rounds(setting, Plan(500, 4), 3)) == pytest.approx(2 / 2.5, rel=0.01)
    assert rate(simulate_server(setting, Plan(500, 4), Bound(3), None)) == pytest.approx(2 / 2.5, rel=0.01)


@pytest.mark.parametrize("bound", [0, 2])
def test_no_worker_starts_with_a_lead_over_the_bound(bound: int) -> None:
    # U84: eight workers, one three times slower; version gap ≤ (W − 1)(2s + 1)
    setting = Setting(1, 8, 1, jitter(1.0, 0.3), FREE, slow_gpus=((1, 3.0),))
    plan = Plan(800, 2, keep_spans=True)
    run = simulate_rounds(setting, plan, bound)
    (spans,) = run.spans
    begins = spans.begin_s.reshape(-1, 8)
    ends = spans.end_s.reshape(-1, 8)
    for k in range(len(begins)):
        completed = (ends[:, None, :] <= begins[k][None, :, None] + 1e-12).sum(axis=0)
        assert (k - completed.min(axis=1)).max() <= bound
    assert run.staleness.values[-1] <= 7 * (2 * bound + 1)


def test_bsp_of_constant_workers_waits_for_the_slowest() -> None:
    setting = Setting(1, 4, 2, Constant(1.0), Constant(0.25), slow_gpus=((1, 2.0),))
    run = simulate_barrier(setting, Plan(10, 2), 4, np.full((2, 10), 0.25))
    assert rate(run) == pytest.approx(4 / 2.25)
    assert run.waits_s["skew"] == pytest.approx(3 * 1.0 * 20)
    backup = simulate_barrier(setting, Plan(10, 2), 3, np.full((2, 10), 0.25))
    assert rate(backup) == pytest.approx(3 / 1.25)


def test_dssp_lends_by_hand() -> None:
    # fast worker pushes at 1, 2, … (interval 1), slow one at 2.5, 5, … Lower 0, upper 3.
    # its second push at 2 leads by 2: own pushes at 2, 3, 4, 5 beside 5, 7.5 … (last 2.5): nearest is r = 3 at 5 s
    rule = Lending(0, 3)
    rule.begin(1, 2)
    from sprintprof.model.simulate.server import State

    state = State(np.array([[4, 2]]), np.array([[6.0, 5.0]]), np.array([[5.0, 2.5]]))
    # pushes at 6, 7, 8, 9 beside 7.5, 10: distances 1.5, 0.5, 0.5, 1 → the smaller of r = 1 and 2
    assert rule.goes_on(state, np.array([0]), np.array([2])).tolist() == [True]
    assert rule.credits.tolist() == [[1, 0]]
    # the credit is spent by the next push
    assert rule.goes_on(state, np.array([0]), np.array([3])).tolist() == [True]
    assert rule.credits.tolist() == [[0, 0]]
    # capped: lead 3 is all there is
    capped = Lending(0, 3, "capped")
    capped.begin(1, 2)
    assert capped.goes_on(state, np.array([0]), np.array([3])).tolist() == [False]


@pytest.mark.parametrize("ratio", [2.4, 3.1])
def test_two_workers_of_different_speed(ratio: float) -> None:
    setting = Setting(1, 2, 1, jitter(1.0, 0.01), FREE, slow_gpus=((1, ratio),))
    plan = Plan(800, 8)
    asp = rate(simulate_server(setting, plan, Bound(math.inf), None))
    ssp = rate(simulate_rounds(setting, plan, 3))
    bsp = rate(simulate_barrier(setting, plan, 2, np.zeros((8, 800))))
    dssp = rate(simulate_server(setting, plan, Lending(3, 15), None))
    assert asp / dssp <= 1.05
    assert 0.95 <= bsp / ssp <= 1.05
    assert asp / bsp == pytest.approx((ratio + 1) / 2, rel=0.01)
