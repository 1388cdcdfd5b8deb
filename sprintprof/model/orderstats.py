"""Order statistics of cycle times: waiting for all, or for the first K, of N workers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sprintprof.model.counting import Group
from sprintprof.model.jitter import Jitter
from sprintprof.model.special import Floats, beta_cdf

POINTS = 2048


def kth_mean_s(groups: Sequence[Group], k: int) -> float:
    """E[time until k of all workers are done] in s, workers in groups (number, cycle): ∫ P(fewer than k done) dx.

    k = N is the maximum (BSP); k < N leaves N − k back-up workers. Dutta et al. 2018, section 4.
    """
    total = sum(n for n, _ in groups)
    if not 1 <= k <= total:
        raise ValueError(f"there is no {k}-th of {total} workers")
    bounds = [cycle.bounds() for _, cycle in groups]
    low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
    if high - low < 1e-12 * high:
        return high
    # just before and at the end: a cycle without jitter is a step
    steps = np.concatenate([np.append(np.linspace(*b, POINTS), b[1] * (1 - 1e-12)) for b in bounds])
    x = np.unique(steps)
    missing = _fewer_than(groups, k, x)
    return low + float(np.trapezoid(missing, x))


def _fewer_than(groups: Sequence[Group], k: int, x: Floats) -> Floats:
    """P(fewer than k workers done by x), shape of x."""
    parts = [(n, cycle.cdf(x)) for n, cycle in groups if n]
    total = sum(n for n, _ in parts)
    if len(parts) == 1:
        n, done = parts[0]
        return 1 - beta_cdf(k, n - k + 1, done)
    if k == total:
        return np.asarray(1 - np.prod([done**n for n, done in parts], axis=0), np.float64)
    # number of workers done: a sum of binomials, by the characteristic function on total + 1 points
    angle = np.exp(-2j * np.pi * np.arange(total + 1) / (total + 1))
    product = np.ones((len(x), total + 1), np.complex128)
    for n, done in parts:
        product *= (1 + done[:, None] * (angle - 1)[None, :]) ** n
    pmf = np.fft.ifft(product, axis=1).real
    return np.asarray(pmf[:, :k].sum(axis=1), np.float64)


def skew_s(cycle: Jitter, ranks: int) -> float:
    """E[max] − E[mean] of `ranks` cycles, in s."""
    return kth_mean_s([(ranks, cycle)], ranks) - cycle.mean_s
