"""The harness against a bare loop around the same kernel, in turns, in one process: medians and own time per sample."""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from sprintprof.bench.case import Work
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.measure import measure_point
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.records import Measurement, Point

GOAL = 0.02
WARM_SAMPLES = 20
WARM_S = 6.0
MOST_TURNS = 301
COLD_SAMPLES = 300
COLD_S = 8.0
TARGETS_S = (50e-6, 200e-6, 2e-3)

POINT = Point("harness_overhead", "numpy", {})

Call = Callable[[], object]


def kernel_of(target_s: float) -> tuple[Call, Call]:
    """A chain of NumPy operations on 64 KiB that takes about `target_s` when warm; and a short one on other operands."""

    def chain(elements: int, turns: int) -> Call:
        values = np.ones(elements)
        scratch = np.empty_like(values)

        def call() -> None:
            for _ in range(turns):
                np.multiply(values, 0.999, out=scratch)

        return call

    best_s = min(_time(chain(8192, 100)) for _ in range(20)) / 100
    return chain(8192, max(round(target_s / best_s), 1)), chain(8, 2)


def _time(call: Call) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _nothing() -> None:
    return None


def compare_warm(target_s: float) -> bool:
    """Harness and bare loop in turns, who is first changing: a few ms each, so that both meet the same machine."""
    engine, clock = NumpyEngine(), RunClock()
    call, _ = kernel_of(target_s)
    settings = HarnessSettings(
        cache="warm", target_ci=1e-9, max_samples=WARM_SAMPLES, timeout_s=60.0, warmup_timeout_s=0.05
    )
    found: list[Measurement] = []

    def harness() -> float:
        found.append(measure_point(POINT, Work(call), engine, settings, clock))
        return found[-1].median_s

    def bare() -> float:
        return statistics.median(_time(call) for _ in range(WARM_SAMPLES))

    turns: list[list[float]] = []
    for turn in range(min(int(WARM_S / (3 * WARM_SAMPLES * target_s)), MOST_TURNS)):
        times_s = [0.0, 0.0, 0.0]
        for place in range(3):
            who = (place + turn) % 3
            times_s[who] = (harness, bare, bare)[who]()
        turns.append(times_s)
    difference = statistics.median(mine / math.sqrt(one * other) for mine, one, other in turns) - 1
    control = statistics.median(one / other for _, one, other in turns) - 1
    return report("warm", statistics.median(one for _, one, _ in turns), difference, control, found)


def compare_cold(target_s: float) -> bool:
    """Every sample of the harness is preceded by two to four of a bare loop, with the same treatment of caches.

    A flush wipes out what the neighbour left, so samples can take turns one by one. Their number is random, so as not to
    fall in step with other processes.
    """
    engine, clock = NumpyEngine(), RunClock()
    call, prime = kernel_of(target_s)
    settings = HarnessSettings(
        cache="cold", target_ci=1e-9, max_samples=COLD_SAMPLES, timeout_s=COLD_S, warmup_timeout_s=0.5
    )
    bare: list[tuple[float, float]] = []
    rng = random.Random(0)

    def bare_sample() -> float:
        engine.flush_caches()
        prime()
        _time(_nothing)
        return _time(call)

    def bare_samples() -> None:
        times_s = [bare_sample() for _ in range(rng.randint(2, 4))]
        bare.append((times_s[0], times_s[-1]))

    work = Work(call, prime=prime, before_sample=bare_samples)
    found = measure_point(POINT, work, engine, settings, clock)
    one, other = np.array(bare[-len(found.samples) :]).T
    difference = float(np.median(found.samples.time_s / np.sqrt(one * other))) - 1
    control = float(np.median(one / other)) - 1
    return report("cold", float(np.median(one)), difference, control, [found])


def report(cache: str, bare_s: float, difference: float, control: float, found: list[Measurement]) -> bool:
    """Print the figure of one kernel; True if the goal is reached."""
    ok = abs(difference) <= GOAL
    name = f"harness against bare loop, {cache} caches, kernel of {1e6 * bare_s:.0f} µs"
    print(f"FIGURE {name}: {100 * difference:+.2f} % (goal within ±2 %) {'PASS' if ok else 'FAIL'}")
    inside_s = statistics.median(float(m.extra["overhead_s"]) for m in found)
    outside_s = statistics.median(float(m.extra["outside_s"]) for m in found)
    print(
        f"  bare loop against itself {100 * control:+.2f} %; own time in the window {1e9 * inside_s:.0f} ns per call,"
        f" outside it {1e6 * outside_s:.1f} µs per sample; {len(found[0].samples)} samples"
    )
    return ok


def main() -> int:
    """Compare for every kernel and cache state; 0 if every goal is reached."""
    with threadpool_limits(limits=1):
        warm = [compare_warm(target_s) for target_s in TARGETS_S]
        cold = [compare_cold(target_s) for target_s in TARGETS_S]
    return 0 if all(warm + cold) else 1


if __name__ == "__main__":
    sys.exit(main())
