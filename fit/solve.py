"""Non-negative least squares on relative errors, with covariance and collinearity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

COLLINEAR = 30.0
"""Condition numbers above this mean that single coefficients say nothing (Belsley, Kuh and Welsch 1980)."""


class Solution(NamedTuple):
    """Coefficients (k,) ≥ 0, their covariance (k, k) with zero rows for those held at 0, condition number."""

    coefficients: Array
    covariance: Array
    condition_number: float


def coefficients(features: Array, measured_s: Array) -> Array:
    """The c ≥ 0, shape (k,), that minimise Σ ((features·c − t)/t)², scaled so that the median of t/(features·c) is 1.

    `features` is (n, k), `measured_s` (n,) and positive. Relative errors count, at any size, and single slow
    measurements weigh little. Where the form does not fit, 1/t² alone prefers predictions that are too low (an error
    of −100 % is its greatest): the median puts as many points above as below.
    """
    from scipy.optimize import nnls

    scaled = features / measured_s[:, None]
    norm = np.linalg.norm(scaled, axis=0)
    norm[norm == 0] = 1.0
    solved, _ = nnls(scaled / norm, np.ones(len(measured_s)))
    solved = solved / norm
    ratio = scaled @ solved
    positive = ratio[ratio > 0]
    return np.asarray(solved * np.exp(-np.median(np.log(positive))) if len(positive) else solved, np.float64)


def solve(features: Array, measured_s: Array) -> Solution:
    """`coefficients` with the covariance of those above 0 (classical, from the relative residuals)."""
    solved = coefficients(features, measured_s)
    scaled = features / measured_s[:, None]
    free = solved > 0
    covariance = np.zeros((len(solved), len(solved)))
    norm = np.linalg.norm(scaled, axis=0)
    condition = float(np.linalg.cond(scaled[:, norm > 0] / norm[norm > 0]))
    degrees = len(measured_s) - int(free.sum())
    if degrees > 0 and free.any():
        unit = scaled[:, free] / norm[free]
        variance = float(np.sum((scaled @ solved - 1.0) ** 2)) / degrees
        covariance[np.ix_(free, free)] = variance * np.linalg.pinv(unit.T @ unit) / np.outer(norm[free], norm[free])
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.0))
    return Solution(solved, covariance, min(max(condition, 1.0), 1e18))
