"""Who shares a node (U31), who takes part, and what real CPU masks say (U28)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.world.placement import PLACEMENTS, binding_warnings, choose_members, is_crowded, node_numbers


def test_two_nodes_whose_names_share_a_first_part() -> None:
    """U31: w.1.example.net and w.2.example.net. Names are no input; leaders and boot ids differ, so the nodes do."""
    assert node_numbers([(0, "boot-a"), (0, "boot-a"), (2, "boot-b"), (2, "boot-b")]) == (0, 0, 1, 1)


def test_a_split_by_host_text_does_not_merge_two_kernels() -> None:
    """Both machines are called `node`, a library's split puts all ranks together: the boot ids keep them apart."""
    assert node_numbers([(0, "a"), (0, "b"), (0, "a"), (0, "b")]) == (0, 1, 0, 1)


def test_two_network_namespaces_of_one_kernel_are_two_nodes() -> None:
    assert node_numbers([(0, "a"), (1, "a")]) == (0, 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=1))
def test_numbers_are_dense_and_in_order(keys: list[tuple[int, str]]) -> None:
    numbers = node_numbers(keys)
    assert list(dict.fromkeys(numbers)) == list(range(len(set(keys))))
    for i, a in enumerate(keys):
        assert [numbers[i] == numbers[j] for j in range(len(keys))] == [a == b for b in keys]


def test_members_by_placement() -> None:
    nodes = (0, 0, 1, 1, 1, 2)
    assert choose_members(nodes, 3, "packed") == (0, 1, 2)
    assert choose_members(nodes, 3, "node") == (2, 3, 4)
    assert choose_members(nodes, 3, "spread") == (0, 2, 5)


@pytest.mark.parametrize(
    ("ranks", "placement", "message"),
    [(7, "packed", "world has 6"), (4, "node", "fullest node has 3"), (4, "spread", "spans 3"), (2, "far", "packed")],
)
def test_what_cannot_be_placed_says_why(ranks: int, placement: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_members((0, 0, 1, 1, 1, 2), ranks, placement)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 12), st.sampled_from(PLACEMENTS))
def test_members_are_distinct_ranks_of_the_world(raw: list[int], ranks: int, placement: str) -> None:
    nodes = node_numbers([(n, "") for n in raw])
    try:
        chosen = choose_members(nodes, ranks, placement)
    except ValueError:
        return
    assert len(set(chosen)) == ranks
    assert set(chosen) <= set(range(len(nodes)))
    used = [nodes[r] for r in chosen]
    assert placement != "node" or len(set(used)) == 1
    assert placement != "spread" or len(set(used)) == ranks


def test_bound_to_a_core_at_two_ranks_and_not_at_four() -> None:
    """U28: np=2 gives masks {0} and {64}, np=4 all 128 CPUs: the record has the masks, the first gets a line."""
    (line,) = binding_warnings([(0,), (64,)], (0, 0))
    assert "every rank is bound to a single CPU" in line
    assert binding_warnings([tuple(range(128))] * 4, (0,) * 4) == []


def test_ranks_on_one_cpu_and_uneven_masks() -> None:
    lines = binding_warnings([(3,), (3,), (0, 1)], (0, 0, 0))
    assert any("ranks 0, 1 are bound to the same CPU 3" in line for line in lines)
    assert any("different numbers of CPUs: 1, 1, 2" in line for line in lines)
    assert not any("same CPU" in line for line in binding_warnings([(3,), (3,)], (0, 1)))


def test_crowding() -> None:
    two, nodes = [(0, 1)] * 4, (0, 0, 0, 1)
    assert not is_crowded((0, 1), nodes, two)
    assert is_crowded((0, 1, 2), nodes, two)
    assert not is_crowded((0, 1, 3), nodes, two)
    assert is_crowded((0, 1), (0, 0), [(5,), (5,)])
    assert not is_crowded((0, 1), (0, 0), [(), ()])


def test_more_ranks_than_cpus() -> None:
    assert any("4 ranks share 2 CPUs" in line for line in binding_warnings([(0, 1)] * 4, (0,) * 4))
    assert binding_warnings([(0, 1)] * 4, (0, 0, 1, 1)) == []
    assert binding_warnings([(), ()], (0, 0)) == []
