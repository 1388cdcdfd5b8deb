"""How many independent samples a series of samples is worth: autocorrelation and what it costs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def rank_autocorrelation(samples: npt.ArrayLike, max_lag: int | None = None) -> npt.NDArray[np.float64]:
    """Autocorrelation of the ranks at lags 0, 1, … `max_lag` (default n // 2), so that a few outliers do not decide.

    Each lag is corrected for the bias of about −1/n that a fitted mean brings. Ties share their mean rank.
    """
    values = np.asarray(samples, np.float64).ravel()
    n = len(values)
    lags = n // 2 if max_lag is None else min(max_lag, n - 1)
    ranks = mean_ranks(values)
    centred = ranks - ranks.mean() if n else ranks
    power = float(centred @ centred)
    if n < 3 or power == 0:
        return np.concatenate([[1.0], np.zeros(max(lags, 0))])
    rho = np.array([float(centred[: n - k] @ centred[k:]) / power for k in range(lags + 1)])
    rho[1:] += (n - np.arange(1, lags + 1)) / (n * (n - 1))  # what a series in random order has on average
    return np.asarray(np.clip(rho, -1.0, 1.0), np.float64)


def mean_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (last - (counts - 1) / 2.0)[inverse]
    return ranks


def inefficiency(samples: npt.ArrayLike) -> float:
    """Samples that are worth one independent sample, ≥ 1: 1 + 2·Σ ρ_k, cut by the initial positive sequence.

    Sums of two neighbouring autocorrelations are added as long as they are positive (Geyer 1992). The variance of a
    mean or median of the series is this many times that of independent samples. 1 for fewer than 6 samples: too few to
    tell; for those no verdict should rest on one series.
    """
    values = np.asarray(samples, np.float64).ravel()
    n = len(values)
    if n < 6:
        return 1.0
    rho = rank_autocorrelation(values, min(n // 2, 200))
    if rho[1] < 1 / math.sqrt(n):  # within one standard error of none
        return 1.0
    total = -1.0
    for pair in range(len(rho) // 2):
        step = rho[2 * pair] + rho[2 * pair + 1]
        if step <= 0:
            break
        total += 2.0 * step
    return float(min(max(total, 1.0), n / 2))
