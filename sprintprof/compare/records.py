"""The result of a comparison as plain data: what `compare --json` writes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sprintprof.records import Value
from sprintprof.stats.compare import Word


class PointComparison(msgspec.Struct, frozen=True):
    """One point on both sides.

    `reference` and `other` are the metric's medians in its unit; `ratio` = other/reference with its 95 % interval.
    `verdict` says faster or slower in the metric's direction, or "not comparable"; `p` is against the margin, before
    the adjustment for many points. `effect` is Cliff's delta over the samples: P(other > reference) − P(other <
    reference), NaN without samples. `samples`, `launches` and `flags` are (reference, other).
    """

    key: str
    label: str
    benchmark: str
    parameters: dict[str, Value]
    ranks: int
    reference: float
    other: float
    ratio: float
    low: float
    high: float
    p: float
    effect: float
    verdict: Word | Literal["not comparable"]
    why: str
    remedy: str
    samples: tuple[int, int]
    launches: tuple[int, int]
    flags: tuple[list[str], list[str]]


class MissingPoint(msgspec.Struct, frozen=True):
    """A point that `missing_in` has no time for, and why."""

    label: str
    benchmark: str
    missing_in: str
    why: str


class Mean(msgspec.Struct, frozen=True):
    """Geometric mean of the ratios of `points` shared points; NaN (null in JSON) for none."""

    ratio: float
    points: int


class Changed(msgspec.Struct, frozen=True):
    """An environment key or setting that differs; `matters` where it can explain a difference of results."""

    key: str
    reference: str
    other: str
    matters: bool


class PairComparison(msgspec.Struct, frozen=True):
    """One file beside the reference. `counts` are points by verdict."""

    other: str
    points: list[PointComparison]
    missing: list[MissingPoint]
    neither: int
    counts: dict[str, int]
    mean: Mean
    mean_by_benchmark: dict[str, Mean]
    environment: list[Changed]
    settings: list[Changed]
    warnings: list[str]


class SourceInfo(msgspec.Struct, frozen=True):
    """A file that was compared."""

    name: str
    path: str
    kind: Literal["results", "profile"]
    machine: str
    created_utc: str
    completeness: str


class Comparison(msgspec.Struct, frozen=True):
    """All files beside the reference. `common` are geometric means over the points that every file shares."""

    metric: str
    unit: str
    better: Literal["lower", "higher"]
    reference: str
    sources: list[SourceInfo]
    pairs: list[PairComparison]
    common: dict[str, Mean]
    margin: float
    resolution: float

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain
