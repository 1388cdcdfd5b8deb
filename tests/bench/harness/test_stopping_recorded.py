"""Stopping rules on recorded series: no device, no clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sprintprof.bench.harness.stopping import FirstOf, SampleLimit, StoppingRule, TargetInterval, TimeLimit
from sprintprof.stats.median import relative_half_width

# milliseconds; a GEMM on a shared two-core machine, as read
QUIET_MS = (3.02, 3.01, 3.03, 3.02, 3.04, 3.01, 3.02, 3.03, 3.02, 3.02, 3.03, 3.01)
NOISY_MS = (3.0, 4.1, 3.2, 5.0, 3.1, 3.9, 3.3, 4.8, 3.0, 4.4, 3.6, 3.1)
COOLING_MS = (3.00, 3.01, 3.02, 3.04, 3.05, 3.06, 3.08, 3.09, 3.10, 3.12, 3.13, 3.15)


def stops_after(rule: StoppingRule, times: Sequence[float], step_s: float = 0.01) -> int | None:
    """Number of samples after which the rule is done; None if it never is."""
    for n, time in enumerate(times, 1):
        assert not rule.done()
        assert rule.reason() == ""
        rule.add(time, n * step_s)
        if rule.done():
            assert rule.reason() != ""
            return n
    return None


def test_quiet_series_ends_at_the_least_number() -> None:
    assert stops_after(TargetInterval(0.02, 6), QUIET_MS) == 6
    assert stops_after(TargetInterval(0.02, 8), QUIET_MS) == 8


def test_noisy_series_goes_on() -> None:
    assert stops_after(TargetInterval(0.02, 6), NOISY_MS) is None


def test_steady_rise_is_not_mistaken_for_a_narrow_interval() -> None:
    assert relative_half_width(COOLING_MS[:6]) < 0.02
    assert stops_after(TargetInterval(0.01, 6), COOLING_MS) is None


def test_a_rise_far_within_the_target_does_not_matter() -> None:
    assert stops_after(TargetInterval(0.1, 6), COOLING_MS) == 6


def test_identical_samples_end_at_once() -> None:
    assert stops_after(TargetInterval(0.02, 6), [5.0] * 10) == 6


def test_interval_is_inside_the_target_when_the_rule_says_so() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        times = list(np.exp(0.05 * rng.standard_normal(2000)))
        n = stops_after(TargetInterval(0.01, 6), times)
        assert n is not None
        assert relative_half_width(times[:n]) <= 0.01


def test_lucky_streaks_rarely_end_a_noisy_point() -> None:
    """Looking after every sample would stop more often before the interval is worth its name."""
    rng = np.random.default_rng(1)
    early = 0
    for _ in range(60):
        times = list(np.exp(0.05 * rng.standard_normal(400)))
        n = stops_after(TargetInterval(0.01, 6), times) or 400
        early += n < 20
    assert early <= 3


def test_limits() -> None:
    assert stops_after(SampleLimit(3), QUIET_MS) == 3
    assert stops_after(TimeLimit(0.05), QUIET_MS) == 5
    assert stops_after(TimeLimit(1e9), QUIET_MS) is None


@pytest.mark.parametrize(("series", "n", "why"), [(QUIET_MS, 6, "inside the target"), (NOISY_MS, 9, "9 samples taken")])
def test_first_of_gives_the_reason_of_the_rule_that_ended_it(series: Sequence[float], n: int, why: str) -> None:
    rule = FirstOf([TargetInterval(0.02, 6), SampleLimit(9), TimeLimit(1.0)])
    assert stops_after(rule, series) == n
    assert why in rule.reason()


def test_timeout_is_named_with_its_length() -> None:
    rule = FirstOf([TargetInterval(0.02, 6), SampleLimit(100), TimeLimit(0.04)])
    assert stops_after(rule, NOISY_MS) == 4
    assert rule.reason() == "timeout of 0.04 s"


def test_a_lucky_spell_shorter_than_the_least_time_does_not_end_a_point() -> None:
    rule = TargetInterval(0.02, min_samples=6, min_time_s=0.1)
    for n in range(1, 100):
        rule.add(1e-3, n * 1e-3)
        assert not rule.done()
    rule.add(1e-3, 0.1)
    assert rule.done()
