"""Verdicts on pairs whose truth is known: simulated A/A and 5 % pairs, and real A/A pairs on this machine.

Real: 100 launches of three NumPy kernels in processes of their own, one after the other, 30 samples a kernel and launch.
Neighbours form the pairs: judged one by one (one launch a side), as the points of two results files, and as 10 pairs of
five launches a side, interleaved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np

from sprintprof.stats.compare import compare_samples
from sprintprof.stats.pool import compare_points

PAIRS, SAMPLES, NOISE, REAL_PAIRS = 1000, 30, 0.02, 50

LAUNCH = """
import json, sys, time
import numpy as np
rng = np.random.default_rng(0)
a, b, c = (rng.standard_normal((384, 384), np.float32) for _ in range(3))
x, y, z = (rng.random(2_000_000, np.float32) for _ in range(3))
s = rng.standard_normal(50_000)
kernels = {
    "gemm": lambda: np.matmul(a, b, out=c),
    "add": lambda: np.add(x, y, out=z),
    "sort": lambda: np.sort(s),
}
out = {}
for name, kernel in kernels.items():
    for _ in range(5):
        kernel()
    out[name] = []
    for _ in range(int(sys.argv[1])):
        begin = time.perf_counter()
        kernel()
        out[name].append(time.perf_counter() - begin)
json.dump(out, sys.stdout)
"""


def simulated(rng: np.random.Generator, correlation: float = 0.0, shift: float = 0.0) -> np.ndarray:
    """SAMPLES times with NOISE, as an autoregressive series, and a shift of the run as a whole."""
    noise = rng.normal(size=SAMPLES + 50)
    for i in range(1, SAMPLES + 50):
        noise[i] = correlation * noise[i - 1] + np.sqrt(1 - correlation**2) * noise[i]
    return 1e-3 * (1 + NOISE * noise[50:]) * np.exp(shift * rng.normal())


def judged(words: list[str]) -> float:
    """Share of the verdicts faster and slower."""
    return sum(word in ("faster", "slower") for word in words) / len(words)


def figure(name: str, value: float, goal: float, at_least: bool = False) -> bool:
    """Print one figure in percent and return whether it is in its goal."""
    good = value >= goal if at_least else value <= goal
    sign = "≥" if at_least else "≤"
    print(f"FIGURE {name}: {100 * value:.1f} % (goal {sign} {100 * goal:g} %) {'PASS' if good else 'FAIL'}")
    return good


def real_launches(count: int) -> list[dict[str, list[float]]]:
    """Samples by kernel of `count` processes, one after the other."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LAUNCH, str(SAMPLES)]
    return [json.loads(subprocess.run(command, check=True, capture_output=True, env=env).stdout) for _ in range(count)]


def main() -> int:
    rng = np.random.default_rng(20250101)
    began = time.monotonic()
    same = [compare_samples(simulated(rng), simulated(rng)).word for _ in range(PAIRS)]
    slower = [compare_samples(simulated(rng), 1.05 * simulated(rng)).word for _ in range(PAIRS)]
    hanging = [compare_samples(simulated(rng, 0.6), simulated(rng, 0.6)).word for _ in range(PAIRS // 4)]
    shifted = [compare_samples(simulated(rng, shift=0.01), simulated(rng, shift=0.01)).word for _ in range(PAIRS // 4)]
    ok = [
        figure("false verdicts, 1,000 simulated A/A pairs", judged(same), 0.05),
        figure("found, 1,000 simulated 5 % pairs", slower.count("slower") / PAIRS, 0.95, at_least=True),
        figure("false verdicts, simulated A/A with autocorrelation 0.6", judged(hanging), 0.05),
        figure("false verdicts, simulated A/A with runs that shift by 1 %", judged(shifted), 0.05),
    ]
    launches = real_launches(2 * REAL_PAIRS)
    pairs = list(zip(launches[::2], launches[1::2], strict=True))
    names = list(launches[0])
    sides = [(np.array(a[name]), np.array(b[name])) for a, b in pairs for name in names]
    alone = [compare_samples(*sides[i * len(names) + i % len(names)]).word for i in range(REAL_PAIRS)]
    files = [verdict.word for verdict in compare_points(sides)[0]]
    many = []
    for first in range(0, 2 * REAL_PAIRS, 10):
        for name in names:
            a, b = ([launch[name] for launch in launches[first + side : first + 10 : 2]] for side in (0, 1))
            many.append(compare_samples(a, b).word)
    ok += [
        figure("false verdicts, 50 real A/A pairs, one launch a side", judged(alone), 0.1),
        figure("false verdicts, 150 real A/A points as two files", judged(files), 0.05),
        figure("false verdicts, 30 real A/A pairs, five launches a side", judged(many), 0.1),
    ]
    noise = np.median([np.subtract(*np.quantile(a, [0.75, 0.25])) / 1.349 / np.median(a) for a, _ in sides])
    apart = [abs(np.log(np.median(a) / np.median(b))) for a, b in sides]
    middle, far = np.quantile(apart, [0.5, 0.95])
    print(
        f"noise within a launch {100 * noise:.1f} %; medians of two launches apart by {100 * middle:.1f} %, in 5 % of"
    )
    print(f"pairs by over {100 * far:.0f} %; load average {os.getloadavg()[0]:.1f}; {time.monotonic() - began:.0f} s")
    return 0 if all(ok) else 1


if __name__ == "__main__":
    sys.exit(main())
