"""Ranks that wait while rank 0 measures: how late they wake, and how much CPU they take meanwhile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sprintprof.bench.world.launch import find_starter, launch_environment

RANKS = 3
RANK_PROGRAM = f"""
import statistics, sys, time
from sprintprof.bench.world.finish import close_world, guard
from sprintprof.bench.world.idle import idle_until, wake
from sprintprof.bench.world.world import open_world

world = open_world({RANKS})
late, share = [], 0.0
with guard(world):
    if world.rank == 0:
        for _ in range(30):
            time.sleep(0.3)
            wake(world, time.monotonic())
        wake(world, None)
    else:
        began, used = time.monotonic(), time.process_time()
        while (sent := idle_until(world)) is not None:
            late.append(time.monotonic() - sent)
        share = (time.process_time() - used) / (time.monotonic() - began)
    rows = world.comm.gather((late, share), root=0)
    if world.rank == 0:
        print(statistics.median(x for late, _ in rows for x in late), max(share for _, share in rows))
sys.exit(close_world(world, 0))
"""


def main() -> int:
    """Measure and compare with the goals."""
    starter = find_starter(RANKS)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ranks.py"
        program.write_text(RANK_PROGRAM)
        done = subprocess.run(
            [starter.path, "-n", str(RANKS), sys.executable, str(program)],
            env=launch_environment(starter), capture_output=True, text=True, timeout=80, check=True,
        )  # fmt: skip
    late_s, share = map(float, done.stdout.split())
    good = (late_s <= 0.010, share <= 0.01)
    print(f"FIGURE idle_rank_wakes_after: {late_s * 1e3:.3f} ms (goal <= 10) {'PASS' if good[0] else 'FAIL'}")
    print(f"FIGURE idle_rank_cpu_share: {100 * share:.3f} % (goal <= 1) {'PASS' if good[1] else 'FAIL'}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
