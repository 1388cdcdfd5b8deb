"""Ranks beside each other: their spread, and the one that is slower than the rest time and again."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

LEAST_GAP = 0.05
"""A rank less than this share slower than the next one is no straggler."""

LEAST_WINS = 0.75
"""A straggler is the slowest rank in at least this share of the samples."""

MIN_SAMPLES = 6


class RankSpread(msgspec.Struct, frozen=True):
    """Medians of the ranks: least, middle, greatest in s; the slowest rank; the straggler's rank, -1 if none."""

    min_s: float
    median_s: float
    max_s: float
    slowest_rank: int
    straggler_rank: int


def rank_spread(rank_times_s: npt.NDArray[np.float64], start_skew_s: float = 0.0) -> RankSpread:
    """Spread of the ranks' medians over `rank_times_s` (n, ranks), with the straggler where there is one.

    It is the rank whose median exceeds the next greatest by more than the others differ among themselves, by more than
    5 %, and by more than ranks may start apart (`start_skew_s`), and which is the slowest in three of four samples: one
    slow sample does not make a straggler. In a collective that ends on all ranks at once a late rank makes the others
    slow and stays unnamed; the greatest time over ranks is the headline either way.
    """
    medians = np.median(rank_times_s, axis=0)
    slowest = int(np.argmax(medians))
    others = np.delete(medians, slowest)
    straggler = -1
    if len(others) and len(rank_times_s) >= MIN_SAMPLES:
        gap = medians[slowest] - others.max()
        wins = float((np.argmax(rank_times_s, axis=1) == slowest).mean())
        if gap > max(np.ptp(others), LEAST_GAP * others.max(), start_skew_s) and wins >= LEAST_WINS:
            straggler = slowest
    low_s, middle_s, high_s = (float(np.quantile(medians, q)) for q in (0.0, 0.5, 1.0))
    return RankSpread(low_s, middle_s, high_s, slowest, straggler)
