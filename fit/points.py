"""Which measurements a fit uses, what it leaves out and why, and tables of columns from them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.networks.kernels import KERNELS
from sprintprof.records import FLAGS, InputError, Measurement, SampleSet, Value

Array = npt.NDArray[np.float64]

SIZE = "size_bytes"
SIZE_NAMES = ("sample_bytes", SIZE)
"""Parameters that say how much one operation moves."""

NEVER = "emulated"
"""Times drawn from a profile: fitting them would make a profile out of a profile."""
LEFT_OUT_FLAGS = (NEVER, "above-peak", "throttled", "under-resolution", "suspicious", "ranks-unknown")
"""Flags whose points are left out: the number is not that of the machine at rest."""
DOUBTFUL_FLAGS = ("drift", "multimodal")
"""Flags whose points are left out where enough others remain (see `without_doubtful`)."""


def check_flags(flags: Sequence[str]) -> None:
    """Raise InputError for a flag that does not exist or may not be fitted."""
    for flag in flags:
        if flag not in FLAGS:
            raise InputError("--include-flag", f"there is no flag '{flag}'", f"flags are {', '.join(FLAGS)}")
        if flag == NEVER:
            raise InputError("--include-flag", "emulated times are never fitted", "they were drawn from a profile")


def usable(
    measurements: Sequence[Measurement], include_flags: Sequence[str] = ()
) -> tuple[list[Measurement], dict[str, int]]:
    """(points to fit, count of left-out points by reason). Doubtful points are still among the first."""
    kept: list[Measurement] = []
    left_out: Counter[str] = Counter()
    for m in measurements:
        reason = _why_not(m, include_flags)
        if reason:
            left_out[reason] += 1
        else:
            kept.append(m)
    return kept, dict(left_out)


def _why_not(m: Measurement, include_flags: Sequence[str]) -> str:
    if m.status != "ok":
        return m.status
    flagged = next((f for f in LEFT_OUT_FLAGS if f in m.flags and f not in include_flags), "")
    if flagged:
        return flagged
    return "" if np.isfinite(m.median_s) and m.median_s > 0 else "no time"


def without_doubtful(group: list[Measurement], include_flags: Sequence[str] = ()) -> tuple[list[Measurement], int]:
    """(points, how many doubtful ones were left out) of points that are fitted together.

    Points with drift or several modes go, unless less than half of the points would remain: then all stay.
    """
    clean = [m for m in group if not any(f in m.flags and f not in include_flags for f in DOUBTFUL_FLAGS)]
    if 2 * len(clean) < len(group):
        return group, 0
    return clean, len(group) - len(clean)


def over_launches(points: Sequence[Measurement]) -> list[Measurement]:
    """One measurement a point: the median of its launches' medians, with the samples of all of them.

    Samples of one launch hang together; what differs between launches is the error that a prediction meets.
    """
    launches: dict[str, list[Measurement]] = {}
    for m in points:
        launches.setdefault(_without_launch(m), []).append(m)
    return [group[0] if len(group) == 1 else _merged(group) for group in launches.values()]


def _without_launch(m: Measurement) -> str:
    return json.dumps([m.point.benchmark, m.point.engine, m.point.parameters, m.point.ranks], sort_keys=True)


def _merged(group: list[Measurement]) -> Measurement:
    columns = {"time_s": np.concatenate([m.samples.time_s for m in group])}
    columns["calls"] = np.concatenate([m.samples.columns.get("calls", np.ones(len(m.samples))) for m in group])
    middle = float(np.median([m.median_s for m in group]))
    return msgspec.structs.replace(group[0], median_s=middle, samples=SampleSet(columns))


def numeric(value: Value) -> bool:
    """Whether a parameter is a number (and not a choice such as a precision or true/false)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def columns(points: Sequence[Measurement]) -> dict[str, Array]:
    """The points' numeric parameters, each (n,) float64, with `flop` and `bytes` of the kernels of the catalogue.

    Other points have `ranks` instead, and `size_bytes` by whatever name it goes.
    """
    names = [k for k, v in points[0].point.parameters.items() if numeric(v)]
    out = {k: np.array([float(p.point.parameters[k]) for p in points]) for k in names}
    spec = KERNELS.get(points[0].point.benchmark)
    if spec:
        out["flop"] = np.array([spec.flop(p.point.parameters) for p in points])
        out["bytes"] = np.array([spec.bytes(p.point.parameters) for p in points])
    else:
        out["ranks"] = np.array([float(p.point.ranks) for p in points])
        for name in SIZE_NAMES:
            if name in out:
                out[SIZE] = out[name]
    return out


def times(points: Sequence[Measurement]) -> Array:
    """The points' medians in s, shape (n,)."""
    return np.array([p.median_s for p in points])


def ranges(table: dict[str, Array], measured_s: Array) -> dict[str, tuple[float, float]]:
    """Least and greatest of every column that holds finite numbers, and of the times as `time_s`."""
    out = {k: (float(v.min()), float(v.max())) for k, v in table.items() if np.isfinite(v).all()}
    return out | {"time_s": (float(measured_s.min()), float(measured_s.max()))}


def data_sha256(points: Sequence[Measurement]) -> str:
    """The hash of the data behind a fit: SHA-256 over the sorted keys and medians."""
    body = json.dumps(sorted([p.key, p.median_s] for p in points))
    return hashlib.sha256(body.encode()).hexdigest()


def jitter_cv(points: Sequence[Measurement]) -> float | None:
    """Coefficient of variation of one call: the median over points of a robust one over their samples.

    1.4826 · (median absolute deviation) / median, over all launches of a point together, so that what differs
    between launches counts. A sample that is the mean of k calls has 1/√k of a call's variation (calls taken as
    independent). None where no point has 3 samples.
    """
    launches: dict[str, list[Measurement]] = {}
    for p in points:
        launches.setdefault(_without_launch(p), []).append(p)
    values = [v for group in launches.values() if (v := _pooled_cv(group)) is not None]
    return float(np.median(values)) if values else None


def _pooled_cv(launches: list[Measurement]) -> float | None:
    samples = np.concatenate([p.samples.time_s for p in launches])
    if len(samples) < 3 or not np.isfinite(samples).all():
        return None
    calls = [p.samples.columns.get("calls", np.ones(len(p.samples))) for p in launches]
    middle = float(np.median(samples))
    deviation = 1.4826 * float(np.median(np.abs(samples - middle)))
    return deviation / middle * float(np.sqrt(np.median(np.concatenate(calls)))) if middle > 0 else None
