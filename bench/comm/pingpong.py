"""Ping-pong: one message there and one back; half the round trip is the time of a message."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.case import Case, Work
from sprintprof.bench.messages.choose import rounds_for
from sprintprof.bench.messages.operands import byte_pattern, difference
from sprintprof.bench.messages.setup import COLUMNS, PLACEMENT, columns, path, prepare
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.records import Value


def _two(_parameters: dict[str, Value]) -> int:
    return 2


@benchmark(
    "pingpong",
    group="mpi",
    axes=(Axis("size_bytes", int, 8, "length of a message"), PLACEMENT),
    summary="time of one message between two ranks: half a round trip",
    window="`rounds` round trips of blocking sends and receives in one call; time is per one-way message",
    formula="latency = time; bandwidth = size_bytes / time",
    parallel=True,
    min_ranks=2,
    ranks_of=_two,
    columns=COLUMNS,
)
def pingpong(case: Case) -> Work:
    """Rank 0 begins. Messages over 1 GiB go in pieces, since MPI counts are 32 bit."""
    size = case.int("size_bytes")
    driver = prepare(case, "pingpong", 0, 2 * size)
    comm, peer = case.comm, 1 - case.comm.rank
    send, receive = byte_pattern(comm.rank, size, case.seed), np.zeros(size, np.uint8)

    def trips(rounds: int) -> None:
        driver.pingpong(send, receive, peer, first=comm.rank == 0, rounds=rounds)

    rounds = rounds_for(comm, trips, 2 * size)
    extra = columns(comm, driver, rounds)
    return Work(
        call=lambda: trips(rounds),
        bytes=float(size),
        operations=2 * rounds,
        working_set_bytes=2 * size,
        cache="untouched",
        path=path(extra),
        before_sample=lambda: receive.fill(0),
        verify=lambda: difference(receive, byte_pattern(peer, size, case.seed), "the message"),
        extra=extra,
    )
