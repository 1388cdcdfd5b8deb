"""When a point has enough samples: small rules of three methods, fed with samples and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sprintprof.bench.harness.warmup import steady_change
from sprintprof.stats.median import MIN_SAMPLES, relative_half_width


class StoppingRule(Protocol):
    """Fed with every sample; says when to stop, and why."""

    def add(self, time_s: float, elapsed_s: float) -> None:
        """Take in a sample and the time since sampling began."""
        ...

    def done(self) -> bool:
        """True when no further sample is wanted."""
        ...

    def reason(self) -> str:
        """Why it is done; "" while it is not."""
        ...


def next_look(n: int) -> int:
    """The number of samples at which an interval is looked at again after having been looked at with `n`."""
    return n + max(MIN_SAMPLES, n // 4)


class TargetInterval:
    """Done when half the 95 % interval of the median is within `target` of the median, and no trend exceeds it.

    It is looked at after `min_samples` and `min_time_s`, and then at `next_look` only: looking after every sample would
    stop too often on a lucky streak, and cost more; and samples of a few ms can all lie in one quiet or busy spell. A
    few samples that rise or fall steadily have a narrow interval around a value that does not last; sampling goes on
    until the trend shows in the interval, or is over.
    """

    def __init__(self, target: float, min_samples: int, min_time_s: float = 0.0) -> None:
        self._target = target
        self._min_time_s = min_time_s
        self._next_look = min_samples
        self._times_s: list[float] = []
        self._reached: float | None = None

    def add(self, time_s: float, elapsed_s: float) -> None:
        self._times_s.append(time_s)
        n = len(self._times_s)
        if self._reached is None and n >= self._next_look and elapsed_s >= self._min_time_s:
            self._next_look = next_look(n)
            half_width = relative_half_width(self._times_s)
            if half_width <= self._target and not steady_change(self._times_s, self._target):
                self._reached = half_width

    def done(self) -> bool:
        return self._reached is not None

    def reason(self) -> str:
        if self._reached is None:
            return ""
        return f"interval ±{100 * self._reached:.2g} % inside the target ±{100 * self._target:.2g} %"


class SampleLimit:
    """Done after `limit` samples."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0

    def add(self, time_s: float, elapsed_s: float) -> None:
        self._count += 1

    def done(self) -> bool:
        return self._count >= self._limit

    def reason(self) -> str:
        return f"{self._limit} samples taken" if self.done() else ""


class TimeLimit:
    """Done when `limit_s` is over. It cannot end a sample that is running."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._elapsed_s = 0.0

    def add(self, time_s: float, elapsed_s: float) -> None:
        self._elapsed_s = elapsed_s

    def done(self) -> bool:
        return self._elapsed_s >= self._limit_s

    def reason(self) -> str:
        return f"timeout of {self._limit_s:g} s" if self.done() else ""


class FirstOf:
    """Done when the first of several rules is; earlier ones give the reason if several are."""

    def __init__(self, rules: Sequence[StoppingRule]) -> None:
        self._rules = tuple(rules)

    def add(self, time_s: float, elapsed_s: float) -> None:
        for rule in self._rules:
            rule.add(time_s, elapsed_s)

    def done(self) -> bool:
        return any(rule.done() for rule in self._rules)

    def reason(self) -> str:
        return next((rule.reason() for rule in self._rules if rule.done()), "")
