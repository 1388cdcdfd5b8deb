"""What differs between two environments, and whether it can explain a difference of results."""

from __future__ import annotations

from typing import Any

import msgspec

from sprintprof.environment.registry import Record, lookup
from sprintprof.records import Missing


class Difference(msgspec.Struct, frozen=True):
    """One key whose values differ; None = the key is absent there. `matters` as the registry says."""

    key: str
    first: Any
    second: Any
    matters: bool


def diff(first: Record, second: Record) -> list[Difference]:
    """Keys that differ, those that matter first. Two missing values are the same whatever their reasons."""
    found = []
    for key in sorted(set(first) | set(second)):
        a, b = first.get(key), second.get(key)
        if a == b or (_absent(a) and _absent(b)):
            continue
        entry = lookup(key)
        found.append(Difference(key, a, b, entry.matters if entry else True))
    return sorted(found, key=lambda d: (not d.matters, d.key))


def _absent(value: Any) -> bool:
    return value is None or isinstance(value, Missing)
