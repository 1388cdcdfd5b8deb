"""All-reduce algorithms as schedules: what each rank sends, receives and adds, step by step. No MPI in here.

A step is a row of seven whole numbers: send_to, send_at, send_count, receive_from, receive_at, receive_count, adds.
Peers are ranks of the communicator, −1 for none; positions and counts are in elements of the vector; `adds` 1 means
that what comes in is added to what is there. Sending and receiving of a step happen at once.

Sources: ring, Patarasuk and Yuan 2009; recursive doubling and halving-doubling with the fold for ranks that are no
power of two, Rabenseifner 2004 and Thakur et al. 2005; hierarchical by masters and hybrid, Jia et al. 2018.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.records import InputError
from sprintprof.units import parse_size_bytes


class Step(NamedTuple):
    """One step of one rank, see the module."""

    send_to: int = -1
    send_at: int = 0
    send_count: int = 0
    receive_from: int = -1
    receive_at: int = 0
    receive_count: int = 0
    adds: int = 0


Span = tuple[int, int]
"""Elements start … end of the vector."""

NAMES = (
    "library",
    "ring",
    "recursive-doubling",
    "rabenseifner",
    "hierarchical-masters",
    "hierarchical-scatter",
    "hybrid",
)
HYBRID_THRESHOLD_BYTES = 1 << 20


class Algorithm(msgspec.Struct, frozen=True):
    """An all-reduce. `group` is how many ranks make a group (0: those of a node). `hybrid` takes the
    ring for vectors over `threshold_bytes`, else the hierarchy by masters."""

    name: str
    group: int = 0
    threshold_bytes: int = HYBRID_THRESHOLD_BYTES


def parse_algorithm(text: str) -> Algorithm:
    """`ring`, `hierarchical-masters:4` (groups of 4 ranks), `hybrid:4:1M` (groups of 4, ring over 1 MiB).

    Raises InputError for anything else.
    """
    name, *rest = text.split(":")
    most = {"hierarchical-masters": 1, "hierarchical-scatter": 1, "hybrid": 2}.get(name, 0)
    if name not in NAMES or len(rest) > most:
        raise InputError("algorithm", f"there is no all-reduce '{text}'", f"there are {', '.join(NAMES)}, see docs")
    if rest and not (rest[0].isdecimal() and int(rest[0]) > 0):
        raise InputError("algorithm", f"'{rest[0]}' in '{text}' is no group size", f"write e.g. {name}:4")
    group = int(rest[0]) if rest else 0
    threshold = parse_size_bytes(rest[1], "algorithm") if len(rest) > 1 else HYBRID_THRESHOLD_BYTES
    return Algorithm(name, group, threshold)


def groups_of(algorithm: Algorithm, nodes: Sequence[int]) -> list[list[int]]:
    """Ranks by group: `algorithm.group` neighbours each, or by node where it is 0. `nodes[r]` is rank r's node."""
    ranks = range(len(nodes))
    if algorithm.group:
        return [list(ranks[i : i + algorithm.group]) for i in range(0, len(nodes), algorithm.group)]
    return [[r for r in ranks if nodes[r] == node] for node in dict.fromkeys(nodes)]


def schedule(algorithm: Algorithm, rank: int, nodes: Sequence[int], count: int, itemsize: int) -> npt.NDArray[np.int64]:
    """Steps of rank `rank`, shape (steps, 7), that all-reduce `count` elements over len(nodes) ranks.

    Raises ValueError with the reason where the ranks do not suit the algorithm.
    """
    everyone = list(range(len(nodes)))
    whole = (0, count)
    name = algorithm.name
    if name == "hybrid":
        name = "ring" if count * itemsize > algorithm.threshold_bytes else "hierarchical-masters"
    if name == "ring":
        steps = ring(everyone, rank, whole)
    elif name == "recursive-doubling":
        steps = recursive_doubling(everyone, rank, whole)
    elif name == "rabenseifner":
        steps = rabenseifner(everyone, rank, whole)
    elif name == "hierarchical-masters":
        steps = hierarchical_masters(groups_of(algorithm, nodes), rank, whole)
    elif name == "hierarchical-scatter":
        steps = hierarchical_scatter(groups_of(algorithm, nodes), rank, whole)
    else:
        raise ValueError(f"'{name}' has no schedule")
    return np.array(steps, np.int64).reshape(len(steps), len(Step._fields))


