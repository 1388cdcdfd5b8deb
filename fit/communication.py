"""Messages and reads: switch maps over size for each number of ranks, and over size and ranks to go beyond them."""

from __future__ import annotations

from collections.abc import Sequence

from sprintprof.fit.comm_map import fit_map
from sprintprof.fit.forms import Fitted, Group, best_linear
from sprintprof.fit.points import SIZE, SIZE_NAMES, without_doubtful
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Measurement, Value

PEERS = ("senders", "receivers")
"""Parameters that say again how many ranks take part: one less than all."""
PAIRWISE = ("pingpong", "bandwidth", "message_rate", "pairs")
"""Between pairs: the time is not one of an operation of all ranks, no cost term carries it to more."""


def message_groups(points: Sequence[Measurement]) -> dict[tuple[object, ...], list[Measurement]]:
    """Points that move messages or data, by engine and by all parameters but size, ranks and senders."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in points:
        if m.point.benchmark not in KERNELS and (_size_name(m) or m.point.ranks > 1):
            groups.setdefault((m.point.benchmark, m.point.engine, frozenset(choices_of(m).items())), []).append(m)
    return groups


def choices_of(m: Measurement) -> dict[str, Value]:
    """What stays fixed: all but the size and the senders or receivers that the number of ranks tells already."""
    told = [name for name in PEERS if m.point.parameters.get(name) == m.point.ranks - 1]
    return m.point.without(*SIZE_NAMES, *told)


def fit_messages(points: list[Measurement], include_flags: Sequence[str] = ()) -> list[Fitted]:
    """A map of sizes for each number of ranks, and one of sizes and ranks by named cost terms (MODEL.md).

    The second answers for ranks that were not measured, and is there even where only one number of ranks was: its
    interval then says how little is known. Reads and operations of one rank have a line over their size.
    """
    used, _ = without_doubtful(points, include_flags)
    fixed = choices_of(used[0])
    counts = sorted({m.point.ranks for m in used})
    out = []
    for ranks in counts:
        here = [m for m in used if m.point.ranks == ranks]
        if ranks == 1:
            out.append(_read(here, {**fixed, "ranks": ranks}))
        else:
            out.append(fit_map(here, {**fixed, "ranks": ranks}, over_ranks=False))
    together = [m for m in used if m.point.ranks > 1]
    if together and used[0].point.benchmark not in PAIRWISE and not any(name in fixed for name in PEERS):
        out.append(fit_map(together, fixed, over_ranks=True))
    return out


def _read(points: list[Measurement], fixed: dict[str, Value]) -> Fitted:
    """α + β·n; from one size only what scales: a read is proportional to its size, a message is mostly latency."""
    name = _size_name(points[0])
    sizes = [m.point.parameters.get(name, m.point.launch) for m in points]
    group = Group(points, "message", fixed, sizes, "leave-one-size-out")
    if len(set(sizes)) > 1:
        return best_linear(group, [["1", SIZE]])
    return best_linear(group, [["1"] if name == SIZE else [SIZE]])


def _size_name(m: Measurement) -> str:
    return next((name for name in SIZE_NAMES if name in m.point.parameters), "")
