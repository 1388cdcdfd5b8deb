"""The order in which points are measured: random, so that slow changes of the machine do not look like an axis."""

from __future__ import annotations

import random
from collections.abc import Iterable

from sprintprof.records import Point


def random_order(points: Iterable[Point], seed: int) -> list[Point]:
    """The points in an order drawn from `seed`: the same on all ranks, whatever order they come in."""
    ordered = sorted(points, key=lambda point: point.key)
    random.Random(seed).shuffle(ordered)
    return ordered
