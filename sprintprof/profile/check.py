"""What a profile must satisfy before anything is predicted from it, beyond its schema."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

from sprintprof.profile.correction import problem as correction_problem
from sprintprof.profile.families import family_names, find_family
from sprintprof.profile.schema import Fit, FitError, Profile


def label(fit: Fit) -> str:
    """`conv_forward layer channels=3,…`: how a message names a fit."""
    inner = ",".join(f"{k}={v}" for k, v in fit.fixed.items())
    return f"{fit.benchmark} {fit.level}" + (f"[{inner}]" if inner else "")


def problems(profile: Profile) -> Iterator[str]:
    """Everything that is wrong with a profile's content, one line each; nothing for a sound one."""
    seen: set[tuple[object, ...]] = set()
    for place, fit in enumerate(profile.fits):
        name = f"fits[{place}] ({label(fit)[:120]})"
        key = (fit.benchmark, fit.engine, fit.level, fit.scale, frozenset(fit.fixed.items()))
        if key in seen:
            yield f"{name} is there twice"
        seen.add(key)
        wrong = _fit_problem(fit)
        if wrong:
            yield f"{name} {wrong}"
    for quality in profile.quality:
        if wrong := _error_problem(quality.error):
            yield f"quality of {quality.benchmark} {wrong}"


def _fit_problem(fit: Fit) -> str:
    numbers = chain(fit.coefficients, *fit.covariance, *fit.range.values(), *fit.shapes)
    if not all(map(math.isfinite, numbers)):
        return "holds a number that is not finite"
    if not fit.benchmark or not fit.engine:
        return "has no benchmark or engine"
    if fit.points < 1:
        return "is made from no points"
    if (fit.scale == "") != (fit.level != "layer"):
        return "must name its scale axis if and only if it is a layer fit"
    if fit.covariance and (len(fit.covariance) != len(fit.coefficients) or _not_square(fit.covariance)):
        return "has a covariance of another size than its coefficients"
    if any(fit.covariance[i][i] < 0 for i in range(len(fit.covariance))):
        return "has a negative variance"
    if any(low > high for low, high in fit.range.values()):
        return "has a range whose end is before its start"
    if fit.jitter_cv is not None and not 0 <= fit.jitter_cv < math.inf:
        return "has a jitter_cv below 0"
    if not (0 < fit.spread.low <= 1 <= fit.spread.high < math.inf) or not fit.condition_number >= 1:
        return "has an interval that does not hold its own prediction"
    if any(len(row) != len(fit.shape_axes) for row in fit.shapes):
        return "has shapes of another length than shape_axes"
    if wrong := _error_problem(fit.error):
        return wrong
    family = find_family(fit.family)
    if family is None:
        return f"needs the family '{fit.family[:60]}', which is not here (there are {', '.join(family_names())})"
    return family.check(fit) or (correction_problem(fit.correction) if fit.correction else "")


def _not_square(matrix: list[list[float]]) -> bool:
    return any(len(row) != len(matrix) for row in matrix)


def _error_problem(error: FitError) -> str:
    finite = all(map(math.isfinite, (error.median, error.p90, error.worst, error.bias)))
    ordered = finite and 0 <= error.median <= error.p90 <= error.worst
    return "" if ordered and error.points >= 0 else "has errors that are not 0 ≤ median ≤ p90 ≤ worst"
