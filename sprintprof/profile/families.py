"""Families: how a fit's coefficients become times. Plain functions over numpy, one entry a family.

Other packages add families by the entry-point group `sprintprof.families`: the entry is named as the family and
loads a `Family`. A profile that uses a family nobody registered is refused when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import msgspec
import numpy as np

from sprintprof.profile.correction import factors
from sprintprof.profile.derived import derive
from sprintprof.profile.features import Array, Columns, columns_of, evaluate_feature, length
from sprintprof.profile.message_families import check_segments, evaluate_segments
from sprintprof.profile.schema import Fit

ENTRY_POINTS = "sprintprof.families"


class Family(msgspec.Struct, frozen=True):
    """A named form of T(parameters).

    `evaluate` gives times in s, shape (n,), for a table of columns of n rows. `check` says what is wrong with a fit's
    coefficients, "" where nothing is: it guards against profiles that would predict nonsense.
    """

    name: str
    formula: str
    evaluate: Callable[[Fit, Columns], Array]
    check: Callable[[Fit], str]


def _linear(fit: Fit, columns: Columns) -> Array:
    total = np.zeros(length(columns))
    for coefficient, feature in zip(fit.coefficients, fit.features, strict=True):
        if coefficient:
            total += coefficient * evaluate_feature(feature, columns)
    return total


def _roofline(fit: Fit, columns: Columns) -> Array:
    constant, *slopes = fit.coefficients
    limits = [c * evaluate_feature(f, columns) for c, f in zip(slopes, fit.features[1:], strict=True)]
    return np.asarray(constant + np.max(limits, axis=0), np.float64)


def _check_linear(fit: Fit) -> str:
    if len(fit.features) != len(fit.coefficients):
        return f"has {len(fit.coefficients)} coefficients for {len(fit.features)} features"
    unknown = [f for f in fit.features if columns_of(f) is None]
    if unknown:
        return f"has an unknown feature '{unknown[0][:60]}'"
    if any(c < 0 for c in fit.coefficients):
        return "has a negative coefficient"
    return "" if any(fit.coefficients) else "predicts 0 everywhere"


def _check_roofline(fit: Fit) -> str:
    if wrong := _check_linear(fit):
        return wrong
    return "" if len(fit.features) >= 2 and fit.features[0] == "1" else "needs the feature 1 first, then the limits"


_BUILT_IN = [
    Family("linear", "sum of coefficient · feature, no coefficient below 0", _linear, _check_linear),
    Family("roofline", "constant + greatest of coefficient · feature", _roofline, _check_roofline),
    Family("segments", "cost terms by a switch map over size_bytes and ranks", evaluate_segments, check_segments),
]
_FAMILIES: dict[str, Family] = {family.name: family for family in _BUILT_IN}


def find_family(name: str) -> Family | None:
    """The family of that name, built in or from an entry point; None where there is none."""
    if name not in _FAMILIES:
        for entry in entry_points(group=ENTRY_POINTS, name=name):
            family = entry.load()
            if isinstance(family, Family) and family.name == name:
                _FAMILIES[name] = family
    return _FAMILIES.get(name)


def family_names() -> list[str]:
    """Every family that can be evaluated here."""
    return sorted({*_FAMILIES, *entry_points(group=ENTRY_POINTS).names})


def evaluate(fit: Fit, columns: Columns) -> Array:
    """Times in s, shape (n,), of a fit for a table of columns, derived columns and correction included.

    Raises KeyError where a column is missing.
    """
    family = find_family(fit.family)
    if family is None:
        raise KeyError(f"no family '{fit.family}'")
    table = derive(fit.benchmark, columns)
    times = family.evaluate(fit, table)
    return times * factors(fit.correction, table) if fit.correction else times
