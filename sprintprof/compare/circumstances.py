"""What differs around two results files: environment and settings."""

from __future__ import annotations

from typing import Any

from sprintprof.compare.records import Changed
from sprintprof.environment.collect import from_plain
from sprintprof.environment.diff import diff
from sprintprof.environment.registry import show
from sprintprof.store import Results

_SETTINGS_THAT_MATTER = ("fill", "cache", "sync", "seed", "target_ci", "min_samples", "max_samples", "timeout_s")


def changed_environment(reference: Results, other: Results) -> list[Changed]:
    """Environment keys of rank 0 that differ, those that can explain a difference of results first."""
    first, second = (from_plain(_of_rank_0(results)) for results in (reference, other))
    return [Changed(d.key, show(d.key, d.first), show(d.key, d.second), d.matters) for d in diff(first, second)]


def _of_rank_0(results: Results) -> dict[str, Any]:
    header = results.header
    index = header.rank_environment[0] if header.rank_environment else 0
    return header.environments[index] if index < len(header.environments) else {}


def changed_settings(reference: Results, other: Results) -> list[Changed]:
    """Settings of the harness that differ."""
    first, second = reference.header.settings, other.header.settings
    names = [name for name in _SETTINGS_THAT_MATTER if first.get(name) != second.get(name)]
    return [
        Changed(name, str(first.get(name, "–")), str(second.get(name, "–")), name in ("fill", "cache", "sync"))
        for name in names
    ]
