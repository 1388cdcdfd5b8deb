"""How far apart ranks end the same work: what an update thread waits for."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.messages.compute import Compute
from sprintprof.bench.messages.nodes import nodes_of
from sprintprof.bench.messages.setup import PLACEMENT, prepare
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.records import Value


@benchmark(
    "skew",
    group="mpi",
    axes=(
        Axis("dimension", int, 256, "of the matrix products"),
        Axis("products", int, 8, "matrix products of one cycle"),
        PLACEMENT,
    ),
    summary="the same compute on every rank at once: how much later than the mean the last one ends",
    window="one cycle of matrix products on each rank, begun together; time is the slowest rank's",
    formula="skew = mean over cycles of (slowest rank − mean of the ranks)",
    engines=("numpy", "cupy"),
    parallel=True,
    min_ranks=2,
    columns={"skew_s": float, "rank_mean_s": float, "nodes": int},
)
def skew(case: Case) -> Work:
    """Every rank's time is kept with the samples, so that the skew of more ranks can be drawn from them."""
    products = case.int("products")
    if products < 1 or case.int("dimension") < 1:
        raise Skip("products and dimension are above 0")
    prepare(case, "barrier", 0, 0)
    comm = case.comm
    compute = Compute(case.engine, comm, case.int("dimension"), case.seed)
    took: list[float] = []
    extra: dict[str, Value] = {"nodes": len(set(nodes_of(comm)))}

    def cycle() -> float:
        took.append(compute.run(products))
        return took[-1]

    def verify() -> str:
        cycles = np.array(comm.allgather(np.array(took[len(took) // 5 :])))  # the first fifth is warm-up
        extra.update(
            skew_s=float(np.mean(cycles.max(axis=0) - cycles.mean(axis=0))), rank_mean_s=float(np.mean(cycles))
        )  # fmt: skip
        return "" if np.isfinite(cycles).all() else "a cycle took no finite time"

    return Work(
        call=cycle,
        timed=cycle,
        working_set_bytes=compute.bytes,
        cache="untouched",
        path="none",
        verify=verify,
        close=compute.close,
        extra=extra,
    )
