"""Message benchmarks against an equal C loop on the same MPI, in one run: how much do we add?

8-byte latency at most 1.15 times, 1 MiB bandwidth at least 0.97 times that of C. The C loop (plain MPI calls, timed in C
as OSU's benchmarks do) runs right before every sample of ours, with the same number of messages, so that both see the
same machine; the figure is the median over the pairs. Both medians are printed beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sprintprof.bench.messages.native import find_mpicc
from sprintprof.bench.world.launch import find_starter, launch_environment
from sprintprof.bench.world.processes import kill_tagged

SMALL, LARGE, WINDOW = 8, 1 << 20, 64

C_LOOP = r"""
#include <mpi.h>
#include <string.h>
static char out[1 << 20], in[1 << 20];
double latency(int rank, int bytes, int rounds) {
    memset(out, 1, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    return (MPI_Wtime() - begin) / rounds / 2;
}
double bandwidth(int rank, int bytes, int rounds) {
    MPI_Request r[64];
    memset(out, 1, bytes);
    memset(in, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int k = 0; k < rounds; k++) {
        for (int i = 0; i < 64; i++)
            if (rank == 0) MPI_Isend(out, bytes, MPI_CHAR, 1, 100, MPI_COMM_WORLD, r + i);
            else MPI_Irecv(in, bytes, MPI_CHAR, 0, 100, MPI_COMM_WORLD, r + i);
        MPI_Waitall(64, r, MPI_STATUSES_IGNORE);
        if (rank == 0) MPI_Recv(in, 4, MPI_CHAR, 1, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(out, 4, MPI_CHAR, 0, 101, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / rounds / 64;
}
"""

RANK_PROGRAM = f"""
import ctypes, statistics, sys
from sprintprof.bench.case import Case
from sprintprof.bench.engines.select import get_engine
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.parallel import measure_parallel
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.registry import get_benchmark
from sprintprof.bench.world.finish import close_world, guard
from sprintprof.bench.world.world import open_world
from sprintprof.records import Point

world = open_world(2)
loops = ctypes.CDLL(sys.argv[1])
clock, rows = RunClock(), []
settings = HarnessSettings(target_ci=1e-4, min_samples=100, max_samples=1000, timeout_s=15.0, warmup_timeout_s=0.5)
with guard(world):
    for name, c_name, given in (
        ("pingpong", "latency", dict(size_bytes={SMALL})),
        ("bandwidth", "bandwidth", dict(size_bytes={LARGE}, window={WINDOW})),
    ):
        c_loop = getattr(loops, c_name)
        c_loop.restype, taken = ctypes.c_double, []
        bench = get_benchmark(name)
        parameters = bench.parameters(given)
        work = bench.build(Case(parameters, get_engine("numpy"), world.comm))
        before, rounds, size = work.before_sample, work.extra["rounds"], given["size_bytes"]

        def c_first():
            taken.append(c_loop(world.rank, size, rounds))
            before()

        work.before_sample = c_first
        measured = measure_parallel(Point(name, "numpy", parameters, 2), work, world.comm, settings, clock)
        if measured is not None:
            assert measured.status == "ok", measured.reason
            ours = measured.samples.time_s
            pairs = list(zip(taken[-len(ours):], ours))
            rows.append((statistics.median(o / c for c, o in pairs), statistics.median(c for c, _ in pairs),
                         measured.median_s, len(pairs), measured.extra["driver"], rounds))
for row in rows:
    print(*row)
sys.exit(close_world(world, 0))
"""


def run_ranks(program: list[str]) -> list[list[str]]:
    """Lines of words that two ranks of `program` print."""
    starter = find_starter(2)
    tag = f"precision-{os.getpid()}"
    environ = {**launch_environment(starter), "SPRINTPROF_LAUNCH": tag}
    try:
        done = subprocess.run(
            [starter.path, "-n", "2", *program], env=environ, capture_output=True, text=True, timeout=80
        )
    finally:
        kill_tagged(tag, grace_s=1.0)  # ranks of a launcher that was killed spin on and spoil what comes next
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [line.split() for line in done.stdout.splitlines()]


def figure(name: str, value: float, goal: str, passed: bool) -> bool:
    print(f"FIGURE {name}: {value:.4g} ratio (goal {goal}) {'PASS' if passed else 'FAIL'}")
    return passed


def main() -> int:
    """Measure both in turns and compare."""
    mpicc = find_mpicc()
    if mpicc is None:
        print("SKIP no mpicc: there is no C loop to compare with")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        source, library, ranks = (Path(folder) / name for name in ("equal.c", "equal.so", "ranks.py"))
        source.write_text(C_LOOP)
        ranks.write_text(RANK_PROGRAM)
        subprocess.run([mpicc, "-O2", "-fPIC", "-shared", "-o", str(library), str(source)], check=True, timeout=60)
        small, large = run_ranks([sys.executable, str(ranks), str(library)])
    for name, row in (("8 bytes", small), ("1 MiB", large)):
        c_s, ours_s = float(row[1]), float(row[2])
        print(f"{name}: C {c_s * 1e6:.3f} µs, ours {ours_s * 1e6:.3f} µs, {row[3]} pairs of {row[5]} rounds, {row[4]}")
    latency, bandwidth = float(small[0]), 1 / float(large[0])
    ok = figure("mpi_latency_8_bytes_vs_c", latency, "<= 1.15", latency <= 1.15)
    return 0 if figure("mpi_bandwidth_1_mib_vs_c", bandwidth, ">= 0.97", bandwidth >= 0.97) and ok else 1


if __name__ == "__main__":
    sys.exit(main())
