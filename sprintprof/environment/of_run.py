"""The environments of a results file: which ranks had which."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sprintprof.environment.collect import from_plain
from sprintprof.environment.registry import Record, lookup, ranges
from sprintprof.records import InputError, Missing, RunHeader


class RankGroup(msgspec.Struct, frozen=True):
    """Ranks that share one environment record."""

    ranks: list[int]
    record: Record


def rank_groups(header: RunHeader) -> list[RankGroup]:
    """One group per distinct environment, by the least rank. A header without environments has none."""
    ranks: dict[int, list[int]] = {}
    for rank, index in enumerate(header.rank_environment):
        ranks.setdefault(index, []).append(rank)
    return [RankGroup(members, from_plain(header.environments[i])) for i, members in ranks.items()]


def of_rank(headers: Sequence[RunHeader], rank: int, where: str) -> Record:
    """The record of a rank in the last session that had it. Raises InputError where none had."""
    for header in reversed(headers):
        if 0 <= rank < len(header.rank_environment):
            return from_plain(header.environments[header.rank_environment[rank]])
    most = max((len(h.rank_environment) for h in headers), default=0)
    raise InputError(where, f"has no rank {rank}", f"it has {most} ranks, counted from 0" if most else "it has none")


def common(groups: Sequence[RankGroup]) -> Record:
    """One record for all ranks: what they share as it is; what differs as Missing("differs: …") with who has what."""
    if not groups:
        return {}
    merged: Record = {}
    for key in sorted({k for g in groups for k in g.record}):
        values = [g.record.get(key) for g in groups]
        entry = lookup(key)
        if all(v == values[0] for v in values):
            merged[key] = values[0]
        elif not (entry and entry.per_rank):
            told = "; ".join(f"rank {ranges(g.ranks)}: {v}" for g, v in zip(groups, values, strict=True))
            merged[key] = Missing(f"differs: {told}")
    return merged
