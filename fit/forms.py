"""Candidate forms of T and the choice among them by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.fit.crossval import LeftOut, cross_validate
from sprintprof.fit.points import columns, data_sha256, jitter_cv, ranges, times
from sprintprof.fit.solve import COLLINEAR, coefficients, solve
from sprintprof.profile import Fit
from sprintprof.profile.features import feature_matrix
from sprintprof.profile.schema import Level
from sprintprof.records import Measurement, Value

Array = npt.NDArray[np.float64]

BETTER = 0.6
"""Another form must bring the left-out error below this share of the first one's …"""
WORTHWHILE = 0.005
"""… and by at least this much, as a fraction, or the first form stays: many forms are tried, one wins by luck."""
FINALISTS = 3


class Fitted(NamedTuple):
    """A coefficient set and the left-out predictions that its errors come from."""

    fit: Fit
    left_out: LeftOut


class Group(NamedTuple):
    """Points that are fitted together, and how the fit is called. `folds` names each point's cross-validation group."""

    points: list[Measurement]
    level: Level
    fixed: dict[str, Value]
    folds: Sequence[object]
    method: str
    scale: str = ""


def best_linear(group: Group, candidates: list[list[str]]) -> Fitted:
    """The non-negative linear form, among lists of features, with the least left-out error.

    The first list is preferred: another one must be clearly better. Features that are 0 or not finite are dropped.
    """
    table = columns(group.points)
    measured = times(group.points)
    labels = [p.point.label() for p in group.points]
    forms: list[tuple[list[str], Array]] = []
    for names in candidates:
        matrix = feature_matrix(names, table)
        useful = np.asarray(np.isfinite(matrix).all(axis=0) & matrix.any(axis=0), np.bool_)
        if useful.any():
            forms.append(([n for n, keep in zip(names, useful.tolist(), strict=True) if keep], matrix[:, useful]))
    tried: list[tuple[float, list[str], LeftOut]] = []
    for names, matrix in _promising(forms, measured):
        left_out = _left_out(matrix, measured, group, labels)
        tried.append((_log_error(left_out.predicted_s, measured), names, left_out))
    first, best = tried[0], min(tried, key=lambda entry: entry[0])
    clear = best[0] < BETTER * first[0] and first[0] - best[0] > WORTHWHILE and best[2].method != "in-sample"
    _, names, left_out = best if clear else first
    return _fitted(group, names, table, measured, left_out)


def _promising(forms: list[tuple[list[str], Array]], measured: Array) -> list[tuple[list[str], Array]]:
    """The first form and the few others that fit best in sample: only these are worth a cross-validation."""

    def error(form: tuple[list[str], Array]) -> float:
        return _log_error(form[1] @ coefficients(form[1], measured), measured)

    return [forms[0], *sorted(forms[1:], key=error)[:FINALISTS]]


def _log_error(predicted: Array, measured: Array) -> float:
    return float(np.mean(np.abs(np.log(np.maximum(predicted, 1e-300) / measured))))


def _left_out(matrix: Array, measured: Array, group: Group, labels: list[str]) -> LeftOut:
    def predict(train: npt.NDArray[np.intp], test: npt.NDArray[np.intp]) -> Array:
        solved = coefficients(matrix[train], measured[train])
        floor = 1e-3 * measured[train].min()  # a fold may lack a feature
        return np.asarray(np.maximum(matrix[test] @ solved, floor), np.float64)

    return cross_validate(predict, measured, group.folds, labels, group.method)


def _fitted(group: Group, names: list[str], table: dict[str, Array], measured: Array, left_out: LeftOut) -> Fitted:
    solution = solve(feature_matrix(names, table), measured)
    warnings = []
    if solution.condition_number > COLLINEAR:
        text = f"features are collinear (condition number {solution.condition_number:.0f})"
        warnings.append(f"{text}: predictions hold, single coefficients mean nothing")
    if left_out.method == "in-sample":
        warnings.append("too few different points to leave any out: the error is not known")
    seen = {group.scale} if group.scale else set(table)
    fit = Fit(
        benchmark=group.points[0].point.benchmark,
        engine=group.points[0].point.engine,
        level=group.level,
        fixed=group.fixed,
        family="linear",
        features=names,
        coefficients=solution.coefficients.tolist(),
        covariance=solution.covariance.tolist(),
        range=ranges({k: v for k, v in table.items() if k in seen}, measured),
        error=left_out.error(),
        jitter_cv=jitter_cv(group.points),
        points=len(group.points),
        data_sha256=data_sha256(group.points),
        scale=group.scale,
        spread=left_out.spread(),
        condition_number=solution.condition_number,
        warnings=warnings,
    )
    return Fitted(fit, left_out)
