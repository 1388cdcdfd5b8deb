"""1 GB of logs through `sprintprof import auto`: MB/s on one core, peak memory; and tables without anything between.

The gigabyte is what debugging output makes of a campaign's logs: launcher lines, library messages, a table now and then.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL_MBPS = 20.0
GOAL_MEMORY_MB = 500.0
FILES, FILE_BYTES = 20, 50 << 20
DENSE_BYTES = 8 << 20
GOAL_ROWS_PER_S = 100_000
SIZES = [1 << i for i in range(21)]


def table(seed: int) -> str:
    """One all-reduce table and its launcher line."""
    rows = "".join(f"{size:<10}{3.0 + (seed % 97) / 50 + size / 2000:>18.2f}\n" for size in SIZES)
    return f"+ mpirun -np 16 -x UCX_TLS=rc osu_allreduce\n\n# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n{rows}"


def noise(count: int) -> str:
    """Lines that libraries and schedulers print."""
    lines = [
        f"node{i % 64:03d}:{20000 + i}:{20001 + i} [{i % 8}] NCCL INFO Channel {i % 32:02d}/0 : {i % 16}[{i % 8}] -> "
        f"{(i + 1) % 16}[{(i + 1) % 8}] [send] via NET/IB/{i % 4}/GDRDMA"
        if i % 3
        else f"[{1725155308.98 + i:.6f}] [node{i % 64}:{i}:0] parser.c:1916 UCX  WARN unused variable {i} (set UCX_WARN=n)"
        for i in range(count)
    ]
    return "\n".join(lines) + "\n"


def write_logs(folder: Path) -> int:
    """The gigabyte; returns its bytes."""
    quiet = noise(2600)
    total = 0
    for number in range(FILES):
        with (folder / f"job-{number:03d}.log").open("w") as stream:
            written, step = 0, 0
            while written < FILE_BYTES:
                step += 1
                written += stream.write(quiet + table(1000 * number + step) if step % 3 == 0 else quiet)
            total += written
    return total


CHILD = """
import sys, time, resource
from pathlib import Path
from sprintprof.importers.collect import import_logs
from sprintprof.importers.options import Options
began = time.process_time()
job = import_logs("auto", [Path(sys.argv[1])], Options())
parsed = time.process_time()
if len(sys.argv) > 2:
    job.write(Path(sys.argv[2]), ["sprintprof", "import"])
print(parsed - began, time.process_time() - began, job.report.rows, job.report.points,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def imported(*arguments: str) -> tuple[float, float, int, int, float]:
    """(CPU s to read, CPU s with writing, rows, points, peak MB) of an import in a process of its own."""
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=True)
    read_s, all_s, rows, points, peak_kib = done.stdout.split()
    return float(read_s), float(all_s), int(rows), int(points), float(peak_kib) * 1024 / 1e6


def figure(name: str, value: float, unit: str, goal: str, good: bool) -> bool:
    print(f"FIGURE {name}: {value:.0f} {unit} (goal {goal}) {'PASS' if good else 'FAIL'}")
    return good


def main() -> int:
    """Print the figures; 0 when the goals are met."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("SPRINTPROF_SCRATCH")) as place:
        folder = Path(place, "logs")
        folder.mkdir()
        total = write_logs(folder)
        read_s, all_s, rows, points, peak = imported(str(folder), str(Path(place, "r.h5")))
        print(
            f"{total / 1e6:.0f} MB, {rows} rows, {points} points; read {read_s:.1f} s, with the results file {all_s:.1f} s"
        )
        speed = total / 1e6 / all_s
        good = [figure("1 GB of logs to a results file", speed, "MB/s", "≥ 20", speed >= GOAL_MBPS)]
        good.append(figure("peak memory of that", peak, "MB", "≤ 500", peak <= GOAL_MEMORY_MB))
        dense = Path(place, "dense.log")
        dense.write_text("".join(table(i) for i in range(DENSE_BYTES // len(table(0)))))
        began = time.process_time()
        from sprintprof.importers.formats import osu
        from sprintprof.importers.log import Log

        count = sum(1 for _ in osu.parse(Log(dense)))
        took = time.process_time() - began
        print(f"{dense.stat().st_size / 1e6 / took:.1f} MB/s where there is nothing but tables")
        speed = count / took
        good.append(
            figure("rows read where there is nothing but tables", speed, "rows/s", "≥ 100000", speed >= GOAL_ROWS_PER_S)
        )
    return 0 if all(good) else 1


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
