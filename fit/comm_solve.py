"""Non-negative fits of few features that minimise Σ |log(predicted/measured)|, many at once over the same points."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ROUNDS = 8
_LEAST = 1e-3
"""Errors below this count alike, as in any reweighting towards absolute errors."""


def robust(features: Array, measured: Array, chosen: Array) -> Array:
    """Coefficients ≥ 0, shape (b, k), of b fits: fit i sees the points where `chosen[i]` is not 0.

    `features` is (n, k) with k ≤ 3, `measured` (n,) positive, `chosen` (b, n) weights ≥ 0. Iteratively reweighted
    least squares on relative errors; the best round by absolute log error is kept. One wild point weighs as one
    point, whatever its size.
    """
    scaled = features / measured[:, None]
    norm = np.max(scaled, axis=0)
    norm[norm == 0] = 1.0
    scaled = scaled / norm
    weights = chosen
    best = np.zeros((len(chosen), features.shape[1]))
    least = np.full(len(chosen), np.inf)
    for _ in range(ROUNDS):
        solved = _non_negative(scaled, weights)
        ratio = np.maximum(solved @ scaled.T, 1e-9)
        error = np.abs(np.log(ratio))
        total = np.sum(error * chosen, axis=1)
        better = total < least
        best[better], least[better] = solved[better], total[better]
        weights = chosen * np.maximum(error, _LEAST) / np.maximum((ratio - 1.0) ** 2, _LEAST**2)
    return np.asarray(best / norm, np.float64)


def _non_negative(scaled: Array, weights: Array) -> Array:
    """Least squares of scaled·c ≈ 1 with c ≥ 0 for each row of weights: the best of all sets of features above 0."""
    k = scaled.shape[1]
    outer = (scaled[:, :, None] * scaled[:, None, :]).reshape(len(scaled), k * k)
    matrix = (weights @ outer).reshape(-1, k, k)
    vector = weights @ scaled
    best = np.zeros((len(weights), k))
    gain = np.zeros(len(weights))
    for size in range(1, k + 1):
        for subset in itertools.combinations(range(k), size):
            solved = _solve(matrix, vector, subset)
            reached = sum(solved[i] * vector[:, f] for i, f in enumerate(subset))  # the drop of the sum of squares
            good = reached > gain
            for part in solved:
                good &= part >= 0
            gain = np.where(good, reached, gain)
            best[good] = 0.0
            for part, feature in zip(solved, subset, strict=True):
                best[good, feature] = part[good]
    return best


def _solve(matrix: Array, vector: Array, subset: tuple[int, ...]) -> list[Array]:
    """The features of `subset` alone, unbounded: closed forms, as there are thousands; singular ones give −1."""
    a = subset[0]
    if len(subset) == 1:
        return [vector[:, a] / np.maximum(matrix[:, a, a], 1e-300)]
    if len(subset) == 2:
        b = subset[1]
        determinant = matrix[:, a, a] * matrix[:, b, b] - matrix[:, a, b] ** 2
        sound = determinant > 1e-12 * matrix[:, a, a] * matrix[:, b, b]
        safe = np.where(sound, determinant, 1.0)
        first = (vector[:, a] * matrix[:, b, b] - vector[:, b] * matrix[:, a, b]) / safe
        second = (vector[:, b] * matrix[:, a, a] - vector[:, a] * matrix[:, a, b]) / safe
        return [np.where(sound, first, -1.0), np.where(sound, second, -1.0)]
    index = np.array(subset)
    part = matrix[:, index[:, None], index]
    ridge = 1e-12 * np.trace(part, axis1=1, axis2=2)[:, None, None] * np.eye(len(subset))
    solved = np.linalg.solve(part + ridge + 1e-300 * np.eye(len(subset)), vector[:, index, None])[:, :, 0]
    return list(solved.T)
