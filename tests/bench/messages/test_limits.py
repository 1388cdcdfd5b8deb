"""Sizes over what MPI can count (U20, U21) and over memory: found before the call."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.messages.limits import (
    MAX_COUNT,
    PIECE_BYTES,
    largest_tree_message_bytes,
    over_memory,
    pieces,
    too_large,
)

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(("size", "number"), [(2**30, 1), (2**31, 2), (2**32, 4), (2**32 + 1, 5), (0, 1), (1, 1)])
def test_large_messages_are_cut(size: int, number: int) -> None:
    """U20: 2**31 and 2**32 bytes overflow an int count; in pieces they do not."""
    found = pieces(size)
    assert len(found) == number
    assert sum(found) == size


@settings(deadline=None)
@given(st.integers(0, 2**40))
def test_pieces_add_up_and_fit(size: int) -> None:
    found = pieces(size)
    assert sum(found) == size
    assert all(p <= PIECE_BYTES <= MAX_COUNT for p in found)


def test_gather_of_2048_ranks_with_2_mib() -> None:
    """U21: an inner message of 1024 · 2 MiB = 2**31 bytes, which as an int is −2147483648; 2047 ranks pass."""
    assert largest_tree_message_bytes(2048, 2 * MIB) == 2**31 == MAX_COUNT + 1
    assert largest_tree_message_bytes(2047, 2 * MIB) == 1023 * 2 * MIB <= MAX_COUNT
    assert "inner message of 2 GiB" in too_large("gather", 2048, 2 * MIB)


def subtree(ranks: int, root: int, bit: int) -> int:
    """Ranks in the binomial subtree of `root` that is sent at `bit`, counted one by one."""
    return sum(root <= r < root + bit for r in range(ranks))


@settings(deadline=None)
@given(st.integers(2, 300))
def test_largest_tree_message_by_counting(ranks: int) -> None:
    """A binomial gather: rank r with lowest set bit b sends its b ranks (as far as they exist) to r − b."""
    largest = max(subtree(ranks, r, r & -r) for r in range(1, ranks))
    assert largest_tree_message_bytes(ranks, 3) == 3 * largest


def test_one_rank_gathers_nothing() -> None:
    assert largest_tree_message_bytes(1, GIB) == 0


@pytest.mark.parametrize(
    ("benchmark", "ranks", "size", "text"),
    [
        ("allreduce", 2, 2**31, "over the 2 GiB limit"),
        ("allreduce", 1024, GIB, ""),
        ("all_to_one", 3, GIB, "the root would receive 2 GiB"),
        ("all_to_one", 2, GIB, ""),
        ("gather", 2047, 2 * MIB, "the root would receive 3.996 GiB"),
        ("scatter", 2, GIB, "2 GiB"),
        ("allgather", 2048, MIB, "2 GiB"),
        ("allgather", 2047, MIB, ""),
        ("reduce_scatter", 4, 512 * MIB, "2 GiB"),
        ("broadcast", 4096, GIB, ""),
    ],
)
def test_collectives(benchmark: str, ranks: int, size: int, text: str) -> None:
    reason = too_large(benchmark, ranks, size)
    assert (text in reason) if text else reason == ""


def test_memory_is_counted_per_node() -> None:
    needed, nodes = [3 * GIB, 3 * GIB, GIB], ["a", "a", "b"]
    assert over_memory(needed, nodes, [16 * GIB, 16 * GIB, 4 * GIB]) == ""
    assert "6 GiB on one node, 8 GiB" in over_memory(needed, nodes, [8 * GIB, 9 * GIB, 4 * GIB])
    assert "1 GiB on one node, 1 GiB" in over_memory(needed, nodes, [None, None, GIB])
    assert over_memory(needed, nodes, [None, None, None]) == ""
