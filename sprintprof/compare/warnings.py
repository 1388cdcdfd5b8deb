"""What a reader of a comparison must know: cause and remedy in a line each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sprintprof.compare.records import PointComparison
from sprintprof.compare.verdicts import NOT_COMPARABLE, compared
from sprintprof.stats.pool import LEAST_POINTS, RunScatter

_NOTABLE_SCATTER = 0.01
_SHARED_SIGN = 0.8


def pair_warnings(points: Sequence[PointComparison], scatter: RunScatter, margin: float) -> list[str]:
    """Warnings about one pair of files, each with cause and remedy."""
    alike = compared(points)
    lines = [*_conditions(points), _shift(alike, margin), _scatter(scatter), _flags(alike)]
    return [line for line in lines if line]


def _conditions(points: Sequence[PointComparison]) -> list[str]:
    against = Counter(point.why for point in points if point.verdict == NOT_COMPARABLE)
    return [
        f"{_number(count, 'point')} not comparable: {why}; measure both sides alike, or compare anyway with --across"
        for why, count in against.most_common()
    ]


def _shift(points: Sequence[PointComparison], margin: float) -> str:
    """Most points moved together: a change of the whole machine or run."""
    logs = np.log([point.ratio for point in points])
    if len(logs) < LEAST_POINTS:
        return ""
    centre = float(np.median(logs))
    together = float((np.sign(logs) == np.sign(centre)).mean())
    spread = 1.4826 * float(np.median(np.abs(logs - centre)))
    if abs(centre) < math.log1p(margin) or together < _SHARED_SIGN or spread > abs(centre):
        return ""
    moved = f"most points moved together, by {100 * math.expm1(centre):+.1f} %"
    cause = "that is the whole machine or run (clock, load, threads), not single points"
    return f"{moved}: {cause}; repeat both runs in turn to tell a lasting change from a passing one"


def _scatter(scatter: RunScatter) -> str:
    typical = scatter.scatter * math.sqrt(2) * scatter.noise
    if scatter.points == 0 or typical < _NOTABLE_SCATTER:
        return ""
    by = f"±{100 * typical:.0f} %"
    cause = "the scatter of points between these two runs (at most 3 times the noise within a point)"
    return f"one launch a side: intervals are widened by {by}, {cause}; --launches 5 on both sides measures it"


def _flags(points: Sequence[PointComparison]) -> str:
    counts = Counter(flag for point in points for flag in {*point.flags[0], *point.flags[1]})
    marked = ", ".join(f"{flag} {count}" for flag, count in counts.most_common())
    return f"flagged on either side: {marked}; sprintprof check FILE says what to do" if marked else ""


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
