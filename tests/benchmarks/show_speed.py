"""`sprintprof show` on a file of 10,000 points, as a process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sprintprof.records import Measurement, Point, RunHeader, SampleSet
from sprintprof.store import write_results

GOAL_S = 1.0


def main() -> int:
    """Write the file, show it seven times."""
    points = [Point("gemm", "numpy", {"m": i, "n": i % 7, "precision": "fp32"}) for i in range(10_000)]
    times = np.random.default_rng(0).normal(1e-3, 1e-5, (10_000, 30))
    rows = [
        Measurement(
            p, "ok", flop=1e6, bytes=1e6, median_s=1e-3, low_s=1e-3, high_s=1e-3, min_s=1e-3, first_s=1e-3,
            samples=SampleSet({"time_s": t}),
        )
        for p, t in zip(points, times, strict=True)
    ]  # fmt: skip
    header = RunHeader("r", "2026-01-01", "box", [], "0", points, {}, [{}], [0])
    took = []
    with tempfile.TemporaryDirectory() as name:
        path = write_results(Path(name) / "r.h5", header, rows)
        for _ in range(7):
            began = time.monotonic()
            subprocess.run([sys.executable, "-m", "sprintprof", "show", str(path)], check=True, capture_output=True)
            took.append(time.monotonic() - began)
    middle = statistics.median(took)
    print(f"FIGURE show of 10,000 points: {middle:.2f} s (goal ≤ {GOAL_S} s) {'PASS' if middle <= GOAL_S else 'FAIL'}")
    return 0 if middle <= GOAL_S else 1


if __name__ == "__main__":
    sys.exit(main())