def cut(span: Span, parts: int) -> list[Span]:
    """The span in `parts` pieces whose lengths differ by one at most."""
    start, end = span
    at = [start + i * (end - start) // parts for i in range(parts + 1)]
    return list(itertools.pairwise(at))


def exchange(send_to: int, out: Span, receive_from: int, into: Span, adds: bool) -> Step:
    """A step that sends one span and receives another."""
    return Step(send_to, out[0], out[1] - out[0], receive_from, into[0], into[1] - into[0], int(adds))


def send(to: int, out: Span) -> Step:
    """A step that sends only."""
    return Step(send_to=to, send_at=out[0], send_count=out[1] - out[0])


def receive(source: int, into: Span, adds: bool) -> Step:
    """A step that receives only."""
    return Step(receive_from=source, receive_at=into[0], receive_count=into[1] - into[0], adds=int(adds))


def ring_reduce_scatter(members: list[int], rank: int, span: Span) -> list[Step]:
    """p−1 steps; member i then has the sum of piece (i+1) mod p."""
    p, i = len(members), members.index(rank)
    pieces = cut(span, p)
    right, left = members[(i + 1) % p], members[(i - 1) % p]
    return [exchange(right, pieces[(i - s) % p], left, pieces[(i - s - 1) % p], True) for s in range(p - 1)]


def ring_allgather(members: list[int], rank: int, span: Span) -> list[Step]:
    """p−1 steps, from where `ring_reduce_scatter` ends to all pieces everywhere."""
    p, i = len(members), members.index(rank)
    pieces = cut(span, p)
    right, left = members[(i + 1) % p], members[(i - 1) % p]
    return [exchange(right, pieces[(i + 1 - s) % p], left, pieces[(i - s) % p], False) for s in range(p - 1)]


def ring(members: list[int], rank: int, span: Span) -> list[Step]:
    """2(p−1) steps, 2n(p−1)/p elements sent by each."""
    return ring_reduce_scatter(members, rank, span) + ring_allgather(members, rank, span)


def _fold(members: list[int], rank: int, span: Span) -> tuple[list[Step], list[Step], list[int]]:
    """Steps before and after, and the members left, so that their number is a power of two: of the first 2r ranks the
    even ones give their vector to their neighbour and get the result from it."""
    p, i = len(members), members.index(rank)
    power = 1 << (p.bit_length() - 1)
    pairs = p - power
    left = [members[2 * k + 1] for k in range(pairs)] + members[2 * pairs :]
    if i >= 2 * pairs:
        return [], [], left
    partner = members[i ^ 1]
    if i % 2 == 0:
        return [send(partner, span)], [receive(partner, span, False)], left
    return [receive(partner, span, True)], [send(partner, span)], left


def recursive_doubling(members: list[int], rank: int, span: Span) -> list[Step]:
    """⌊log2 p⌋ exchanges of the whole vector; two more messages where p is no power of two."""
    before, after, left = _fold(members, rank, span)
    steps: list[Step] = []
    if rank in left:
        i = left.index(rank)
        for bit in range(len(left).bit_length() - 1):
            peer = left[i ^ (1 << bit)]
            steps.append(exchange(peer, span, peer, span, True))
    return before + steps + after


def rabenseifner(members: list[int], rank: int, span: Span) -> list[Step]:
    """Recursive halving to scatter the sum, recursive doubling to gather it: 2⌊log2 p⌋ steps, 2n(p−1)/p elements."""
    before, after, left = _fold(members, rank, span)
    steps: list[Step] = []
    if rank in left:
        i, mine = left.index(rank), span
        undo: list[Step] = []
        distance = len(left) // 2
        while distance:
            peer = left[i ^ distance]
            low, high = cut(mine, 2)
            keep, give = (high, low) if i & distance else (low, high)
            steps.append(exchange(peer, give, peer, keep, True))
            undo.insert(0, exchange(peer, keep, peer, give, False))
            mine = keep
            distance //= 2
        steps += undo
    return before + steps + after


def binomial_reduce(members: list[int], rank: int, span: Span) -> list[Step]:
    """The sum on the first member after ⌈log2 k⌉ steps."""
    k, i = len(members), members.index(rank)
    steps: list[Step] = []
    bit = 1
    while bit < k:
        if i & bit:
            return [*steps, send(members[i - bit], span)]
        if i + bit < k:
            steps.append(receive(members[i + bit], span, True))
        bit *= 2
    return steps


def binomial_broadcast(members: list[int], rank: int, span: Span) -> list[Step]:
    """The first member's vector on all: the reduction backwards."""
    return [
        receive(step.send_to, span, False) if step.send_to >= 0 else send(step.receive_from, span)
        for step in reversed(binomial_reduce(members, rank, span))
    ]


def hierarchical_masters(groups: list[list[int]], rank: int, span: Span) -> list[Step]:
    """Reduce to the first rank of each group, ring over those masters, broadcast in the group."""
    mine = next(group for group in groups if rank in group)
    masters = [group[0] for group in groups]
    between = ring(masters, rank, span) if rank in masters else []
    return binomial_reduce(mine, rank, span) + between + binomial_broadcast(mine, rank, span)


def hierarchical_scatter(groups: list[list[int]], rank: int, span: Span) -> list[Step]:
    """Scatter the sum in the group, ring over the groups for each piece, gather in the group.

    Raises ValueError where the groups are not of one size.
    """
    if len({len(group) for group in groups}) > 1:
        raise ValueError(f"groups of {sorted({len(g) for g in groups})} ranks: hierarchical-scatter needs equal ones")
    mine = next(group for group in groups if rank in group)
    i, k = mine.index(rank), len(mine)
    piece = cut(span, k)[(i + 1) % k]
    across = [group[i] for group in groups]
    return ring_reduce_scatter(mine, rank, span) + ring(across, rank, piece) + ring_allgather(mine, rank, span)
