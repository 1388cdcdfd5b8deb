"""All-reduce schedules, carried out on imagined ranks: every algorithm sums, and costs what its formula says."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.messages.schedules import (
    NAMES,
    Algorithm,
    Step,
    cut,
    groups_of,
    parse_algorithm,
    schedule,
)
from sprintprof.records import InputError

BUILT = [name for name in NAMES if name != "library"]


def carry_out(tables: list[npt.NDArray[np.int64]], vectors: list[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    """Run the steps of all ranks. A message is taken only when it is the first of its pair of ranks, and a step ends only
    when what it sent was taken: nothing is buffered, as with large messages. Fails where ranks wait for ever."""
    work = [v.copy() for v in vectors]
    at = [0] * len(tables)
    offers: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
    received = [False] * len(tables)
    offered = [False] * len(tables)
    moved = True
    while moved:
        moved = False
        for rank, table in enumerate(tables):
            if at[rank] == len(table):
                continue
            step = Step(*map(int, table[at[rank]]))
            if not offered[rank]:
                offered[rank] = moved = True
                if step.send_to >= 0:
                    offers[rank, step.send_to] = work[rank][step.send_at : step.send_at + step.send_count].copy()
                    assert len(offers[rank, step.send_to]) == step.send_count
            if step.receive_from < 0:
                received[rank] = True
            elif not received[rank] and (step.receive_from, rank) in offers:
                piece = offers.pop((step.receive_from, rank))
                assert len(piece) == step.receive_count
                target = work[rank][step.receive_at : step.receive_at + step.receive_count]
                target[:] = target + piece if step.adds else piece
                received[rank] = moved = True
            if received[rank] and (step.send_to < 0 or (rank, step.send_to) not in offers):
                at[rank] += 1
                received[rank] = offered[rank] = False
                moved = True
    assert at == [len(t) for t in tables], "ranks wait for each other"
    return work


def tables_of(algorithm: Algorithm, nodes: list[int], count: int) -> list[npt.NDArray[np.int64]]:
    return [schedule(algorithm, rank, nodes, count, 4) for rank in range(len(nodes))]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BUILT), st.integers(1, 17), st.integers(1, 40), st.integers(0, 5), st.integers(0, 3))
def test_every_rank_gets_the_sum(name: str, ranks: int, count: int, group: int, node_ranks: int) -> None:
    nodes = [rank // (node_ranks + 1) for rank in range(ranks)]
    algorithm = Algorithm(name, group, threshold_bytes=64)
    vectors = [np.arange(count) * (rank + 1) + rank**2 for rank in range(ranks)]
    if name == "hierarchical-scatter" and len({len(g) for g in groups_of(algorithm, nodes)}) > 1:
        with pytest.raises(ValueError, match="needs equal ones"):
            tables_of(algorithm, nodes, count)
        return
    for result in carry_out(tables_of(algorithm, nodes, count), vectors):
        assert (result == sum(vectors)).all()


def test_ranks_of_a_node_need_not_be_neighbours() -> None:
    nodes = [0, 1, 0, 1, 2, 2]
    vectors = [np.arange(12) + rank for rank in range(6)]
    for name in ("hierarchical-masters", "hierarchical-scatter"):
        for result in carry_out(tables_of(Algorithm(name), nodes, 12), vectors):
            assert (result == sum(vectors)).all()


def costs(table: npt.NDArray[np.int64]) -> tuple[int, int, int]:
    """Steps, elements sent, elements added."""
    return len(table), int(table[:, 2].sum()), int(table[table[:, 6] == 1, 5].sum())


@pytest.mark.parametrize("p", [2, 4, 8, 16])
def test_costs_are_those_of_the_formulas(p: int) -> None:
    """MODEL: α, β and γ counts of ring, recursive doubling and Rabenseifner, per rank."""
    n = 16 * p
    one = [0] * p
    bulk, adds = 2 * n * (p - 1) // p, n * (p - 1) // p
    log = int(math.log2(p))
    for rank in range(p):
        assert costs(schedule(Algorithm("ring"), rank, one, n, 4)) == (2 * (p - 1), bulk, adds)
        assert costs(schedule(Algorithm("recursive-doubling"), rank, one, n, 4)) == (log, log * n, log * n)
        assert costs(schedule(Algorithm("rabenseifner"), rank, one, n, 4)) == (2 * log, bulk, adds)


@pytest.mark.parametrize(("p", "floor"), [(3, 1), (5, 2), (6, 2), (7, 2), (12, 3)])
def test_ranks_that_are_no_power_of_two_pay_two_messages_and_one_addition(p: int, floor: int) -> None:
    n = 1 << 6
    worst = max(costs(schedule(Algorithm("recursive-doubling"), r, [0] * p, n, 4)) for r in range(p))
    assert worst == (floor + 2, (floor + 1) * n, (floor + 1) * n)


def test_hierarchical_costs() -> None:
    """Masters: 2·log2 k whole vectors in the group, a ring of g between. Scatter: (k−1)/k in the node, n/k between."""
    k, g, n = 4, 3, 48
    nodes = [r // k for r in range(k * g)]
    master = costs(schedule(Algorithm("hierarchical-masters"), 0, nodes, n, 4))
    assert master == (2 * 2 + 2 * (g - 1), 2 * n + 2 * n * (g - 1) // g, 2 * n + n * (g - 1) // g)
    table = schedule(Algorithm("hierarchical-scatter"), 5, nodes, n, 4)
    inner = [row for row in table if nodes[int(row[0])] == nodes[5]]
    outer = [row for row in table if nodes[int(row[0])] != nodes[5]]
    assert (len(inner), sum(int(r[2]) for r in inner)) == (2 * (k - 1), 2 * n * (k - 1) // k)
    assert (len(outer), sum(int(r[2]) for r in outer)) == (2 * (g - 1), 2 * (n // k) * (g - 1) // g)


def test_hybrid_is_the_ring_over_its_threshold_only() -> None:
    nodes = [0] * 4 + [1] * 4
    hybrid = parse_algorithm("hybrid:4:1K")
    over, up_to = schedule(hybrid, 2, nodes, 257, 4), schedule(hybrid, 2, nodes, 256, 4)
    assert (over == schedule(Algorithm("ring"), 2, nodes, 257, 4)).all()
    assert (up_to == schedule(Algorithm("hierarchical-masters", 4), 2, nodes, 256, 4)).all()


def test_names() -> None:
    assert parse_algorithm("ring") == Algorithm("ring")
    assert parse_algorithm("hierarchical-scatter:2") == Algorithm("hierarchical-scatter", 2)
    assert parse_algorithm("hybrid:8:64K") == Algorithm("hybrid", 8, 65536)
    for wrong in (
        "tree",
        "ring:4",
        "hybrid:0",
        "hybrid:x",
        "hybrid:4:big",
        "hybrid:4:1K:2",
        "hierarchical-masters:2:1K",
    ):
        with pytest.raises(InputError):
            parse_algorithm(wrong)


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 1000), st.integers(1, 40))
def test_cut_covers_the_span(start: int, length: int, parts: int) -> None:
    pieces = cut((start, start + length), parts)
    assert [x for a, b in pieces for x in range(a, b)] == list(range(start, start + length))
    lengths = {b - a for a, b in pieces}
    assert max(lengths) - min(lengths) <= 1
