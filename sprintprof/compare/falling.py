"""Series over a size: does the time fall while the work grows? (A window that holds more than the work does that.)"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from sprintprof.compare.findings import Finding
from sprintprof.records import Measurement, Point, point_key
from sprintprof.units import format_time

LEAST_FALL = 0.05
"""Smaller falls are not reported."""

_SIZES_WITHOUT_COST = ("size_bytes", "batch")
"""Axes that are sizes even where a benchmark declares neither FLOP nor bytes."""


def falling(measurements: Iterable[Measurement]) -> list[Finding]:
    """Neighbours on a size axis, all else equal, where the larger one is faster by 5 % and the intervals do not meet.

    A numeric parameter is a size where FLOP and bytes do not fall with it and one of them rises. Where a point has too
    few samples for an interval its median stands alone, and the finding says so.
    """
    series: dict[tuple[str, ...], list[tuple[float, Measurement]]] = {}
    for m in measurements:
        if m.status != "ok":
            continue
        for axis, value in m.point.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                series.setdefault((_rest(m.point, axis), axis), []).append((float(value), m))
    found = []
    for (*_, axis), points in series.items():
        for (small, a), (large, b) in pairwise(sorted(points, key=lambda p: p[0])):
            if small < large and _grows(axis, a, b) and (finding := _fall(axis, a, b)):
                found.append(finding)
    return found


def _rest(point: Point, axis: str) -> str:
    """Key of all that is the same along an axis."""
    return point_key(f"{point.benchmark} over {axis}", point.engine, point.without(axis), point.ranks, point.launch)


def _grows(axis: str, a: Measurement, b: Measurement) -> bool:
    costs = [(x, y) for x, y in ((a.flop, b.flop), (a.bytes, b.bytes)) if math.isfinite(x) and math.isfinite(y)]
    if not costs:
        return axis in _SIZES_WITHOUT_COST
    return all(y >= x for x, y in costs) and any(y > x for x, y in costs)


def _fall(axis: str, a: Measurement, b: Measurement) -> Finding | None:
    fall = 1 - b.median_s / a.median_s
    known = math.isfinite(a.low_s) and math.isfinite(b.high_s)
    if fall < LEAST_FALL or (known and b.high_s >= a.low_s):
        return None
    sizes = f"{axis} {a.point.parameters[axis]} to {b.point.parameters[axis]}"
    what = f"{sizes}: {format_time(a.median_s)} to {format_time(b.median_s)}, {100 * fall:.0f} % less"
    sure = "the 95 % intervals do not meet" if known else "too few samples for intervals"
    return Finding("falls", b.key, b.point.label(), what, sure, fall)
