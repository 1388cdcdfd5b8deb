"""Clocks of ranks and common starts, against clocks whose offset and drift are known."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.clocksync import SharedClock
from sprintprof.bench.harness.synchronise import MOST_SLACK_S, PATIENCE, BarrierStart, WindowStart

Ranks = Callable[[int, Callable[[Any], Any]], list[Any]]


def test_offset_errs_by_no_more_than_half_the_round_trip(on_ranks: Ranks) -> None:
    origin_s = time.perf_counter()

    def body(comm: Any) -> tuple[float, float]:
        ahead_s = 3.0 * comm.Get_rank()
        clock = RunClock(time.perf_counter)
        clock._origin_s = origin_s - ahead_s
        shared = SharedClock(comm, clock)
        return shared.to_own_s(100.0) - (100.0 + ahead_s), shared.error_s

    (root, root_error), *others = on_ranks(3, body)
    assert root == 0.0
    assert root_error == max(error for _, error in others)
    for difference, error in others:
        assert abs(difference) <= error < 0.5


def test_drift_is_followed_by_a_straight_line(on_ranks: Ranks) -> None:
    drift = 1e-2

    def body(comm: Any) -> float:
        rate = 1.0 + drift * comm.Get_rank()
        clock = RunClock(lambda: time.perf_counter() * rate)
        clock._origin_s = 0.0
        shared = SharedClock(comm, clock)
        errors = [shared.error_s]
        for _ in range(4):
            time.sleep(0.02)
            shared.refresh()
            errors.append(shared.error_s)
        ahead_s = time.perf_counter() + 1.0
        # the line is extrapolated from 0.08 s to 1 s: errors of the estimates grow with it
        return abs(shared.to_own_s(ahead_s) - ahead_s * rate) - 30 * max(errors)

    assert max(on_ranks(2, body)) <= 0
    # without the slope the offset would be wrong by drift · 1 s = 10 ms


def test_window_start_waits_on_the_ranks_own_clock(on_ranks: Ranks) -> None:
    origin_s = time.perf_counter()

    def body(comm: Any) -> list[tuple[bool, float]]:
        clock = RunClock(time.perf_counter)
        clock._origin_s = origin_s - 7.0 * comm.Get_rank()  # 7 s ahead
        window = WindowStart(comm, clock)
        window._slack_s = 20e-3
        started = []
        for _ in range(5):
            begin_s = time.perf_counter()
            late = window.meet()
            started.append((late, time.perf_counter() - begin_s))
            comm.Barrier()
        assert window.name() == "window"
        assert window.skew_s > 0 or comm.Get_size() == 1
        return started

    root, other = on_ranks(2, body)
    assert all(waited_s > 0.015 for late, waited_s in root if not late)  # the notice is 20 ms
    assert all(waited_s < 5.0 for _, waited_s in root + other)  # nobody waits for the 7 s between the clocks


def test_window_falls_back_to_barriers_when_ranks_stay_late(on_ranks: Ranks) -> None:
    def body(comm: Any) -> tuple[str, bool]:
        window = WindowStart(comm, RunClock())
        while window._slack_s < MOST_SLACK_S:
            window.report(True)
        assert not window._fallen_back
        for _ in range(PATIENCE):
            window.report(True)
        assert window._fallen_back
        late = window.meet()
        return window.name(), late

    assert on_ranks(2, body) == [("window, then barrier", False)] * 2


def test_one_late_start_does_not_end_the_window(on_ranks: Ranks) -> None:
    def body(comm: Any) -> str:
        window = WindowStart(comm, RunClock())
        window._slack_s = MOST_SLACK_S
        for _ in range(3 * PATIENCE):
            window.report(True)
            window.report(False)
        return window.name()

    assert on_ranks(1, body) == ["window"]


def test_barrier_brings_ranks_together(on_ranks: Ranks) -> None:
    def body(comm: Any) -> tuple[float, float, float]:
        start = BarrierStart(comm, RunClock())
        time.sleep(0.02 * comm.Get_rank())
        arrived = time.perf_counter()
        assert start.meet() is False
        return arrived, time.perf_counter(), start.skew_s

    seen = on_ranks(3, body)
    assert max(arrived for arrived, _, _ in seen) <= min(left for _, left, _ in seen)
    assert all(skew >= 0 for _, _, skew in seen)


@pytest.mark.parametrize("kind", ["barrier", "window"])
def test_kind_is_in_the_name(on_ranks: Ranks, kind: str) -> None:
    from sprintprof.bench.harness.synchronise import synchroniser

    assert on_ranks(2, lambda comm: synchroniser(kind, comm, RunClock()).name()) == [kind, kind]
