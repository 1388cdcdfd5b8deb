"""The form of a generic fit, chosen by its error on whole shapes left out.

Bases first: linear in FLOP and bytes, a roofline, linear in tile-rounded and Winograd work. Then, where enough shapes
were measured, a correction of the best base's logarithm by trees and a Gaussian process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.fit.crossval import LeftOut, cross_validate
from sprintprof.fit.gaussian import Hyper, fit_hyper, fit_process
from sprintprof.fit.inputs import PLAIN, correction_inputs, rich_features, tiled_forms
from sprintprof.fit.solve import coefficients
from sprintprof.fit.trees import COUNT, fit_trees
from sprintprof.profile import Fit, FitError
from sprintprof.profile.correction import Correction, inputs_of
from sprintprof.profile.families import evaluate
from sprintprof.profile.features import Columns, feature_matrix

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

CORRECT_FROM = 24
"""A correction is tried from this many points and half as many shapes on."""
BASE_FOLDS = 10
CORRECTION_FOLDS = 5
MANY = 400
"""From this many points on the cross-validation of a correction has few folds and half the trees: it costs most."""
BETTER = 0.97
"""A richer fit must bring the left-out error below this share of the plainer one's."""

NO_ERROR = FitError(0.0, 0.0, 0.0, "none", 0)
"""Stands in fits that are only made to predict left-out points."""


class Problem(NamedTuple):
    """What is to be predicted: table of columns, times (n,), shape of each point, name of the kernel, labels."""

    kernel: str
    table: Columns
    measured: Array
    shapes: list[object]
    labels: list[str]
    method: str

    def part(self, index: Index) -> Problem:
        """The points of these indices."""
        table = {k: v[index] for k, v in self.table.items()}
        return self._replace(table=table, measured=self.measured[index])


class Form(NamedTuple):
    """A family with its features; `inputs` of the correction, none without."""

    family: str
    features: list[str]
    inputs: list[str]


Corrector = Callable[[Fit, Problem], Correction | None]


class Tried(NamedTuple):
    """A form, its left-out predictions, and how its base is corrected."""

    form: Form
    left_out: LeftOut
    correct: Corrector


def choose(problem: Problem, axes: list[str], processors: int | None) -> Tried:
    """The form with the least left-out error: bases first, then a correction of the best of them."""
    names = _useful(PLAIN, problem.table)
    forms = [Form("linear", names, [])]
    if {"flop", "bytes"} <= set(names):
        forms.append(Form("roofline", ["1", "flop", "bytes"], []))
    rich = rich_features(problem.kernel, processors)
    if rich:
        forms += [Form("linear", _useful(form, problem.table), []) for form in tiled_forms(processors)]
    if rich and len(problem.measured) >= CORRECT_FROM:
        forms.append(Form("linear", _useful(rich, problem.table), []))
    best = _best([_validate(form, problem) for form in forms])
    if len(problem.measured) < CORRECT_FROM or 2 * len(set(problem.shapes)) < CORRECT_FROM:
        return best
    inputs = _varied(correction_inputs(problem.kernel, axes, processors), problem.table)
    return _best([best, _validate(best.form._replace(inputs=inputs), problem)]) if inputs else best


def _best(tried: list[Tried]) -> Tried:
    best = tried[0]
    for entry in tried[1:]:
        if entry.left_out.method != "in-sample" and _log_error(entry.left_out) < BETTER * _log_error(best.left_out):
            best = entry
    return best


def _log_error(left_out: LeftOut) -> float:
    return float(np.mean(np.abs(np.log(left_out.predicted_s / left_out.measured_s))))


