"""Every pair of nodes at once, round by round: the raw material of a map that names a slow node or link."""

from __future__ import annotations

import time

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.messages.choose import rounds_for
from sprintprof.bench.messages.operands import byte_pattern, difference
from sprintprof.bench.messages.pairs import partner_of, round_count
from sprintprof.bench.messages.setup import COLUMNS, PLACEMENT, columns, path, prepare
from sprintprof.bench.registry import Axis, benchmark


@benchmark(
    "pairs",
    group="mpi",
    axes=(
        Axis("size_bytes", int, 8, "length of a message"),
        Axis("round", int, 0, "round of the tournament: p−1 rounds (p for odd p) make every pair meet once"),
        Axis("window", int, 0, "0: ping-pong; else messages under way at once, from the lower rank to the higher"),
        PLACEMENT,
    ),
    summary="all ranks in pairs at once: which pair of nodes is slow (a map of pairs)",
    window="`rounds` round trips or windows of each pair at the same time; time is per message, the slowest pair's",
    formula="time of a pair = the slower of its two ranks' times",
    parallel=True,
    min_ranks=2,
    columns=COLUMNS,
)
def pairs(case: Case) -> Work:
    """With placement `spread` every rank is a node. The ranks' own times are those of their pairs; with an odd number
    of ranks one rests, with the time 0."""
    size, number, window = case.int("size_bytes"), case.int("round"), case.int("window")
    if case.comm is None:
        raise Skip("no MPI world")
    comm = case.comm
    if not 0 <= number < round_count(comm.size):
        raise Skip(f"round {number}: {comm.size} ranks have rounds 0 to {round_count(comm.size) - 1}")
    if window < 0:
        raise Skip(f"a window of {window} messages")
    driver = prepare(case, "bandwidth", size if window else 0, 2 * size)
    peer = partner_of(comm.size, number, comm.rank)
    lower = peer is not None and comm.rank < peer
    send, receive = byte_pattern(comm.rank, size, case.seed), np.zeros(size, np.uint8)

    def meet(rounds: int) -> float:
        if peer is None:
            return 0.0
        began = time.perf_counter()
        if window:
            driver.stream(send, receive, peer, sends=lower, receives=not lower, window=window, rounds=rounds)
        else:
            driver.pingpong(send, receive, peer, first=lower, rounds=rounds)
        return time.perf_counter() - began

    def verify() -> str:
        if peer is None or (window and lower):
            return ""
        return difference(receive, byte_pattern(peer, size, case.seed), "the message")

    rounds = rounds_for(comm, meet, size * (window or 2))
    extra = columns(comm, driver, rounds)
    return Work(
        call=lambda: meet(rounds),
        timed=lambda: meet(rounds),
        bytes=float(size),
        operations=rounds * (window or 2),
        working_set_bytes=2 * size,
        cache="untouched",
        path=path(extra),
        symmetric=False,
        before_sample=lambda: receive.fill(0),
        verify=verify,
        extra=extra,
    )
