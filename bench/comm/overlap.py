"""A non-blocking all-reduce beside compute: how much of it hides."""

from __future__ import annotations

import time

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.comm.collectives import SIZE
from sprintprof.bench.messages.compute import Compute
from sprintprof.bench.messages.nodes import nodes_of
from sprintprof.bench.messages.operands import DTYPES, block, block_sum, difference, element_count
from sprintprof.bench.messages.setup import PLACEMENT, PRECISION, prepare
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.records import Value


@benchmark(
    "allreduce_overlap",
    group="mpi",
    axes=(
        SIZE,
        Axis("compute_ratio", float, 1.2, "compute time over the time of the all-reduce alone"),
        Axis("progress", int, 8, "times MPI is asked for progress during the compute; 0: never"),
        Axis("dimension", int, 128, "of the matrix products"),
        PRECISION,
        PLACEMENT,
    ),
    summary="a non-blocking all-reduce beside compute: the share of it that hides",
    window="start of the all-reduce, compute, wait for the all-reduce; both alone are timed beside it",
    formula="overlap = (communication alone + compute alone − both) / communication alone, cut to 0..1",
    engines=("numpy", "cupy"),
    parallel=True,
    min_ranks=2,
    columns={"overlap_fraction": float, "communication_s": float, "compute_s": float, "products": int, "nodes": int},
)
def allreduce_overlap(case: Case) -> Work:
    """MPI_Iallreduce on host buffers; matrix products on the engine. Without asynchronous progress in the library
    (MPICH, Intel MPI) little hides unless MPI is asked during the compute."""
    size, precision, progress = case.int("size_bytes"), case.str("precision"), case.int("progress")
    ratio = float(case.parameters["compute_ratio"])
    count = element_count(size, precision)
    if not ratio > 0 or progress < 0 or case.int("dimension") < 1:
        raise Skip("compute_ratio and dimension are above 0, progress is 0 or more")
    prepare(case, "allreduce", size, 2 * size)
    comm = case.comm
    send = block(comm.rank, count, precision, case.seed)
    receive = np.zeros(count, DTYPES[precision])
    compute = Compute(case.engine, comm, case.int("dimension"), case.seed)

    def communicate() -> float:
        began = time.perf_counter()
        comm.Iallreduce(send, receive).Wait()
        return time.perf_counter() - began

    alone = sorted(max(comm.allgather(communicate())) for _ in range(5))[2]
    products = compute.products_for(comm, ratio * alone)
    every = max(products // progress, 1) if progress else 0
    rows: list[tuple[float, float, float]] = []

    def both() -> float:
        done = 0
        began = time.perf_counter()
        request = comm.Iallreduce(send, receive)

        def ask() -> None:
            nonlocal done
            done += 1
            if done % every == 0:
                request.Test()

        compute.run(products, ask if every else None)
        request.Wait()
        return time.perf_counter() - began

    def sample() -> float:
        alone_s = communicate()
        comm.Barrier()
        compute_s = compute.run(products)
        comm.Barrier()
        receive.fill(0)
        rows.append((alone_s, compute_s, both()))
        return rows[-1][2]

    extra: dict[str, Value] = {"products": products, "nodes": len(set(nodes_of(comm)))}

    def verify() -> str:
        slowest = np.max(comm.allgather(np.array(rows)), axis=0)
        communication, computed, together = slowest.T
        hidden = np.clip((communication + computed - together) / communication, 0.0, 1.0)
        extra.update(
            overlap_fraction=float(np.median(hidden)),
            communication_s=float(np.median(communication)),
            compute_s=float(np.median(computed)),
        )
        return difference(receive, block_sum(comm.size, count, precision, case.seed), "the sum")

    return Work(
        call=sample,
        timed=sample,
        bytes=float(size),
        working_set_bytes=2 * size + compute.bytes,
        cache="untouched",
        path="none",
        verify=verify,
        close=compute.close,
        extra=extra,
    )
