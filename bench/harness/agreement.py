"""Ranks agree on an outcome: what went wrong on one fails the point on all, and nobody waits for a rank that left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from sprintprof.bench.case import Skip
from sprintprof.bench.harness.summary import failed, one_line, skipped
from sprintprof.records import Measurement, Point


class Outcome(msgspec.Struct, frozen=True):
    """Why a rank cannot go on."""

    kind: Literal["failed", "skipped"]
    reason: str


def guarded(action: Callable[[], object]) -> Outcome | None:
    """Run `action`; what it raised, or None."""
    try:
        action()
    except Exception as error:  # noqa: BLE001  (whatever a benchmark raises is the point's outcome)
        return outcome(error)
    return None


def outcome(error: BaseException) -> Outcome:
    """The outcome an exception stands for."""
    if isinstance(error, Skip):
        return Outcome("skipped", " ".join(str(error).split()))
    return Outcome("failed", one_line(error))


def agree(comm: Any, mine: Outcome | None) -> Outcome | None:
    """The common outcome of all ranks of `comm` (collective): None if none has one.

    A failure outweighs a skip; ranks with the same reason are named together.
    """
    everyone: list[Outcome | None] = comm.allgather(mine)
    troubled = [(rank, found) for rank, found in enumerate(everyone) if found is not None]
    if not troubled:
        return None
    failures = [(rank, found) for rank, found in troubled if found.kind == "failed"]
    first = (failures or troubled)[0][1]
    ranks = [rank for rank, found in troubled if found == first]
    if len(ranks) == len(everyone):
        return first
    named = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks[:8]))}"
    more = " …" if len(ranks) > 8 else ""
    return Outcome(first.kind, f"{named}{more}: {first.reason}")


def as_measurement(point: Point, found: Outcome) -> Measurement:
    """The Measurement of a point that ended so."""
    return skipped(point, found.reason) if found.kind == "skipped" else failed(point, found.reason)
