"""All-reduce: the operation every synchronous step and every SPRINT update waits for."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.comm.collectives import SIZE, WINDOW
from sprintprof.bench.messages.choose import rounds_for
from sprintprof.bench.messages.nodes import nodes_of
from sprintprof.bench.messages.operands import DTYPES, block, block_sum, difference, element_count
from sprintprof.bench.messages.schedules import NAMES, parse_algorithm
from sprintprof.bench.messages.setup import COLUMNS, PLACEMENT, PRECISION, columns, prepare
from sprintprof.bench.messages.sums import fused_tensors, plan_sums
from sprintprof.bench.registry import Axis, benchmark

ALGORITHM = Axis("algorithm", str, "library", f"{', '.join(NAMES)}; the last three take :GROUP, hybrid also :SIZE")


@benchmark(
    "allreduce",
    group="mpi",
    axes=(SIZE, ALGORITHM, PRECISION, PLACEMENT),
    summary="the sum of all ranks' vectors on all ranks: the library's, or built from messages",
    window=WINDOW,
    formula="algbw = size_bytes / time; busbw = algbw · 2(p−1)/p",
    parallel=True,
    min_ranks=2,
    columns=COLUMNS,
)
def allreduce(case: Case) -> Work:
    """`library` is MPI_Allreduce with MPI_SUM; the others are schedules of sends, receives and additions."""
    return summed(case, tensors=1, fusion_bytes=0)


@benchmark(
    "allreduce_fused",
    group="mpi",
    axes=(
        Axis("size_bytes", int, 1 << 16, "length of one tensor"),
        Axis("tensors", int, 32, "tensors to be summed, one after the other"),
        Axis("fusion_bytes", int, 1 << 20, "tensors are copied together into buckets of at most this; 0: one by one"),
        ALGORITHM,
        PRECISION,
        PLACEMENT,
    ),
    summary="all-reduce of many tensors, fused into buckets: what fusion saves in α and costs in copies",
    window="all tensors once: copies into the bucket, all-reduce, copies out; the slowest rank's time",
    formula="algbw = tensors · size_bytes / time; busbw = algbw · 2(p−1)/p",
    parallel=True,
    min_ranks=2,
    columns=COLUMNS | {"buckets": int},
)
def allreduce_fused(case: Case) -> Work:
    """A gradient as frameworks sum it: layer by layer, or in buckets."""
    return summed(case, tensors=case.int("tensors"), fusion_bytes=case.int("fusion_bytes"))


def summed(case: Case, *, tensors: int, fusion_bytes: int) -> Work:
    """All-reduce of `tensors` tensors of `size_bytes` each. Collective."""
    size, precision, algorithm = case.int("size_bytes"), case.str("precision"), parse_algorithm(case.str("algorithm"))
    count = element_count(size, precision)
    if tensors < 1 or fusion_bytes < 0:
        raise Skip(f"{tensors} tensors in buckets of {fusion_bytes} bytes")
    fused = fused_tensors(size, tensors, fusion_bytes)
    buffer_bytes = (2 * tensors + (3 * fused if fused > 1 else 1)) * size
    driver = prepare(case, "allreduce", fused * size, buffer_bytes)
    comm = case.comm
    try:
        plan = plan_sums(algorithm, comm.rank, nodes_of(comm), precision, count, tensors, fused)
    except ValueError as reason:
        raise Skip(str(reason)) from None
    send = block(comm.rank, tensors * count, precision, case.seed)
    receive = np.zeros(tensors * count, DTYPES[precision])

    def run(rounds: int) -> float:
        return driver.sums(plan, send, receive, rounds)

    rounds = rounds_for(comm, run)
    extra = columns(comm, driver, rounds)
    if tensors > 1:
        extra["buckets"] = len(plan.buckets())
    return Work(
        call=lambda: run(rounds),
        timed=lambda: run(rounds),
        bytes=float(tensors * size),
        operations=rounds,
        working_set_bytes=buffer_bytes,
        cache="untouched",
        path="none",
        before_sample=lambda: receive.fill(0),
        verify=lambda: difference(receive, block_sum(comm.size, send.size, precision, case.seed), "the sum"),
        extra=extra,
    )
