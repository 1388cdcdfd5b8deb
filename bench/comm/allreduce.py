"""All-reduce: the operation every synchronous step and every SPRINT update waits for."""

from __future__ import annotations

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.comm.collectives import SIZE, WINDOW, measured
from sprintprof.bench.messages.operands import block_sum, difference
from sprintprof.bench.messages.setup import COLUMNS, PLACEMENT, PRECISION
from sprintprof.bench.registry import Axis, benchmark

ALGORITHMS = ("library",)


@benchmark(
    "allreduce",
    group="mpi",
    axes=(SIZE, Axis("algorithm", str, "library", ", ".join(ALGORITHMS)), PRECISION, PLACEMENT),
    summary="the sum of all ranks' vectors on all ranks",
    window=WINDOW,
    formula="algbw = size_bytes / time; busbw = algbw · 2(p−1)/p",
    parallel=True,
    min_ranks=2,
    columns=COLUMNS,
)
def allreduce(case: Case) -> Work:
    """The library's MPI_Allreduce with MPI_SUM."""
    algorithm = case.str("algorithm")
    if algorithm not in ALGORITHMS:
        raise Skip(f"no all-reduce '{algorithm}': there are {', '.join(ALGORITHMS)}")
    if case.comm is None:
        raise Skip("no MPI world")
    ranks = case.comm.size
    return measured(
        case,
        "allreduce",
        declared=float(case.int("size_bytes")),
        check=lambda got: difference(got, block_sum(ranks, got.size, case.str("precision"), case.seed), "the sum"),
    )
