"""Small sums over compared points: geometric means, numbers of verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sprintprof.compare.records import Mean, PairComparison, PointComparison

NOT_COMPARABLE = "not comparable"


def compared(points: Sequence[PointComparison]) -> list[PointComparison]:
    """The points whose ratio means something."""
    return [point for point in points if point.verdict != NOT_COMPARABLE]


def geometric_mean(points: Sequence[PointComparison]) -> Mean:
    """Geometric mean of the ratios of the comparable ones among `points`."""
    ratios = np.array([point.ratio for point in compared(points)])
    return Mean(float(np.exp(np.log(ratios).mean())) if len(ratios) else math.nan, len(ratios))


def means_by_benchmark(points: Sequence[PointComparison]) -> dict[str, Mean]:
    """The geometric mean of each benchmark."""
    names = dict.fromkeys(point.benchmark for point in compared(points))
    return {name: geometric_mean([p for p in points if p.benchmark == name]) for name in names}


def common_means(pairs: Sequence[PairComparison]) -> dict[str, Mean]:
    """Geometric mean of each file over the points that all files share and that are comparable in all."""
    tables = [{point.key: point for point in compared(pair.points)} for pair in pairs]
    shared = set.intersection(*(set(table) for table in tables)) if tables else set()
    return {
        pair.other: geometric_mean([table[key] for key in table if key in shared])
        for pair, table in zip(pairs, tables, strict=True)
    }
