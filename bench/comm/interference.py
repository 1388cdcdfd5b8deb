"""Compute beside an update thread that all-reduces without pause: the interference coefficient κ of the model."""

from __future__ import annotations

import threading

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.messages.compute import Compute
from sprintprof.bench.messages.nodes import nodes_of
from sprintprof.bench.messages.operands import DTYPES, block, block_sum, difference, element_count
from sprintprof.bench.messages.setup import PLACEMENT, PRECISION, prepare
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.records import Value

COMPUTE_S, MOST_COMPUTE_S, UPDATES = 5e-3, 0.03, 3
"""Compute of one sample, alone: at least COMPUTE_S and as long as UPDATES updates, at most MOST_COMPUTE_S."""


@benchmark(
    "interference",
    group="mpi",
    axes=(
        Axis("size_bytes", int, 4 << 20, "length of the vector the update thread all-reduces"),
        Axis("dimension", int, 256, "of the matrix products"),
        PRECISION,
        PLACEMENT,
    ),
    summary="compute beside an update thread that all-reduces without pause: how much it slows",
    window="matrix products in a thread of their own while the main thread all-reduces; time is per product",
    formula="κ = time beside / time alone − 1 (the update thread is busy all the time)",
    engines=("numpy", "cupy"),
    parallel=True,
    min_ranks=2,
    columns={"interference_kappa": float, "alone_s": float, "updates": float, "nodes": int},
)
def interference(case: Case) -> Work:
    """MPI is called by the main thread only; the compute has the helper thread. On a machine whose ranks fill all CPUs
    κ is the share of the CPU that the update thread takes; on GPUs, of the bus."""
    size, precision = case.int("size_bytes"), case.str("precision")
    count = element_count(size, precision)
    if case.int("dimension") < 1:
        raise Skip("dimension is above 0")
    driver = prepare(case, "allreduce", size, 2 * size)
    comm = case.comm
    send = block(comm.rank, count, precision, case.seed)
    receive = np.zeros(count, DTYPES[precision])
    compute = Compute(case.engine, comm, case.int("dimension"), case.seed)
    update_s = sorted(max(comm.allgather(driver.collective("allreduce", send, receive, count, 1))) for _ in range(5))[2]
    products = compute.products_for(comm, min(max(COMPUTE_S, UPDATES * update_s), MOST_COMPUTE_S))
    rows: list[tuple[float, float, float]] = []
    working, all_working = np.zeros(1), np.zeros(1)

    def in_thread(took: list[float], errors: list[BaseException]) -> None:
        try:
            took.append(compute.run(products))
        except BaseException as error:  # noqa: BLE001  (raised again on the main thread)
            errors.append(error)

    def measure(update: bool) -> tuple[float, int]:
        """Seconds of the compute, and how many updates were made beside it."""
        took: list[float] = []
        errors: list[BaseException] = []
        thread = threading.Thread(target=in_thread, args=(took, errors), name="compute")
        updates = 0
        comm.Barrier()
        thread.start()
        while update:
            driver.collective("allreduce", send, receive, count, 1)
            updates += 1
            working[0] = thread.is_alive()
            comm.Allreduce(working, all_working)  # all ranks end together
            update = bool(all_working[0] > 0)
        thread.join()
        if errors:
            raise errors[0]
        return took[0], updates

    def sample() -> float:
        alone_s, _ = measure(update=False)
        beside_s, updates = measure(update=True)
        rows.append((alone_s / products, beside_s / products, float(updates)))
        return beside_s

    extra: dict[str, Value] = {"nodes": len(set(nodes_of(comm)))}

    def verify() -> str:
        alone_s, beside_s, updates = np.mean(comm.allgather(np.array(rows)), axis=0).T
        extra.update(
            interference_kappa=float(max(np.median(beside_s / alone_s) - 1.0, 0.0)),
            alone_s=float(np.median(alone_s)),
            updates=float(np.mean(updates)),
        )
        return difference(receive, block_sum(comm.size, count, precision, case.seed), "the sum")

    return Work(
        call=sample,
        timed=sample,
        bytes=float(size),
        operations=products,
        working_set_bytes=2 * size + compute.bytes,
        cache="untouched",
        path="none",
        verify=verify,
        close=compute.close,
        extra=extra,
    )
