"""Messages and reads: time over size for each number of ranks, and forms over size and ranks to go beyond them."""

from __future__ import annotations

from collections.abc import Sequence

from sprintprof.fit.forms import Fitted, Group, best_linear
from sprintprof.fit.points import SIZE, SIZE_NAMES, without_doubtful
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Measurement, Value

ALPHA_BETA = [["1", SIZE]]
TREE = ["1", "log2(ranks)", "size_bytes*log2(ranks)"]
RING = ["1", "log2(ranks)", "size_bytes*(ranks-1)/ranks"]
SENDERS = ["ranks-1", "size_bytes*(ranks-1)"]
OVER_RANKS: dict[str, list[list[str]]] = {
    "allreduce": [RING, TREE, SENDERS],
    "all_to_one": [SENDERS, [*SENDERS, SIZE]],
    "gather": [SENDERS, [*SENDERS, "log2(ranks)"]],
}
"""Cost forms over ranks by benchmark (MODEL.md's table without its choice of algorithm); the first is preferred."""
OTHER_OVER_RANKS = [TREE, RING, SENDERS]
NO_SIZE_OVER_RANKS = [["1", "log2(ranks)"], ["1", "ranks-1"]]


def message_groups(points: Sequence[Measurement]) -> dict[tuple[object, ...], list[Measurement]]:
    """Points that move messages or data, by engine and by all parameters but size, ranks and senders."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in points:
        if m.point.benchmark not in KERNELS and (_size_name(m) or m.point.ranks > 1):
            groups.setdefault((m.point.benchmark, m.point.engine, frozenset(choices_of(m).items())), []).append(m)
    return groups


def choices_of(m: Measurement) -> dict[str, Value]:
    """What stays fixed: all but the size and the senders that the number of ranks tells already."""
    told = ("senders",) if m.point.parameters.get("senders") == m.point.ranks - 1 else ()
    return m.point.without(*SIZE_NAMES, *told)


def fit_messages(points: list[Measurement], include_flags: Sequence[str] = ()) -> list[Fitted]:
    """T = α + β·n for each number of ranks and, from two numbers of ranks on, one form over both.

    Benchmarks without a message size (barrier) get a constant for each number of ranks instead.
    """
    used, _ = without_doubtful(points, include_flags)
    size = _size_name(used[0])
    fixed = choices_of(used[0])
    counts = sorted({m.point.ranks for m in used})
    out = []
    for ranks in counts:
        here = [m for m in used if m.point.ranks == ranks]
        sizes = [m.point.parameters.get(size, m.point.launch) for m in here]
        group = Group(here, "message", {**fixed, "ranks": ranks}, sizes, "leave-one-size-out")
        out.append(best_linear(group, _over_size(size, len(set(sizes)))))
    if len(counts) > 1:
        forms = OVER_RANKS.get(used[0].point.benchmark, OTHER_OVER_RANKS) if size else NO_SIZE_OVER_RANKS
        group = Group(used, "message", fixed, [m.point.ranks for m in used], "leave-one-rank-count-out")
        out.append(best_linear(group, forms))
    return out


def _size_name(m: Measurement) -> str:
    return next((name for name in SIZE_NAMES if name in m.point.parameters), "")


def _over_size(size: str, different: int) -> list[list[str]]:
    """α–β; from one size only what scales: a read is proportional to its size, a message is mostly latency."""
    if size and different > 1:
        return ALPHA_BETA
    return [[SIZE]] if size and size != SIZE else [["1"]]
