"""Messages: time over size for each number of ranks, and forms over size and ranks to go beyond what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from sprintprof.fit.forms import Fitted, Group, best_linear
from sprintprof.fit.points import without_doubtful
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Measurement

SIZE = "size_bytes"
ALPHA_BETA = [["1", SIZE]]
OVER_RANKS = [
    ["log2(ranks)", "size_bytes*(ranks-1)/ranks"],
    ["log2(ranks)", "size_bytes*log2(ranks)"],
    ["ranks-1", "size_bytes*(ranks-1)"],
    ["1", "log2(ranks)", "size_bytes*(ranks-1)/ranks"],
    ["1", "log2(ranks)", SIZE, "size_bytes*(ranks-1)"],
]
"""Cost forms of collectives: ring, tree, linear in the senders (MODEL.md's table, without its choice of algorithm)."""
OVER_RANKS_NO_SIZE = [["log2(ranks)"], ["1", "log2(ranks)"], ["1", "ranks-1"]]


def message_groups(points: Sequence[Measurement]) -> dict[tuple[object, ...], list[Measurement]]:
    """Points outside the kernel catalogue by engine and by all parameters but size and ranks."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in points:
        if m.point.benchmark not in KERNELS and (SIZE in m.point.parameters or m.point.ranks > 1):
            choices = frozenset(m.point.without(SIZE).items())
            groups.setdefault((m.point.benchmark, m.point.engine, choices), []).append(m)
    return groups


def fit_messages(points: list[Measurement], include_flags: Sequence[str] = ()) -> list[Fitted]:
    """T = α + β·n for each number of ranks and, from two numbers of ranks on, one form over both.

    Benchmarks without a message size (barrier) get a constant for each number of ranks instead.
    """
    used, _ = without_doubtful(points, include_flags)
    sized = SIZE in used[0].point.parameters
    fixed = used[0].point.without(SIZE)
    counts = sorted({m.point.ranks for m in used})
    out = []
    for ranks in counts:
        here = [m for m in used if m.point.ranks == ranks]
        sizes = [m.point.parameters.get(SIZE, m.point.launch) for m in here]
        group = Group(here, "message", {**fixed, "ranks": ranks}, sizes, "leave-one-size-out")
        out.append(best_linear(group, ALPHA_BETA if sized and len(set(sizes)) > 1 else [["1"]]))
    if len(counts) > 1:
        ranks_of = [m.point.ranks for m in used]
        group = Group(used, "message", fixed, ranks_of, "leave-one-rank-count-out")
        out.append(best_linear(group, OVER_RANKS if sized else OVER_RANKS_NO_SIZE))
    return out
