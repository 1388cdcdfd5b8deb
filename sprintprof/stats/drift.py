"""Drift: do samples change over the measurement, for a while (burst) or for good (sustained)?"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.stats.dependence import inefficiency, mean_ranks

MIN_SAMPLES = 8
"""With fewer samples nothing is called drift."""

SIGNIFICANCE = 0.01
LEAST_CHANGE = 0.02
"""Changes under this fraction are not called drift, however significant."""

_MOST_SAMPLES = 400
_AWAY_DEVIATIONS = 4.0

Floats = npt.NDArray[np.float64]


class Drift(msgspec.Struct, frozen=True):
    """What was found.

    `kind` "burst": samples first..last lie apart from the rest, which returns to its level; "sustained": the level at
    the end is another one than at the start. `change` is the relative change: of the burst against the rest, or of the
    end against the start. `p` is the probability of such an order by chance. `enough` is False where there were too
    few samples to tell.
    """

    kind: Literal["none", "burst", "sustained"]
    change: float = 0.0
    first: int = 0
    last: int = 0
    p: float = 1.0
    enough: bool = True


def find_drift(samples: npt.ArrayLike, least_change: float = LEAST_CHANGE) -> Drift:
    """Look for a burst, a step or a trend in positive samples (n,) in the order in which they were taken.

    A trend is Mann and Kendall's test with its variance inflated by the autocorrelation of the detrended ranks (Hamed
    and Rao 1998), its size Theil and Sen's slope. A burst or step is a set of samples away from the densest half whose
    order has too few runs (Wald and Wolfowitz, exact); a smaller step is found by Pettitt's test. All need p < 1 % and
    a change of `least_change`.
    """
    values = np.asarray(samples, np.float64).ravel()
    n = len(values)
    if n < MIN_SAMPLES or not (values > 0).all():
        return Drift("none", enough=n >= MIN_SAMPLES)
    logs = np.log(values)
    away = _away(logs, least_change)
    clustered = runs_p(away) if 3 <= away.sum() <= n - 3 else 1.0
    if clustered < SIGNIFICANCE:
        return _burst_or_step(logs, away, clustered, least_change)
    slope, p_trend = trend(logs)
    at, step, p_step = level_shift(logs)
    p = min(1.0, 2 * min(p_trend, p_step))  # two tests of the same samples
    change = math.expm1(step if p_step < p_trend else slope * (n - 1))
    if p < SIGNIFICANCE and abs(change) >= least_change:
        return Drift("sustained", change, at if p_step < p_trend else 0, n - 1, p)
    return Drift("none", 0.0, 0, 0, p)


def _away(logs: Floats, least_change: float) -> npt.NDArray[np.bool_]:
    """Samples away from the densest half: the base level, whatever up to half of the samples do."""
    n = len(logs)
    half = n // 2 + 1
    ordered = np.sort(logs)
    widths = ordered[half - 1 :] - ordered[: n - half + 1]
    start = int(np.argmin(widths))
    centre = float(np.median(ordered[start : start + half]))
    # half of a normal distribution lies within ±0.6745 standard deviations
    deviation = float(widths[start]) / 2 / 0.6745
    return np.abs(logs - centre) > max(_AWAY_DEVIATIONS * deviation, least_change)


def _burst_or_step(logs: Floats, away: npt.NDArray[np.bool_], p: float, least_change: float) -> Drift:
    n = len(logs)
    where = np.flatnonzero(away)
    base = float(np.median(logs[~away]))
    change = math.expm1(float(np.median(logs[where])) - base)
    edge = max(3, n // 10)
    if away[-edge:].mean() > 0.5 >= away[:edge].mean():  # up or down and still there at the end
        return Drift("sustained", change, int(where[0]), n - 1, p)
    if away[:edge].mean() > 0.5:  # began elsewhere and settled
        return Drift("sustained", math.expm1(-math.log1p(change)), 0, int(where[-1]), p)
    if abs(change) < least_change:
        return Drift("none", p=p)
    return Drift("burst", change, int(where[0]), int(where[-1]), p)


def trend(values: npt.ArrayLike) -> tuple[float, float]:
    """Theil and Sen's slope per sample and the two-sided p of Mann and Kendall's test against autocorrelated noise.

    Long series are thinned to medians of blocks first.
    """
    series = np.asarray(values, np.float64).ravel()
    per_block = -(-len(series) // _MOST_SAMPLES)
    if per_block > 1:
        blocks = len(series) // per_block
        series = np.median(series[: blocks * per_block].reshape(blocks, per_block), axis=1)
    n = len(series)
    if n < 4:
        return 0.0, 1.0
    i, j = np.triu_indices(n, 1)
    differences = series[j] - series[i]
    slope = float(np.median(differences / (j - i)))
    score = float(np.sign(differences).sum())
    _, ties = np.unique(series, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18.0
    if variance <= 0:
        return slope / per_block, 1.0
    variance *= inefficiency(series - slope * np.arange(n))
    z = max(abs(score) - 1.0, 0.0) / math.sqrt(variance)
    return slope / per_block, math.erfc(z / math.sqrt(2.0))


def level_shift(values: npt.ArrayLike) -> tuple[int, float, float]:
    """Pettitt's test (1979): first index after the likeliest step, its size (difference of medians), two-sided p.

    The variance is inflated by the autocorrelation that is left when the step is taken out.
    """
    series = np.asarray(values, np.float64).ravel()
    n = len(series)
    if n < MIN_SAMPLES:
        return 0, 0.0, 1.0
    scores = 2 * np.cumsum(mean_ranks(series)) - np.arange(1, n + 1) * (n + 1)
    at = int(np.argmax(np.abs(scores[:-1]))) + 1
    step = float(np.median(series[at:]) - np.median(series[:at]))
    rest = series - step * (np.arange(n) >= at)
    statistic = float(scores[at - 1]) ** 2 / inefficiency(rest)
    return at, step, min(1.0, 2 * math.exp(-6 * statistic / (n**3 + n**2)))


def runs_p(marks: npt.ArrayLike) -> float:
    """P(as few runs or fewer) when the marks stand in random order: Wald and Wolfowitz' runs test, exact, one-sided."""
    flags = np.asarray(marks, np.bool_).ravel()
    m, w = int(flags.sum()), int((~flags).sum())
    if m == 0 or w == 0:
        return 1.0
    runs = 1 + int((flags[1:] != flags[:-1]).sum())
    ways = 0
    for r in range(2, runs + 1):
        k = r // 2
        if r % 2 == 0:
            ways += 2 * math.comb(m - 1, k - 1) * math.comb(w - 1, k - 1)
        else:
            ways += math.comb(m - 1, k) * math.comb(w - 1, k - 1) + math.comb(m - 1, k - 1) * math.comb(w - 1, k)
    return ways / math.comb(m + w, m)
