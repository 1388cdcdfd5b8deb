"""Layers that were not measured: one fit a kernel over meaningful features, whatever the shape."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from sprintprof.fit.choice import Problem, choose, fit_form
from sprintprof.fit.crossval import LeftOut
from sprintprof.fit.forms import Fitted
from sprintprof.fit.points import (
    columns,
    data_sha256,
    jitter_cv,
    numeric,
    over_launches,
    ranges,
    times,
    without_doubtful,
)
from sprintprof.fit.solve import COLLINEAR, solve
from sprintprof.networks.kernels import KERNELS
from sprintprof.profile.derived import derive
from sprintprof.profile.features import feature_matrix
from sprintprof.records import Measurement, Value

MAX_SHAPES = 4000
"""Measured shapes that are kept in the profile to name the nearest one."""
MOST_BIAS = 0.05
"""No more than this is taken out of a sum: a greater bias comes from single points."""


def generic_groups(points: Sequence[Measurement]) -> dict[tuple[object, ...], list[Measurement]]:
    """Points of the catalogue's kernels by engine and by their parameters that are not numbers (precision …)."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in points:
        if m.point.benchmark in KERNELS:
            choices = frozenset(choices_of(m).items())
            groups.setdefault((m.point.benchmark, m.point.engine, choices), []).append(m)
    return groups


def choices_of(m: Measurement) -> dict[str, Value]:
    """The parameters that are not numbers: a generic fit holds them fixed."""
    return {k: v for k, v in m.point.parameters.items() if not numeric(v)}


def fit_generic(points: list[Measurement], include_flags: Sequence[str] = (), processors: int | None = None) -> Fitted:
    """T of any shape, with errors on whole shapes left out. `processors` are the device's multiprocessors."""
    used = over_launches(without_doubtful(points, include_flags)[0])
    problem = _problem(used)
    axes = [k for k, v in used[0].point.parameters.items() if numeric(v)]
    form, left_out, correct = choose(problem, axes, processors)
    fit = fit_form(form, problem, correct)
    scale = 1.0 if left_out.method == "in-sample" else unbiased(left_out)
    left_out = left_out._replace(predicted_s=left_out.predicted_s * scale)
    solution = solve(feature_matrix(fit.features, problem.table), problem.measured)
    rows = sorted({tuple(float(m.point.parameters[a]) for a in axes) for m in used})
    warnings = []
    if solution.condition_number > COLLINEAR:
        text = f"features are collinear (condition number {solution.condition_number:.3g})"
        warnings.append(f"{text}: predictions hold, single coefficients mean nothing")
    if left_out.method == "in-sample":
        warnings.append("too few different points to leave any out: the error is not known")
    plain = fit.family == "linear" and fit.correction is None
    fit = msgspec.structs.replace(
        fit,
        engine=used[0].point.engine,
        fixed=choices_of(used[0]),
        coefficients=[c * scale for c in fit.coefficients],
        covariance=(solution.covariance * scale**2).tolist() if plain else [],
        range=ranges({k: problem.table[k] for k in (*axes, "flop", "bytes")}, problem.measured),
        error=left_out.error(),
        jitter_cv=jitter_cv(used),
        points=len(used),
        data_sha256=data_sha256(used),
        spread=left_out.spread(),
        condition_number=solution.condition_number,
        shape_axes=axes,
        shapes=[list(row) for row in rows[:: -(-len(rows) // MAX_SHAPES)]],
        warnings=warnings,
    )
    return Fitted(fit, left_out)


def unbiased(left_out: LeftOut) -> float:
    """The factor that takes the bias of the sum out, as far as it is more than the chance of single points.

    log(sum of measured / sum of predicted), shrunk by its jackknife variance (positive-part James and Stein).
    """
    predicted, measured = left_out.predicted_s, left_out.measured_s
    bias = float(np.log(measured.sum() / predicted.sum()))
    without = np.log((measured.sum() - measured) / (predicted.sum() - predicted))
    variance = float((len(without) - 1) * np.mean((without - without.mean()) ** 2))
    shrunk = bias * max(0.0, 1.0 - variance / bias**2) if bias else 0.0
    return float(np.exp(np.clip(shrunk, -MOST_BIAS, MOST_BIAS)))


def _problem(used: list[Measurement]) -> Problem:
    kernel = used[0].point.benchmark
    scale = KERNELS[kernel].scale_axis
    shapes: list[object] = [frozenset(m.point.without(scale).items()) for m in used]
    method = "leave-whole-shapes-out"
    if len(set(shapes)) < 3:
        shapes, method = [m.point.parameters[scale] for m in used], f"leave-one-{scale}-out"
    labels = [m.point.label() for m in used]
    return Problem(kernel, derive(kernel, columns(used)), times(used), shapes, labels, method)
