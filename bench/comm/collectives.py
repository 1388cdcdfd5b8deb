"""The library's collectives, the incast of a parameter server and its mirror image, and the barrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.messages.choose import rounds_for
from sprintprof.bench.messages.operands import DTYPES, block, block_sum, difference, element_count
from sprintprof.bench.messages.setup import COLUMNS, PLACEMENT, PRECISION, columns, prepare
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.records import Value

SIZE = Axis("size_bytes", int, 1 << 20, "length of the vector")
SIZE_PER_RANK = Axis("size_bytes", int, 1 << 16, "length of one rank's block")
WINDOW = "one operation (short ones: `rounds`, a barrier before each outside the clock); the slowest rank's time"
Verify = Callable[[npt.NDArray[Any]], str]


def measured(
    case: Case, what: str, *, sends: int = 1, receives: int = 1, declared: float, check: Verify, rooted: bool = False
) -> Work:
    """Work of a collective on `case.comm`. Collective.

    `sends` and `receives` are the blocks this rank's buffers hold; `declared` the bytes of one operation; `check`
    says what is wrong with the received buffer. `rooted` ranks have different jobs: a slower one is no straggler.
    """
    size, precision = case.int("size_bytes"), case.str("precision")
    count = element_count(size, precision)
    driver = prepare(case, what, size, (sends + receives) * size)
    comm = case.comm
    send = block(comm.rank, sends * count, precision, case.seed)
    receive = np.zeros(max(receives, 1) * count, DTYPES[precision])

    def run(rounds: int) -> float:
        return driver.collective(what, send, receive, count, rounds)

    rounds = rounds_for(comm, run)
    return Work(
        call=lambda: run(rounds),
        timed=lambda: run(rounds),
        bytes=declared,
        operations=rounds,
        working_set_bytes=send.nbytes + receive.nbytes,
        cache="untouched",
        path="none",
        symmetric=not rooted,
        before_sample=lambda: receive.fill(0),
        verify=lambda: check(receive),
        extra=columns(comm, driver, rounds),
    )


def _ranks(case: Case) -> tuple[int, int]:
    """(rank, size) of the communicator; a serial case is skipped."""
    if case.comm is None:
        raise Skip("no MPI world")
    return case.comm.rank, case.comm.size


def _one_and_senders(parameters: dict[str, Value]) -> int:
    return int(parameters["senders"]) + 1


def _one_and_receivers(parameters: dict[str, Value]) -> int:
    return int(parameters["receivers"]) + 1


@benchmark(
    "all_to_one",
    group="mpi",
    axes=(SIZE_PER_RANK, Axis("senders", int, 1, "ranks that send to rank 0 at once"), PRECISION, PLACEMENT),
    summary="k senders to one receiver at once: the incast that loads a parameter server",
    window=WINDOW,
    formula="bandwidth into the receiver = senders · size_bytes / time",
    parallel=True,
    min_ranks=2,
    ranks_of=_one_and_senders,
    columns=COLUMNS,
)
def all_to_one(case: Case) -> Work:
    """Receives are posted before the clock of the receiver matters: inside the operation, all at once."""
    rank, size = _ranks(case)
    count = element_count(case.int("size_bytes"), case.str("precision"))

    def check(got: npt.NDArray[Any]) -> str:
        if rank:
            return ""
        parts = [block(r, count, case.str("precision"), case.seed) for r in range(1, size)]
        return difference(got, np.concatenate(parts), "received blocks")

    declared = float((size - 1) * case.int("size_bytes"))
    return measured(case, "all_to_one", receives=0 if rank else size - 1, declared=declared, check=check, rooted=True)


@benchmark(
    "one_to_all",
    group="mpi",
    axes=(SIZE_PER_RANK, Axis("receivers", int, 1, "ranks that rank 0 sends to at once"), PRECISION, PLACEMENT),
    summary="one sender to k receivers at once: a parameter server that answers",
    window=WINDOW,
    formula="bandwidth out of the sender = receivers · size_bytes / time",
    parallel=True,
    min_ranks=2,
    ranks_of=_one_and_receivers,
    columns=COLUMNS,
)
def one_to_all(case: Case) -> Work:
    """Sends are all started, then waited for."""
    rank, size = _ranks(case)

    def check(got: npt.NDArray[Any]) -> str:
        return difference(got, block(0, got.size, case.str("precision"), case.seed), "the block") if rank else ""

    return measured(case, "one_to_all", declared=float((size - 1) * case.int("size_bytes")), check=check, rooted=True)


def _library(name: str, size: Axis, summary: str, formula: str) -> Callable[[Callable[[Case], Work]], Any]:
    """Declare a collective of the library."""
    return benchmark(
        name,
        group="mpi",
        axes=(size, PRECISION, PLACEMENT),
        summary=summary,
        window=WINDOW,
        formula=formula,
        parallel=True,
        min_ranks=2,
        columns=COLUMNS,
    )


@_library("broadcast", SIZE, "rank 0's vector to all ranks", "algbw = busbw = size_bytes / time")
def broadcast(case: Case) -> Work:
    """MPI_Bcast."""
    rank, _ = _ranks(case)

    def check(got: npt.NDArray[Any]) -> str:
        return difference(got, block(0, got.size, case.str("precision"), case.seed), "the vector") if rank else ""

    return measured(case, "broadcast", declared=float(case.int("size_bytes")), check=check, rooted=True)


@_library("reduce", SIZE, "the sum of all ranks' vectors on rank 0", "algbw = busbw = size_bytes / time")
def reduce(case: Case) -> Work:
    """MPI_Reduce with MPI_SUM."""
    rank, size = _ranks(case)

    def check(got: npt.NDArray[Any]) -> str:
        expected = block_sum(size, got.size, case.str("precision"), case.seed)
        return difference(got, expected, "the sum") if rank == 0 else ""

    return measured(case, "reduce", declared=float(case.int("size_bytes")), check=check, rooted=True)


@_library("gather", SIZE_PER_RANK, "every rank's block on rank 0", "bandwidth into the root = (p−1)·size_bytes / time")
def gather(case: Case) -> Work:
    """MPI_Gather."""
    rank, size = _ranks(case)
    count = element_count(case.int("size_bytes"), case.str("precision"))

    def check(got: npt.NDArray[Any]) -> str:
        return difference(got, _blocks(case, size, count), "gathered blocks") if rank == 0 else ""

    declared = float((size - 1) * case.int("size_bytes"))
    return measured(case, "gather", receives=0 if rank else size, declared=declared, check=check, rooted=True)


@_library("scatter", SIZE_PER_RANK, "a block of rank 0 to each", "bandwidth out of the root = (p−1)·size_bytes / time")
def scatter(case: Case) -> Work:
    """MPI_Scatter."""
    rank, size = _ranks(case)

    def check(got: npt.NDArray[Any]) -> str:
        start = rank * got.size
        return difference(got, block(0, got.size, case.str("precision"), case.seed, start), "the block")

    declared = float((size - 1) * case.int("size_bytes"))
    return measured(case, "scatter", sends=1 if rank else size, declared=declared, check=check, rooted=True)


@_library("allgather", SIZE_PER_RANK, "every rank's block on all ranks",
          "algbw = p·size_bytes / time; busbw = algbw·(p−1)/p")  # fmt: skip
def allgather(case: Case) -> Work:
    """MPI_Allgather."""
    _, size = _ranks(case)
    count = element_count(case.int("size_bytes"), case.str("precision"))
    return measured(
        case, "allgather", receives=size, declared=float(size * case.int("size_bytes")),
        check=lambda got: difference(got, _blocks(case, size, count), "gathered blocks"),
    )  # fmt: skip


@_library("reduce_scatter", SIZE_PER_RANK, "each rank gets its block of the sum",
          "algbw = p·size_bytes / time; busbw = algbw·(p−1)/p")  # fmt: skip
def reduce_scatter(case: Case) -> Work:
    """MPI_Reduce_scatter_block with MPI_SUM; `size_bytes` is the block a rank gets."""
    rank, size = _ranks(case)

    def check(got: npt.NDArray[Any]) -> str:
        expected = block_sum(size, got.size, case.str("precision"), case.seed, rank * got.size)
        return difference(got, expected, "the sum")

    return measured(case, "reduce_scatter", sends=size, declared=float(size * case.int("size_bytes")), check=check)


def _blocks(case: Case, ranks: int, count: int) -> npt.NDArray[Any]:
    """All ranks' blocks, one after the other."""
    return np.concatenate([block(r, count, case.str("precision"), case.seed) for r in range(ranks)])


@benchmark(
    "barrier",
    group="mpi",
    axes=(PLACEMENT,),
    summary="all ranks wait for each other",
    window="`rounds` barriers one after the other",
    formula="",
    parallel=True,
    min_ranks=2,
    columns=COLUMNS,
)
def barrier(case: Case) -> Work:
    """MPI_Barrier."""
    driver = prepare(case, "barrier", 0, 0)
    nothing = np.zeros(1, np.float32)

    def run(rounds: int) -> float:
        return driver.collective("barrier", nothing, nothing, 0, rounds)

    rounds = rounds_for(case.comm, run)
    return Work(
        call=lambda: run(rounds),
        operations=rounds,
        cache="untouched",
        path="none",
        extra=columns(case.comm, driver, rounds),
    )
