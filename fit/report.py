"""The quality of a profile's fits as rows and lines for people."""

from __future__ import annotations

import math
from typing import NamedTuple

from sprintprof.profile import Fit, Profile
from sprintprof.profile.message_families import describe
from sprintprof.units import format_share, format_size, format_time


class ErrorRow(NamedTuple):
    """One line of the quality table; errors are fractions, NaN where too few points were there to leave any out."""

    level: str
    benchmark: str
    engine: str
    fits: int
    points: int
    median: float
    p90: float
    worst: float
    bias: float


def error_rows(profile: Profile) -> list[ErrorRow]:
    """The quality table: for each level all benchmarks together, then each; `points` were left out and predicted."""
    rows = []
    for q in profile.quality:
        e = q.error
        name = "all" if q.benchmark == "*" else q.benchmark
        if e.method == "in-sample":
            rows.append(ErrorRow(q.level, name, q.engine, q.fits, 0, *[math.nan] * 4))
        else:
            rows.append(ErrorRow(q.level, name, q.engine, q.fits, e.points, e.median, e.p90, e.worst, e.bias))
    return rows


def fit_rows(profile: Profile) -> list[str]:
    """For every fit: what it is of, its form with coefficients, range, errors, warnings."""
    return [_line(fit) for fit in profile.fits]


def _line(fit: Fit) -> str:
    terms = describe(fit) or [
        f"{c:.4g}" if f == "1" else f"{c:.4g}·{f}" for c, f in zip(fit.coefficients, fit.features, strict=True) if c
    ]
    inner = ", ".join(f"{k}={v}" for k, v in fit.fixed.items())
    e = fit.error
    if e.method == "in-sample":
        error = "error not known"
    else:
        error = f"error {format_share(e.median)} median, {format_share(e.worst)} worst at {e.worst_point}"
    parts = [
        f"{fit.benchmark} {fit.level} [{inner}]: T = {('; ' if fit.segments else ' + ').join(terms)} s ({fit.family})",
        f"{fit.points} points, {_range(fit)}",
        error,
        *fit.warnings,
    ]
    return "; ".join(parts)


def _range(fit: Fit) -> str:
    shown = [fit.scale] if fit.scale else [n for n in ("size_bytes", "ranks", "flop", "bytes") if n in fit.range]
    parts = []
    for name in shown:
        low, high = fit.range[name]
        text = [format_size(x) if name.endswith("bytes") else f"{x:g}" for x in (low, high)]
        parts.append(f"{name} {text[0]}..{text[1]}")
    low, high = fit.range["time_s"]
    return ", ".join([*parts, f"{format_time(low)}..{format_time(high)}"])
