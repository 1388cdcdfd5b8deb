"""The harness against a bare loop around the same kernel, in turns, in one process: medians and own time per sample."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from sprintprof.bench.case import Work
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.measure import measure_point
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.records import Point

GOAL = 0.02
ROUNDS = {"warm": 31, "cold": 15}
SAMPLES = {"warm": 60, "cold": 12}
TARGETS_S = (50e-6, 200e-6, 2e-3)


def kernel_of(target_s: float) -> tuple[Callable[[], object], Callable[[], object]]:
    """A chain of NumPy operations on 64 KiB that takes about `target_s` when warm; and a short one on other operands."""

    def chain(elements: int, turns: int) -> Callable[[], object]:
        values = np.ones(elements)
        scratch = np.empty_like(values)

        def call() -> None:
            for _ in range(turns):
                np.multiply(values, 0.999, out=scratch)

        return call

    best_s = min(_time(chain(8192, 100)) for _ in range(20)) / 100
    return chain(8192, max(round(target_s / best_s), 1)), chain(8, 2)


def _time(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _nothing() -> None:
    return None


def bare_loop(
    call: Callable[[], object], prime: Callable[[], object], engine: NumpyEngine, samples: int, cold: bool
) -> float:
    """Median of `samples` calls timed one by one, with the caches treated as the harness treats them."""
    times = []
    for _ in range(samples):
        if cold:
            engine.flush_caches()
            prime()
            _time(_nothing)
        times.append(_time(call))
    return statistics.median(times)


def compare(target_s: float, cache: Literal["cold", "warm"]) -> bool:
    """Print the figures of one kernel; True if the goal is reached."""
    engine, clock = NumpyEngine(), RunClock()
    call, prime = kernel_of(target_s)
    samples = SAMPLES[cache]
    settings = HarnessSettings(cache=cache, target_ci=1e-9, max_samples=samples, timeout_s=60.0, warmup_timeout_s=0.05)
    point = Point("harness_overhead", "numpy", {"target_s": target_s})
    overheads_s: list[float] = []
    outsides_s: list[float] = []

    def harness() -> float:
        found = measure_point(point, Work(call, prime=prime), engine, settings, clock)
        overheads_s.append(float(found.extra["overhead_s"]))
        outsides_s.append(float(found.extra["outside_s"]))
        return found.median_s

    def bare() -> float:
        return bare_loop(call, prime, engine, samples, cache == "cold")

    turns: list[tuple[float, float, float]] = []
    for turn in range(ROUNDS[cache]):  # who is first changes from turn to turn
        order = [harness, bare, bare]
        times_s = [0.0, 0.0, 0.0]
        for place in range(3):
            who = (place + turn) % 3
            times_s[who] = order[who]()
        turns.append((times_s[0], times_s[1], times_s[2]))
    difference = statistics.median(mine / ((one + other) / 2) for mine, one, other in turns) - 1
    control = statistics.median(one / other for _, one, other in turns) - 1
    bare_s = statistics.median(one for _, one, _ in turns)
    ok = abs(difference) <= GOAL
    name = f"harness against bare loop, {cache} caches, kernel of {1e6 * bare_s:.0f} µs"
    print(f"FIGURE {name}: {100 * difference:+.2f} % (goal within ±2 %) {'PASS' if ok else 'FAIL'}")
    print(
        f"  bare loop against itself {100 * control:+.2f} %;"
        f" own time in the window {1e9 * statistics.median(overheads_s):.0f} ns per call,"
        f" outside it {1e6 * statistics.median(outsides_s):.1f} µs per sample"
    )
    return ok


def main() -> int:
    """Compare for every kernel and cache state; 0 if every goal is reached."""
    with threadpool_limits(limits=1):
        warm = [compare(target_s, "warm") for target_s in TARGETS_S]
        cold = [compare(target_s, "cold") for target_s in TARGETS_S]
    return 0 if all(warm + cold) else 1


if __name__ == "__main__":
    sys.exit(main())
