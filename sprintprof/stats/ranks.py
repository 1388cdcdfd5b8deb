"""Ranks of a parallel point: may their times be pooled, and is one of them a straggler?"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

SIGNIFICANCE = 0.01
LEAST_DIFFERENCE = 0.02
"""Ranks whose medians differ by less than this fraction may be pooled, however significant the difference."""

STRAGGLER_DEVIATIONS = 4.0
STRAGGLER_SHARE = 0.1

Floats = npt.NDArray[np.float64]


class RankTest(msgspec.Struct, frozen=True):
    """Whether the ranks' times are of one distribution, and what they are.

    `test` "anova" where every rank's log times look normal with equal variances, else "kruskal-wallis"; "none" with one
    rank or under 3 samples a rank (then `p` is NaN and only the medians decide). `medians_s` are the ranks' own
    medians; `headline_s` is the median over samples of the maximum over ranks, the time that counts. `stragglers` are
    ranks slower than the others by more than the others' spread. `spread` is (greatest − least) over the least of
    `medians_s`.
    """

    test: Literal["none", "anova", "kruskal-wallis"]
    statistic: float
    p: float
    poolable: bool
    medians_s: tuple[float, ...]
    headline_s: float
    spread: float
    stragglers: tuple[int, ...]

    @property
    def min_median_max_s(self) -> tuple[float, float, float]:
        """Least, median and greatest of the ranks' medians."""
        return min(self.medians_s), float(np.median(self.medians_s)), max(self.medians_s)


def compare_ranks(rank_times_s: npt.ArrayLike) -> RankTest:
    """Test ranks before pooling: `rank_times_s` is (n, ranks) positive, as in SampleSet.rank_times_s.

    Hoefler and Belli, SC15, rule 10 and section 3.2.1: one-way ANOVA where its assumptions hold, else Kruskal–Wallis.
    Raises ValueError where the array is not two-dimensional, is empty, or holds times ≤ 0.
    """
    times = np.asarray(rank_times_s, np.float64)
    if times.ndim != 2 or times.size == 0 or not (times > 0).all():
        raise ValueError("rank times must be positive, shape (samples, ranks)")
    medians = np.median(times, axis=0)
    spread = float(medians.max() / medians.min() - 1)
    test, statistic, p = _one_distribution(np.log(times))
    return RankTest(
        test=test,
        statistic=statistic,
        p=p,
        poolable=spread < LEAST_DIFFERENCE or p >= SIGNIFICANCE,
        medians_s=tuple(float(m) for m in medians),
        headline_s=float(np.median(times.max(axis=1))),
        spread=spread,
        stragglers=stragglers(times),
    )


def _one_distribution(logs: Floats) -> tuple[Literal["none", "anova", "kruskal-wallis"], float, float]:
    samples, ranks = logs.shape
    if ranks < 2 or samples < 3:
        return "none", float("nan"), float("nan")
    if np.ptp(logs) == 0:
        return "none", 0.0, 1.0
    from scipy import stats

    if (np.ptp(logs, axis=0) > 0).all():
        normal = min(float(stats.shapiro(column[:5000]).pvalue) for column in logs.T)
        equal = float(stats.levene(*logs.T, center="median").pvalue)
        if normal * ranks > 0.05 and equal > 0.05:  # Bonferroni over the ranks
            anova = stats.f_oneway(*logs.T)
            return "anova", float(anova.statistic), float(anova.pvalue)
    kruskal = stats.kruskal(*logs.T)
    return "kruskal-wallis", float(kruskal.statistic), float(kruskal.pvalue)


def stragglers(rank_times_s: npt.ArrayLike) -> tuple[int, ...]:
    """Ranks whose median lies over that of the others by more than 10 % and by more than 4 robust deviations of theirs.

    The deviation is the greater of that between the other ranks' medians and that within their samples. One sample is
    enough (11, 12, 11, 95 µs: rank 3). Fewer than 3 ranks have no straggler: two disagree, none is the odd one.
    """
    times = np.asarray(rank_times_s, np.float64)
    medians = np.median(times, axis=0)
    ranks = len(medians)
    if ranks < 3:
        return ()
    within = np.median(np.abs(times - medians), axis=0)
    found = []
    for rank in range(ranks):
        others = np.delete(medians, rank)
        middle = float(np.median(others))
        between = float(np.median(np.abs(others - middle)))
        deviation = 1.4826 * max(between, float(np.median(np.delete(within, rank))))
        if medians[rank] - middle > max(STRAGGLER_SHARE * middle, STRAGGLER_DEVIATIONS * deviation):
            found.append(rank)
    return tuple(found)
