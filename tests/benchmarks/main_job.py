"""The main job as a user runs it: how long `quick` takes, whether two runs agree, how fast the command starts."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

QUICK_GOAL_S = 60.0
HELP_GOAL_S = 0.5
VERDICT_GOAL = 0.05


def sprintprof(*words: str, cwd: Path) -> tuple[str, float]:
    """(stdout, wall seconds) of a command that must succeed."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "sprintprof", *words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"sprintprof {' '.join(words)}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout, time.monotonic() - began


def figure(name: str, value: str, goal: str, good: bool) -> bool:
    print(f"FIGURE {name}: {value} (goal {goal}) {'PASS' if good else 'FAIL'}", flush=True)
    return good


def main() -> int:
    """Measure twice, fit, predict, compare."""
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    good = True
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        starts = [sprintprof("--help", cwd=here)[1] for _ in range(7)]
        middle = statistics.median(starts)
        good &= figure("--help, median of 7 processes", f"{middle:.2f} s", f"≤ {HELP_GOAL_S} s", middle <= HELP_GOAL_S)
        run = ("run", "--suite", "quick", "--ranks", "4", "--threads", "1", "--engine", "numpy")
        _, took = sprintprof(*run, "-o", "a.h5", cwd=here)
        good &= figure("suite quick, 4 ranks", f"{took:.0f} s", f"≤ {QUICK_GOAL_S:.0f} s", took <= QUICK_GOAL_S)
        sprintprof(*run, "-o", "b.h5", cwd=here)
        sprintprof("fit", "a.h5", "-o", "p.json", cwd=here)
        told, _ = sprintprof(
            "predict", "p.json", "--network", "resnet50", "--nodes", "16", "--gpus-per-node", "4", "--sub-batch", "8",
            "--json", "-", cwd=here,
        )  # fmt: skip
        there = "t_allreduce" in json.loads(told)["terms"]["update_cycle"]
        good &= figure("prediction for 16 nodes has an all-reduce", "yes" if there else "no", "yes", there)
        compared = json.loads(sprintprof("compare", "a.h5", "b.h5", "--json", "-", cwd=here)[0])
        words = Counter(compared["pairs"][0]["counts"])
        total = sum(words.values())
        decided = total - words["same"] - words["not enough data"]
        shares = ", ".join(f"{count} {word}" for word, count in words.items())
        good &= figure(
            "two runs of quick: verdicts other than same or not enough",
            f"{100 * decided / total:.1f} % of {total} ({shares})",
            f"≤ {100 * VERDICT_GOAL:.0f} %",
            decided <= VERDICT_GOAL * total,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
