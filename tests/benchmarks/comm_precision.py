"""Message benchmarks against an equal C program on the same MPI, taken in turns: how much do we add?

8-byte latency at most 1.15 times, 1 MiB bandwidth at least 0.97 times that of the C program. Noise on a shared
machine only ever adds time, so the least of the turns' medians is compared.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sprintprof.bench.messages.native import find_mpicc
from sprintprof.bench.world.launch import find_starter, launch_environment

TURNS = 6
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
static double median(int rank, int bytes, int windows, int batches, int per_batch) {
    double *t = malloc(sizeof(double) * batches), result;
    for (int b = -batches / 5 - 1; b < batches; b++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < per_batch; i++) windows ? window(rank, bytes) : pingpong(rank, bytes);
        if (b >= 0) t[b] = (MPI_Wtime() - begin) / per_batch / (windows ? 64 : 2);
    }
    qsort(t, batches, sizeof(double), compare);
    result = t[batches / 2];
    free(t);
    return result;
}
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(out, 1, sizeof out);
    memset(in, 1, sizeof in);
    double small = median(rank, 8, 0, 400, 500), large = median(rank, 1 << 20, 1, 60, 1);
    if (rank == 0) printf("%.9e %.9e\n", small, large);
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
        settings = HarnessSettings(target_ci=0.003, timeout_s=1.5, warmup_timeout_s=1.0)
        measured = measure_parallel(Point(name, "numpy", parameters, 2), work, world.comm, settings, clock)
        if measured is not None:
            assert measured.status == "ok", measured.reason
            found += [f"{{measured.median_s:.9e}}", str(measured.extra["driver"])]
if world.rank == 0:
    print(*found)
sys.exit(close_world(world, 0))
"""


def run_ranks(program: list[str]) -> list[str]:
    """Words that two ranks of `program` print."""
    starter = find_starter(2)
    environ = launch_environment(starter)
    done = subprocess.run(
        [starter.path, "-n", "2", *program], env=environ, capture_output=True, text=True, timeout=TURN_TIMEOUT_S
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split()


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
        rows = []
        for _ in range(TURNS):
            c_small, c_large = map(float, run_ranks([str(program)]))
            small, driver, large, _ = run_ranks([sys.executable, str(ranks)])
            rows.append((c_small, float(small), c_large, float(large)))
            print(f"C {c_small * 1e6:.3f} µs, ours {float(small) * 1e6:.3f} µs ({driver}); "
                  f"C {LARGE / c_large / 1e9:.2f} GB/s, ours {LARGE / float(large) / 1e9:.2f} GB/s")  # fmt: skip
    c_small, our_small, c_large, our_large = (min(column) for column in zip(*rows, strict=True))
    latency, bandwidth = our_small / c_small, c_large / our_large
    ok = figure("mpi_latency_8_bytes_vs_c", latency, "ratio", "<= 1.15", latency <= 1.15)
    return 0 if figure("mpi_bandwidth_1_mib_vs_c", bandwidth, "ratio", ">= 0.97", bandwidth >= 0.97) and ok else 1


if __name__ == "__main__":
    sys.exit(main())
