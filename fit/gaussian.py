"""Fitting the Gaussian process of a correction: length scales by marginal likelihood, weights from all points.

Covariance s²/(1 + d²/2) + noise, d² = Σ ((x_j − x'_j)/ℓ_j)²: a rational quadratic, cheap to evaluate and heavy tailed
(Rasmussen and Williams 2006, 4.2 and 5.4). The gradient is the analytic one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.profile.correction import GaussianProcess

Array = npt.NDArray[np.float64]

SUBSET = 250
"""Points that the length scales are fitted on: they need few, the weights use all."""
EVALUATIONS = 30
MOST_POINTS = 1200
"""Points of the process, a fixed choice where there are more: cost grows with their cube, the trees use all."""
PRIOR_LENGTH = (np.log(3.0), 1.5)
"""Mean and standard deviation of the prior on log length scales, in standard deviations of the inputs."""
DIGITS = 7


class Hyper(NamedTuple):
    """What the likelihood gave: input centre and 1/(deviation·ℓ), (d,) each; signal and noise variance."""

    centre: Array
    scale: Array
    signal: float
    noise: float


def fit_hyper(x: Array, y: Array) -> Hyper:
    """Length scales, signal and noise by maximum marginal likelihood on a fixed subset; x (n, d), y (n,)."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    centre, deviation = x.mean(axis=0), x.std(axis=0)
    deviation = np.where(deviation > 1e-9, deviation, 1.0)
    chosen = np.random.default_rng(0).permutation(len(y))[:SUBSET]
    z, spread = (x[chosen] - centre) / deviation, max(float(y[chosen].std()), 1e-6)
    start = np.concatenate([np.full(x.shape[1], PRIOR_LENGTH[0]), [0.0, np.log(0.1)]])
    limits = [(-2.0, 5.0)] * x.shape[1] + [(-4.0, 5.0), (-9.0, 1.0)]
    options = {"maxfun": EVALUATIONS}
    with threadpool_limits(1, "blas"):  # matrices this small only wait for each other on several threads
        best = minimize(
            _negative_likelihood, start, (z, y[chosen] / spread), "L-BFGS-B", jac=True, bounds=limits, options=options
        )
    length, signal, noise = np.exp(best.x[:-2]), np.exp(best.x[-2]), np.exp(best.x[-1])
    return Hyper(centre, 1.0 / (deviation * length), float(signal) * spread**2, float(noise) * spread**2)


def _negative_likelihood(parameters: Array, z: Array, y: Array) -> tuple[float, Array]:
    from scipy.linalg import LinAlgError, cho_solve, cholesky

    inverse, signal, noise = np.exp(-parameters[:-2]), np.exp(parameters[-2]), np.exp(parameters[-1])
    scaled = z * inverse
    shape = 1.0 / (1.0 + 0.5 * _distances(scaled, scaled))
    try:
        factor = cholesky(signal * shape + noise * np.eye(len(y)), lower=True)
    except LinAlgError:
        return 1e10, np.zeros_like(parameters)
    inverted = cho_solve((factor, True), np.eye(len(y)))
    weights = inverted @ y
    outer = inverted - np.outer(weights, weights)
    slope = -0.5 * signal * outer * shape**2  # d(value)/d(d²), twice
    rows = slope.sum(axis=1)
    gradient = np.empty_like(parameters)
    gradient[:-2] = [-2.0 * ((rows * column**2).sum() - column @ slope @ column) for column in scaled.T]
    gradient[-2] = 0.5 * float(np.sum(outer * shape)) * signal
    gradient[-1] = 0.5 * noise * float(np.trace(outer))
    value = 0.5 * float(y @ weights) + float(np.log(np.diag(factor)).sum())
    middle, width = PRIOR_LENGTH
    away = (parameters[:-2] - middle) / width
    gradient[:-2] += away / width
    return value + 0.5 * float(away @ away), gradient


def _distances(a: Array, b: Array) -> Array:
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * a @ b.T
    return np.asarray(np.maximum(squares, 0.0), np.float64)


def fit_process(hyper: Hyper, x: Array, y: Array) -> GaussianProcess:
    """The process with these hyper-parameters on the points x (n, d) with values y (n,)."""
    from scipy.linalg import cho_factor, cho_solve
    from threadpoolctl import threadpool_limits

    if len(y) > MOST_POINTS:
        chosen = np.random.default_rng(0).permutation(len(y))[:MOST_POINTS]
        x, y = x[chosen], y[chosen]
    points = (x - hyper.centre) * hyper.scale
    covariance = hyper.signal / (1.0 + 0.5 * _distances(points, points))
    covariance[np.diag_indices(len(y))] += hyper.noise
    with threadpool_limits(1, "blas"):
        weights = hyper.signal * cho_solve(cho_factor(covariance, lower=True), y)
    return GaussianProcess(short(hyper.centre), short(hyper.scale), short(points), short(weights))


def short(values: Array) -> Any:
    """The numbers as (nested) lists with 7 digits: what single precision holds, in few bytes of JSON."""
    size = np.where(values == 0, 1.0, np.abs(values))
    step = 10.0 ** (DIGITS - 1 - np.floor(np.log10(size)))
    return (np.round(values * step) / step).tolist()
