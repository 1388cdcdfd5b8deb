"""Labels short enough for a line: of a point's parameters those that tell it from the others."""

from __future__ import annotations

from collections.abc import Iterable

from sprintprof.records import Point
from sprintprof.report.results_view import varying


def short_labels(points: Iterable[Point]) -> dict[str, str]:
    """Point key → `benchmark[a=1,b=2] p=4` with the parameters that vary within the benchmark among `points`."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(point.benchmark, []).append(point)
    labels = {}
    for name, group in groups.items():
        kept = varying(group) or list(group[0].parameters)[:3]
        for point in group:
            inner = ",".join(f"{k}={point.parameters[k]}" for k in kept if k in point.parameters)
            labels[point.key] = f"{name}[{inner}]" + (f" p={point.ranks}" if point.ranks > 1 else "")
    return labels