def _validate(form: Form, problem: Problem) -> Tried:
    correct = _corrector(form, problem)

    def predict(train: Index, test: Index) -> Array:
        fit = fit_form(form, problem.part(train), correct)
        floor = 1e-3 * problem.measured[train].min()  # a fold may lack a feature
        return np.asarray(np.maximum(evaluate(fit, problem.part(test).table), floor), np.float64)

    count = CORRECTION_FOLDS if form.inputs and len(problem.measured) >= MANY else BASE_FOLDS
    left_out = cross_validate(predict, problem.measured, problem.shapes, problem.labels, problem.method, count)
    return Tried(form, left_out, correct)


def _corrector(form: Form, whole: Problem) -> Corrector:
    """How a base is corrected; the length scales are fitted once, on all points (they are a few numbers)."""
    hyper: list[Hyper] = []

    def correct(base: Fit, problem: Problem) -> Correction | None:
        if not form.inputs:
            return None
        if not hyper:
            hyper.append(fit_hyper(inputs_of(form.inputs, whole.table), _log_ratio(base, whole)))
        x, y = inputs_of(form.inputs, problem.table), _log_ratio(base, problem)
        low, high = np.quantile(y, [0.005, 0.995])
        judged = len(y) < len(whole.measured) and len(whole.measured) >= MANY
        trees = fit_trees(x, y, COUNT // 2 if judged else COUNT)
        return Correction(form.inputs, [trees, fit_process(hyper[0], x, y)], (float(low), float(high)))

    return correct


def _log_ratio(base: Fit, problem: Problem) -> Array:
    return np.asarray(np.log(problem.measured / np.maximum(evaluate(base, problem.table), 1e-300)), np.float64)


def fit_form(form: Form, problem: Problem, correction_of: Corrector) -> Fit:
    """The form fitted to all points of the problem; engine, errors and range are still to be filled in."""
    matrix = feature_matrix(form.features, problem.table)
    solved = coefficients(matrix, problem.measured)
    if form.family == "roofline":
        solved = _roofline(matrix, problem.measured)
    base = Fit(
        benchmark=problem.kernel, engine="", level="generic", fixed={}, family=form.family, features=form.features,
        coefficients=solved.tolist(), covariance=[], range={}, error=NO_ERROR, jitter_cv=None,
        points=len(problem.measured), data_sha256="",
    )  # fmt: skip
    return msgspec.structs.replace(base, correction=correction_of(base, problem))


def _roofline(matrix: Array, measured: Array) -> Array:
    """Constant and slopes of 1 + max(…): each point counts for the limit that binds it, until that settles."""
    solved = coefficients(matrix, measured)
    limits = matrix[:, 1:] * np.where(solved[1:] > 0, solved[1:], np.median(measured[:, None] / matrix[:, 1:], axis=0))
    best, least = solved, np.inf
    for _ in range(12):
        binding = limits == limits.max(axis=1, keepdims=True)
        solved = coefficients(np.column_stack([matrix[:, :1], matrix[:, 1:] * binding]), measured)
        limits = matrix[:, 1:] * solved[1:]
        predicted = solved[0] + limits.max(axis=1)
        error = float(np.mean(np.abs(np.log(np.maximum(predicted, 1e-300) / measured))))
        if error < least:
            best, least = solved, error
    return best


def _useful(names: list[str], table: Columns) -> list[str]:
    matrix = feature_matrix(names, table)
    keep = np.asarray(np.isfinite(matrix).all(axis=0) & matrix.any(axis=0)).tolist()
    return [name for name, useful in zip(names, keep, strict=True) if useful]


def _varied(names: list[str], table: Columns) -> list[str]:
    """The inputs that differ between points, without those that are another one up to scale and constant."""
    x = inputs_of(names, table)
    x = x - x.mean(axis=0)
    norm = np.linalg.norm(x, axis=0)
    kept: list[int] = []
    for place in np.flatnonzero(norm > 1e-6 * np.sqrt(len(x))).tolist():
        cosines = [abs(float(x[:, k] @ x[:, place])) / (norm[k] * norm[place]) for k in kept]
        if not cosines or max(cosines) < 1 - 1e-9:
            kept.append(place)
    return [names[k] for k in kept]
