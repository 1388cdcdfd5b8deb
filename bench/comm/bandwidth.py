"""Windows of non-blocking messages: bandwidth of one pair, and message rate over many pairs."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.messages.choose import rounds_for
from sprintprof.bench.messages.limits import PIECE_BYTES
from sprintprof.bench.messages.operands import byte_pattern, difference
from sprintprof.bench.messages.setup import COLUMNS, PLACEMENT, columns, path, prepare
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.records import Value

SIZE = Axis("size_bytes", int, 1 << 20, "length of a message")
WINDOW = Axis("window", int, 64, "messages under way at once")


@benchmark(
    "bandwidth",
    group="mpi",
    axes=(SIZE, WINDOW, Axis("directions", int, 1, "1: one side sends; 2: both send at once"), PLACEMENT),
    summary="bandwidth between two ranks with a window of messages under way",
    window="`rounds` windows of non-blocking messages through one buffer a side; time is per message, all counted",
    formula="bandwidth = size_bytes / time (both directions together where there are two)",
    parallel=True,
    min_ranks=2,
    ranks_of=lambda _: 2,
    columns=COLUMNS,
)
def bandwidth(case: Case) -> Work:
    """Rank 0 sends, with two directions rank 1 as well."""
    directions = case.int("directions")
    if directions not in (1, 2):
        raise Skip(f"directions is {directions}: it is 1 or 2")
    return _windows(case, pairs=1, directions=directions)


def _ranks_of_pairs(parameters: dict[str, Value]) -> int:
    return 2 * int(parameters["pairs"])


@benchmark(
    "message_rate",
    group="mpi",
    axes=(Axis("size_bytes", int, 8, "length of a message"), WINDOW, Axis("pairs", int, 1, "pairs of ranks at once"),
          PLACEMENT),
    summary="messages per second over k pairs of ranks at once: rank i sends to rank i + k",
    window="`rounds` windows of non-blocking messages on every pair; time is the slowest pair's, over all messages",
    formula="message rate = 1 / time",
    parallel=True,
    min_ranks=2,
    ranks_of=_ranks_of_pairs,
    columns=COLUMNS,
)  # fmt: skip
def message_rate(case: Case) -> Work:
    """The first half of the ranks sends to the second."""
    pairs = case.int("pairs")
    if pairs < 1 or (case.comm is not None and case.comm.size != 2 * pairs):
        raise Skip(f"{pairs} pairs need {2 * max(pairs, 1)} ranks")
    return _windows(case, pairs=pairs, directions=1)


def _windows(case: Case, *, pairs: int, directions: int) -> Work:
    size, window = case.int("size_bytes"), case.int("window")
    if window < 1:
        raise Skip(f"a window of {window} messages")
    if size > PIECE_BYTES:
        raise Skip("messages of a window are at most 1 GiB")
    driver = prepare(case, "bandwidth", size, 2 * size)
    comm = case.comm
    sends = directions == 2 or comm.rank < pairs
    receives = directions == 2 or comm.rank >= pairs
    peer = comm.rank + pairs if comm.rank < pairs else comm.rank - pairs
    send, receive = byte_pattern(comm.rank, size, case.seed), np.zeros(size, np.uint8)

    def windows(rounds: int) -> None:
        driver.stream(send, receive, peer, sends=sends, receives=receives, window=window, rounds=rounds)

    def verify() -> str:
        return difference(receive, byte_pattern(peer, size, case.seed), "the last message") if receives else ""

    rounds = rounds_for(comm, windows, size * window * directions)
    extra = columns(comm, driver, rounds)
    return Work(
        call=lambda: windows(rounds),
        bytes=float(size),
        operations=rounds * window * directions * pairs,
        working_set_bytes=2 * size,
        cache="untouched",
        path=path(extra),
        symmetric=directions == 2,
        before_sample=lambda: receive.fill(0),
        verify=verify,
        extra=extra,
    )
