"""Sizes that MPI, or this machine's memory, cannot carry: pure functions, asked before a call, never after a crash."""

from __future__ import annotations

from collections.abc import Sequence

from sprintprof.units import format_size

MAX_COUNT = 2**31 - 1
"""Largest count of an MPI call with int counts; libraries use it for bytes of intermediate messages as well."""
PIECE_BYTES = 1 << 30
"""Larger point-to-point messages go in pieces of at most this."""


def pieces(size_bytes: int) -> list[int]:
    """Lengths of the messages a point-to-point transfer of that size is sent as (one empty message for 0 bytes)."""
    full, rest = divmod(size_bytes, PIECE_BYTES)
    return [PIECE_BYTES] * full + ([rest] if rest or not full else [])


def largest_tree_message_bytes(ranks: int, size_bytes: int) -> int:
    """Largest message inside a binomial gather or scatter of `size_bytes` per rank: half the ranks' blocks at most.

    2048 ranks with 2 MiB each make one of 2**31 bytes, an int count of −2147483648; 2047 ranks pass.
    """
    if ranks < 2:
        return 0
    subtrees = [min(bit, ranks - bit) for bit in (1 << i for i in range((ranks - 1).bit_length()))]
    return max(subtrees) * size_bytes


def too_large(benchmark: str, ranks: int, size_bytes: int) -> str:
    """Why a collective must not be called with this size, or "".

    `size_bytes` is what the benchmark's axis of that name says: per rank for gather, scatter, allgather,
    reduce_scatter and the fans, the vector for the others.
    """
    if size_bytes > MAX_COUNT:
        return f"{format_size(size_bytes)} in one call is over the 2 GiB limit of MPI counts"
    if benchmark in ("gather", "scatter") and largest_tree_message_bytes(ranks, size_bytes) > MAX_COUNT:
        inner = format_size(largest_tree_message_bytes(ranks, size_bytes))
        return f"{ranks} ranks of {format_size(size_bytes)} need an inner message of {inner}, over the 2 GiB limit"
    if benchmark in ("all_to_one", "gather") and (ranks - 1) * size_bytes > MAX_COUNT:
        return f"the root would receive {format_size((ranks - 1) * size_bytes)}, over the 2 GiB limit"
    if benchmark in ("allgather", "reduce_scatter", "scatter") and ranks * size_bytes > MAX_COUNT:
        return f"{ranks} ranks of {format_size(size_bytes)} are {format_size(ranks * size_bytes)}, over the 2 GiB limit"
    return ""


def over_memory(needed_bytes: Sequence[int], nodes: Sequence[object], available_bytes: Sequence[int | None]) -> str:
    """Why the buffers do not fit, or "".

    One entry per rank: bytes it needs, its node, and what that node has available (None: unknown). Half of what is
    available may be used.
    """
    by_node: dict[object, int] = {}
    room: dict[object, int] = {}
    for needed, node, available in zip(needed_bytes, nodes, available_bytes, strict=True):
        by_node[node] = by_node.get(node, 0) + needed
        if available is not None:
            room[node] = min(room.get(node, available), available)
    for node, total in by_node.items():
        if node in room and total > room[node] // 2:
            return f"buffers of {format_size(total)} on one node, {format_size(room[node])} of memory are available"
    return ""
