"""The median of samples with its distribution-free interval, and quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

MIN_SAMPLES = 6
"""Fewest samples for which a distribution-free 95 % interval of the median exists."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The probabilities a distribution is summarised by."""


@lru_cache(maxsize=4096)
def median_interval_rank(n: int, confidence: float = 0.95) -> int:
    """Rank l ≥ 1 such that [x_(l), x_(n+1−l)] covers the median with at least `confidence`; 0 where none does.

    The number of samples under the median is Binomial(n, 1/2), so the coverage of that interval is
    P(l ≤ Binomial(n, 1/2) ≤ n − l) for any continuous distribution (Hettmansperger 1984; Hoefler and Belli, SC15,
    rule 5). The greatest such l is returned. Summed from the centre outward: O(√n), exact to rounding.
    """
    low = n // 2
    if n < 1 or not 0 < confidence < 1:
        return 0
    # pmf at the centre; for even n the centre is one term, for odd n two
    pmf = math.exp(math.lgamma(n + 1) - math.lgamma(low + 1) - math.lgamma(n - low + 1) - n * math.log(2.0))
    covered = pmf if n % 2 == 0 else 2 * pmf
    while low > 0 and covered < confidence * (1 - 1e-12):
        pmf *= low / (n - low + 1)
        low -= 1
        covered += 2 * pmf
    return low


def median_interval(samples: npt.ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Distribution-free interval of the median: two order statistics with exact binomial coverage ≥ `confidence`.

    `samples` is (n,), any unit; the result has that unit. (nan, nan) where n is too small for the confidence (under 6
    at 95 %) or a sample is NaN. The coverage is that of independent samples.
    """
    values = np.asarray(samples, np.float64).ravel()
    rank = median_interval_rank(len(values), confidence)
    if rank == 0 or np.isnan(values).any():
        return math.nan, math.nan
    ordered = np.partition(values, (rank - 1, len(values) - rank))
    return float(ordered[rank - 1]), float(ordered[len(values) - rank])


def relative_half_width(samples: npt.ArrayLike, confidence: float = 0.95) -> float:
    """Half the width of the interval of the median over the median, a fraction; inf where there is no interval."""
    low, high = median_interval(samples, confidence)
    middle = float(np.median(np.asarray(samples, np.float64))) if math.isfinite(low) else math.nan
    return (high - low) / 2 / abs(middle) if middle and math.isfinite(middle) else math.inf


def quantiles(samples: npt.ArrayLike, probabilities: Sequence[float] = QUANTILES) -> npt.NDArray[np.float64]:
    """Sample quantiles, linear between order statistics (type 7 of Hyndman and Fan); NaN where there is no sample."""
    values = np.asarray(samples, np.float64).ravel()
    if len(values) == 0:
        return np.full(len(probabilities), math.nan)
    return np.quantile(values, probabilities)
