"""When warm-up ends, on series."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np

from sprintprof.bench.harness.warmup import MAX_SAMPLES, WarmUp, agree


def ends_after(rule: WarmUp, times_s: Iterable[float]) -> int:
    elapsed_s = 0.0
    for n, time_s in enumerate(times_s, 1):
        elapsed_s += time_s
        rule.add(time_s, elapsed_s)
        if rule.done():
            return n
    return -1


def test_constant_settles_with_the_second_batch() -> None:
    rule = WarmUp(2.0, 1e-3)
    assert ends_after(rule, itertools.repeat(1e-3)) == 12
    assert rule.settled
    assert rule.reason() == "settled"


def test_noise_is_no_trend() -> None:
    rng = np.random.default_rng(2)
    settled_at_once = 0
    for _ in range(100):
        rule = WarmUp(2.0, 1e-3)
        ends_after(rule, (1e-3 * math.exp(0.2 * rng.standard_normal()) for _ in itertools.count()))
        settled_at_once += rule.count == 12
    assert settled_at_once > 50


def test_little_is_left_of_an_exponential_fall() -> None:
    for calls in (3, 10, 30, 100, 300):
        rule = WarmUp(1e6, 1e-3)
        n = ends_after(rule, (1e-3 * (1 + 2 * math.exp(-i / calls)) for i in itertools.count()))
        assert rule.settled
        assert 2 * math.exp(-n / calls) < 0.01
        assert n <= max(75, 20 * calls)


def test_time_ends_it_unsettled() -> None:
    rule = WarmUp(0.5, 1e-3)
    ends_after(rule, (1e-3 * 1.1**i for i in itertools.count()))
    assert not rule.settled
    assert rule.reason() == "time was up"


def test_long_calls_get_small_batches() -> None:
    rule = WarmUp(4.0, 1.0)
    assert ends_after(rule, itertools.repeat(1.0)) == 3
    assert rule.settled
    rule = WarmUp(2.0, 3.0)
    assert ends_after(rule, itertools.repeat(3.0)) == 1
    assert not rule.settled


def test_a_clock_that_stands_still_does_not_keep_it_going() -> None:
    rule = WarmUp(2.0, 0.0)
    for i in range(MAX_SAMPLES):
        rule.add(1.1 ** min(i, 5000), 0.0)
        if rule.done():
            break
    assert rule.done()


def test_agreement() -> None:
    assert agree([1.0, 1.0], [1.004, 1.004])
    assert agree([1.0, 1.03], [1.02, 1.05])
    assert not agree([1.0, 1.01], [1.02, 1.03])
    assert not agree([1.0, 1.0], [1.1, 1.1])
    assert agree([0.8, 1.0, 1.3], [0.9, 1.1, 1.2])
    assert not agree([1.3, 1.2, 1.1], [1.0, 0.9, 0.8])
