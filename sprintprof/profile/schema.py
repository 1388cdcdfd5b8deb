"""The machine profile as plain data: what the JSON file holds.

Every coefficient set says its family, features, validity range, error by cross-validation, covariance and the hash
of the data behind it. No pickles: a profile is evaluated by `sprintprof.profile.families` alone.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sprintprof.records import Value

SCHEMA = "sprintprof-profile"
VERSION = 1
HISTORY: dict[int, str] = {1: "first version"}

Level = Literal["layer", "generic", "message"]


class FitError(msgspec.Struct, frozen=True):
    """Relative error on points that were left out of the fit, as fractions. `method` names the cross-validation."""

    median: float
    p90: float
    worst: float
    method: str
    points: int


class Fit(msgspec.Struct, frozen=True):
    """One coefficient set.

    `level` "layer": T over the benchmark's scale axis with all other parameters fixed (`fixed`). "generic": T of any
    parameters of the benchmark (`fixed` holds e.g. precision). "message": T over size_bytes (and ranks).
    `coefficients` belong to `features` (of the family) one by one, in s per feature unit; `covariance` is theirs.
    `range` is what was measured: name → (least, greatest) of every numeric parameter or feature, "ranks" included.
    `jitter_cv` is the coefficient of variation of one call, from the samples (robust). `data_sha256` is over the
    points behind it.
    """

    benchmark: str
    engine: str
    level: Level
    fixed: dict[str, Value]
    family: str
    features: list[str]
    coefficients: list[float]
    covariance: list[list[float]]
    range: dict[str, tuple[float, float]]
    error: FitError
    jitter_cv: float
    points: int
    data_sha256: str
    warnings: list[str] = []


class Source(msgspec.Struct, frozen=True):
    """A results file behind a profile."""

    file: str
    run_id: str
    sha256: str
    points_used: int
    points_left_out: dict[str, int]


class Profile(msgspec.Struct, frozen=True):
    """A machine's coefficients. `facts` are plain machine facts (CPU, device, MPI, ranks per node …)."""

    machine: str
    created_utc: str
    tool_version: str
    facts: dict[str, Any]
    sources: list[Source]
    fits: list[Fit]
    warnings: list[str]
    schema: str = SCHEMA
    version: int = VERSION
