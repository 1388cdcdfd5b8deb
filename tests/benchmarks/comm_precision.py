"""Message benchmarks against an equal C program on the same MPI, taken in turns: how much do we add?

8-byte latency at most 1.15 times, 1 MiB bandwidth at least 0.97 times that of the C program. Noise on a shared
machine only ever adds time, so the least batch of all turns is compared (batches of both are about equally long, and
about equally many); the medians of each turn are printed beside it.
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

TURNS = 5
TURN_TIMEOUT_S = 40
SMALL, LARGE, WINDOW = 8, 1 << 20, 64

C_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return (x > y) - (x < y); }
static char out[1 << 20], in[1 << 20];
static void pingpong(int rank, int bytes) {
    if (rank == 0) {
        MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}
static void window(int rank, int bytes) {
    MPI_Request r[64];
    for (int i = 0; i < 64; i++)
        if (rank == 0) MPI_Isend(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[i]);
        else MPI_Irecv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(64, r, MPI_STATUSES_IGNORE);
    if (rank == 0) MPI_Recv(in, 4, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(out, 4, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}
static void measure(int rank, int bytes, int windows, int batches, int per_batch) {
    double *t = malloc(sizeof(double) * batches);
    int b = 0, go = 1;
    double start = MPI_Wtime();
    while (go) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < per_batch; i++) windows ? window(rank, bytes) : pingpong(rank, bytes);
        double now = MPI_Wtime();
        if (begin > start + 0.5 && b < batches) t[b++] = (now - begin) / per_batch / (windows ? 64 : 2);
        go = b < batches && (now < start + 2.0 || b < 6);
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(t, b, sizeof(double), compare);
    if (rank == 0) printf("%.9e %.9e ", t[b / 2], t[0]);
    free(t);
}
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(out, 1, sizeof out);
    memset(in, 1, sizeof in);
    measure(rank, 8, 0, 1000, 500);
    measure(rank, 1 << 20, 1, 100, 1);
    MPI_Finalize();
    return 0;
}
"""

RANK_PROGRAM = f"""
import sys
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
clock, found = RunClock(), []
with guard(world):
    for name, given in (("pingpong", dict(size_bytes={SMALL})), ("bandwidth", dict(size_bytes={LARGE}, window={WINDOW}))):
        bench = get_benchmark(name)
        parameters = bench.parameters(given)
        work = bench.build(Case(parameters, get_engine("numpy"), world.comm))
        settings = HarnessSettings(target_ci=0.001, timeout_s=1.5, warmup_timeout_s=0.5)
        measured = measure_parallel(Point(name, "numpy", parameters, 2), work, world.comm, settings, clock)
        if measured is not None:
            assert measured.status == "ok", measured.reason
            assert measured.extra["driver"] == "c-loop", measured.extra["driver"]
            found += [measured.median_s, measured.min_s]
if world.rank == 0:
    print(*(f"{{value:.9e}}" for value in found))
sys.exit(close_world(world, 0))
"""


def run_ranks(program: list[str]) -> list[float]:
    """Median and least latency, median and least time of a message of the window, as two ranks of `program` print."""
    starter = find_starter(2)
    tag = f"precision-{os.getpid()}"
    environ = {**launch_environment(starter), "SPRINTPROF_LAUNCH": tag}
    try:
        done = subprocess.run(
            [starter.path, "-n", "2", *program], env=environ, capture_output=True, text=True, timeout=TURN_TIMEOUT_S
        )
    finally:
        kill_tagged(tag, grace_s=1.0)  # ranks of a launcher that was killed spin on and spoil what comes next
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [float(word) for word in done.stdout.split()]


def figure(name: str, value: float, unit: str, goal: str, passed: bool) -> bool:
    print(f"FIGURE {name}: {value:.4g} {unit} (goal {goal}) {'PASS' if passed else 'FAIL'}")
    return passed


def main() -> int:
    """Take turns and compare."""
    mpicc = find_mpicc()
    if mpicc is None:
        print("SKIP no mpicc: there is no C program to compare with")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        source, program, ranks = (Path(folder) / name for name in ("equal.c", "equal", "ranks.py"))
        source.write_text(C_PROGRAM)
        ranks.write_text(RANK_PROGRAM)
        subprocess.run([mpicc, "-O2", "-o", str(program), str(source)], check=True, timeout=60)
        turns = []
        for _ in range(TURNS):
            turns.append([run_ranks([str(program)]), run_ranks([sys.executable, str(ranks)])])
            for name, (small, least_small, large, least_large) in zip(("C", "ours"), turns[-1], strict=True):
                print(f"{name}: {small * 1e6:.3f} (least {least_small * 1e6:.3f}) µs, "
                      f"{LARGE / large / 1e9:.2f} (most {LARGE / least_large / 1e9:.2f}) GB/s")  # fmt: skip
    c, ours = ([min(column) for column in zip(*rows, strict=True)] for rows in zip(*turns, strict=True))
    latency, bandwidth = ours[1] / c[1], c[3] / ours[3]
    ok = figure("mpi_latency_8_bytes_vs_c", latency, "ratio", "<= 1.15", latency <= 1.15)
    return 0 if figure("mpi_bandwidth_1_mib_vs_c", bandwidth, "ratio", ">= 0.97", bandwidth >= 0.97) and ok else 1


if __name__ == "__main__":
    sys.exit(main())
