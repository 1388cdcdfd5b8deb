"""A tournament in which every pair meets once, and a map that names what is slow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.messages.pairs import (
    Floats,
    Pair,
    covering_rounds,
    map_pairs,
    pair_times,
    pairs_of_round,
    partner_of,
    round_count,
)


@settings(deadline=None)
@given(st.integers(2, 33))
def test_every_pair_meets_once(ranks: int) -> None:
    met = [pair for number in range(round_count(ranks)) for pair in pairs_of_round(ranks, number)]
    assert sorted(met) == list(itertools.combinations(range(ranks), 2))


@settings(deadline=None)
@given(st.integers(2, 33), st.data())
def test_nobody_is_in_two_pairs_of_a_round(ranks: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, round_count(ranks) - 1))
    inside = [r for pair in pairs_of_round(ranks, number) for r in pair]
    assert len(inside) == len(set(inside)) == ranks - ranks % 2
    for rank in range(ranks):
        partner = partner_of(ranks, number, rank)
        assert partner is None if rank not in inside else partner_of(ranks, number, partner or 0) == rank


@settings(deadline=None)
@given(st.integers(2, 200), st.integers(1, 20))
def test_covering_rounds(ranks: int, most: int) -> None:
    rounds = covering_rounds(ranks, most)
    assert len(rounds) == min(most, round_count(ranks))
    assert len(set(rounds)) == len(rounds)
    assert set(rounds) <= set(range(round_count(ranks)))


def test_a_pair_is_as_slow_as_its_slower_end() -> None:
    (pair,) = pairs_of_round(3, 0)
    rank_times = np.zeros((2, 3))
    rank_times[:, pair[0]], rank_times[:, pair[1]] = (1.0, 4.0), (2.0, 3.0)
    assert pair_times(3, 0, rank_times)[pair].tolist() == [2.0, 4.0]


def measured(ranks: int, slow_nodes: dict[int, float], slow_links: dict[Pair, float], rounds: int | None = None,
             noise: float = 0.05) -> dict[Pair, Floats]:  # fmt: skip
    rng = np.random.default_rng(1)
    wanted = covering_rounds(ranks, rounds or ranks)
    times = {}
    for pair in (p for number in wanted for p in pairs_of_round(ranks, number)):
        factor = max(slow_nodes.get(n, 1.0) for n in pair) * slow_links.get(pair, 1.0)
        times[pair] = 1e-3 * factor * rng.lognormal(0.0, noise, 20)
    return times


@pytest.mark.parametrize("ranks", [4, 5, 16])
def test_a_node_three_times_slower_is_named(ranks: int) -> None:
    found = map_pairs(measured(ranks, {2: 3.0}, {}))
    (slow,) = found.slow_nodes
    assert slow.who == (2,)
    assert slow.low <= 3.0 * 1.05
    assert slow.high >= 3.0 * 0.95
    assert slow.factor == pytest.approx(3.0, rel=0.1)
    assert found.slow_links == []
    assert found.typical_s == pytest.approx(1e-3, rel=0.05)


def test_two_slow_nodes_do_not_excuse_each_other() -> None:
    found = map_pairs(measured(12, {0: 2.0, 7: 4.0}, {}))
    assert {s.who: round(s.factor) for s in found.slow_nodes} == {(7,): 4, (0,): 2}
    assert found.slow_links == []


def test_a_slow_link_is_no_slow_node() -> None:
    found = map_pairs(measured(8, {}, {(1, 4): 5.0}))
    assert found.slow_nodes == []
    (slow,) = found.slow_links
    assert slow.who == (1, 4)
    assert slow.factor == pytest.approx(5.0, rel=0.15)


def test_nothing_is_named_where_all_is_well() -> None:
    for noise in (0.01, 0.05, 0.2):
        found = map_pairs(measured(10, {}, {}, noise=noise))
        assert found.slow_nodes == found.slow_links == []


def test_a_covering_sample_finds_the_node_too() -> None:
    found = map_pairs(measured(64, {33: 3.0}, {}, rounds=6))
    assert [s.who for s in found.slow_nodes] == [(33,)]


def test_two_nodes_have_a_link_only() -> None:
    found = map_pairs({(0, 1): np.full(10, 2e-3)})
    assert (found.slow_nodes, found.slow_links) == ([], [])
    assert found.typical_s == pytest.approx(2e-3)
    with pytest.raises(ValueError, match="no pairs"):
        map_pairs({})
