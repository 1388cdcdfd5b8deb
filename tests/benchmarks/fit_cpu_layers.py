"""Layer fits T(b) = a + c·b of the CPU engine: error at batch sizes that were left out, as the profile states it.

Warm caches, as in the suite `quick`: with a flush before each sample the smallest kernels (10 µs) shift by a factor of
two between points on a shared machine, which is printed beside it and is no property of the fit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GOAL = 0.10
SUITE = """
[settings]
timeout_s = 0.12
warmup_timeout_s = 0.05
[[network]]
name = "lenet5"
batch = [1, 2, 4, 8, 16, 32]
"""


def layer_error(cache: str) -> dict[str, Any]:
    """The quality line of all layer fits, of a run of its own."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "lenet5.toml").write_text(SUITE)
        for words in (
            ["run", "--suite", "lenet5.toml", "--engine", "numpy", "--threads", "1", "--cache", cache, "-o", "r.h5"],
            ["fit", "r.h5", "-o", "p.json"],
        ):
            done = subprocess.run(
                [sys.executable, "-m", "sprintprof", *words], cwd=here, capture_output=True, text=True
            )
            if done.returncode:
                raise SystemExit(f"{words[0]}: exit {done.returncode}: {done.stderr[-500:]}")
        profile = json.loads((here / "p.json").read_text())
    (line,) = [q for q in profile["quality"] if q["level"] == "layer" and q["benchmark"] == "*"]
    print(f"{cache}: {line['fits']} fits, {line['error']['points']} points left out in turn", flush=True)
    return dict(line["error"])


def main() -> int:
    """Measure every kernel call of LeNet-5 at six sub-batches, fit, read the quality table of the profile."""
    warm, cold = layer_error("warm"), layer_error("cold")
    print(
        f"warm: 90th percentile {100 * warm['p90']:.1f} %, worst {100 * warm['worst']:.0f} % at {warm['worst_point']}"
    )
    good = warm["median"] <= GOAL
    print(
        f"FIGURE layer fits of the CPU engine, batch sizes left out, median error: {100 * warm['median']:.1f} % warm, "
        f"{100 * cold['median']:.1f} % cold (goal ≤ {100 * GOAL:.0f} % warm) {'PASS' if good else 'FAIL'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
