"""Results files as data to fit: their points, and the facts about the machine that a profile repeats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sprintprof.fit.build import Dataset

FACTS = ("blas.", "cpu.", "gpu.", "memory.", "mpi.", "os.")
"""Families of environment keys that go into a profile's facts: what the coefficients depend on, clocks included."""


def read_dataset(path: Path) -> Dataset:
    """Read one results file. Raises InputError where it cannot be read."""
    from sprintprof.store import load_results

    results = load_results(path)
    header = results.header
    environment = header.environments[header.rank_environment[0]] if header.environments else {}
    return Dataset(
        str(path), header.run_id, results.sha256, header.machine, results.measurements, facts_of(environment)
    )


def facts_of(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The environment's keys that matter for a profile, plain JSON values."""
    return {k: v for k, v in environment.items() if k.startswith(FACTS)}
