"""A synchronous step fitted to measured step times of few GPUs, to say what many would take.

T = c0 + c1·b + max(S − h·(c0 + c1·b), 0), the exchange S of a ring over n nodes with k GPUs, at most g on one node:
S = local·(k−1)/k + ring·(n−1)/n + shared·(g−1)·(n−1)/n + latency·2(n−1): data inside nodes and between them, the node's
interface shared by its GPUs, and the steps of the ring. h is the share of compute behind which S hides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sprintprof.model.special import Floats
from sprintprof.records import InputError

PARAMETERS = 7
ROBUST = 0.05
"""Relative error from which a point counts less: real steps have outliers."""


@dataclass(frozen=True)
class Steps:
    """Where steps ran, arrays of one shape (n,): nodes, GPUs, GPUs of the fullest node, samples a GPU."""

    nodes: Floats
    gpus: Floats
    fullest: Floats
    sub_batch: Floats


@dataclass(frozen=True)
class StepModel:
    """The coefficients, all in s but `per_sample_s` (s a sample) and `hidden_fraction`."""

    fixed_s: float
    per_sample_s: float
    local_s: float
    ring_s: float
    shared_s: float
    latency_s: float
    hidden_fraction: float

    def compute_s(self, steps: Steps) -> Floats:
        """Compute of one GPU, shape (n,)."""
        return self.fixed_s + self.per_sample_s * steps.sub_batch

    def exchange_s(self, steps: Steps) -> Floats:
        """The whole exchange, shape (n,)."""
        weights = np.array([self.local_s, self.ring_s, self.shared_s, self.latency_s])
        return np.asarray(_features(steps) @ weights, np.float64)

    def step_s(self, steps: Steps) -> Floats:
        """Step time, shape (n,)."""
        compute = self.compute_s(steps)
        return compute + np.maximum(self.exchange_s(steps) - self.hidden_fraction * compute, 0.0)


def _features(steps: Steps) -> Floats:
    n, k, g = steps.nodes, steps.gpus, steps.fullest
    between = (n - 1) / n
    return np.stack([(k - 1) / k, between, between * (g - 1), 2 * (n - 1)], axis=-1)


def _model(x: Floats) -> StepModel:
    fixed, per_sample, local, ring, shared, latency = (float(v) for v in np.exp(x[:6]))
    return StepModel(fixed, per_sample, local, ring, shared, latency, float(1 / (1 + np.exp(-x[6]))))


def fit_steps(steps: Steps, measured_s: Floats) -> StepModel:
    """Least robust relative error, every number of nodes counting the same. Raises InputError for too few points."""
    from scipy.optimize import least_squares

    if len(measured_s) < PARAMETERS + 3:
        raise InputError("step times", f"{len(measured_s)} are too few", f"give at least {PARAMETERS + 3}")
    _, place, counts = np.unique(steps.nodes, return_inverse=True, return_counts=True)
    weights = 1 / np.sqrt(counts[place])
    weights /= weights.mean()
    log_s = np.log(measured_s)

    def residuals(x: Floats) -> Floats:
        return np.asarray(weights * (np.log(_model(x).step_s(steps)) - log_s), np.float64)

    alone = measured_s.min()
    exchange = max(float(np.median(measured_s) - alone), 0.1 * float(alone)) / 2
    start = np.log([alone / 2, alone / 2 / steps.sub_batch.mean(), exchange, exchange, exchange / 4, exchange / 20])
    found = [
        least_squares(residuals, np.append(start, hidden), loss="soft_l1", f_scale=ROBUST) for hidden in (-1.0, 1.0)
    ]
    best = min(found, key=lambda f: float(f.cost))
    return _model(np.asarray(best.x, np.float64))
