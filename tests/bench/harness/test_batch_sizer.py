"""How many calls make a sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintprof.bench.harness.batching import MAX_CALLS, BatchSizer
from sprintprof.bench.harness.clock import TimerQuality


def size(
    call_s: float,
    tick_s: float,
    empty_s: float,
    *,
    alone: bool = False,
    max_host_s: float = 0.4,
    max_calls: int = MAX_CALLS,
) -> tuple[int, float]:
    """(calls, time of a sample) for calls of `call_s` by a timer that shows whole ticks."""
    sizer = BatchSizer(TimerQuality(tick_s, empty_s), alone=alone, max_calls=max_calls, max_host_s=max_host_s)
    for _ in range(100):
        total_s = sizer.calls * call_s
        seen_s = int(total_s / tick_s) * tick_s if tick_s else total_s
        sizer.add(seen_s, total_s)
        if sizer.done:
            return sizer.calls, sizer.calls * call_s
    raise AssertionError("no end")


@given(
    call_s=st.floats(1e-9, 10.0),
    tick_s=st.sampled_from([0.0, 1e-9, 1e-6, 1e-3]),
    empty_s=st.floats(0.0, 1e-5),
    alone=st.booleans(),
)
def test_samples_are_long_enough_or_as_long_as_they_may_be(
    call_s: float, tick_s: float, empty_s: float, alone: bool
) -> None:
    calls, total_s = size(call_s, tick_s, empty_s, alone=alone)
    assert calls >= 1
    long_enough = total_s >= 100 * tick_s and total_s >= (10 if alone and calls == 1 else 100) * empty_s
    assert long_enough or calls == MAX_CALLS or total_s > 0.2 or (calls == 1 and call_s > 0.2)
    assert calls == 1 or total_s <= 0.4 * 1.001


def test_long_calls_stay_alone() -> None:
    assert size(1e-3, 1e-9, 1e-7) == (1, 1e-3)


@pytest.mark.parametrize(("alone", "calls"), [(True, 1), (False, 100 // 15 + 1)])
def test_calls_that_had_better_stay_alone(alone: bool, calls: int) -> None:
    found, _ = size(1.5e-6, 1e-9, 1e-7, alone=alone)
    assert (found == 1) is alone
    assert found >= calls


def test_a_timer_that_reads_0_ends_at_the_limit() -> None:
    assert size(1e-9, 1e9, 0.0, max_calls=1024)[0] == 1024


def test_the_hosts_clock_bounds_a_batch() -> None:
    calls, total_s = size(1e-3, 1e9, 0.0, max_host_s=0.1)
    assert 50 <= calls <= 100
    assert total_s <= 0.1


def test_the_first_call_decides_only_if_it_is_very_long() -> None:
    for first_s, done in ((1e-3, False), (1.0, True)):
        sizer = BatchSizer(TimerQuality(1e-9, 1e-6), alone=False, max_calls=10, max_host_s=0.4)
        sizer.add_first(first_s)
        assert sizer.done is done
        assert sizer.calls == 1


def test_a_tick_that_was_never_seen_is_taken_from_the_first_reading() -> None:
    sizer = BatchSizer(TimerQuality(0.0, 0.0), alone=False, max_calls=1 << 20, max_host_s=1e9)
    while not sizer.done:  # a timer with ticks of 1 s, calls of 1 ms
        sizer.add(float(sizer.calls // 1000), sizer.calls * 1e-3)
    assert sizer.calls * 1e-3 >= 100
