"""Hartigan's dip: the distance between samples and the nearest distribution with one mode."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_SAMPLES = 1000

CRITICAL = {
    6: 0.475, 8: 0.490, 10: 0.504, 15: 0.524, 20: 0.538, 30: 0.559, 50: 0.572, 100: 0.591, 200: 0.594, 500: 0.609,
    1000: 0.612,
}  # fmt: skip
"""n → √n·dip that n uniform samples exceed with probability 1 %.

By simulation, 20,000 draws a size (3,000 for 1000); tests/stats/test_modes.py draws again. The uniform is the one-mode
distribution that is hardest to tell from several modes, so for all others the chance of a false alarm is smaller
(Hartigan and Hartigan 1985).
"""


def dip(samples: npt.ArrayLike) -> float:
    """The dip of (n,) samples: sup distance of their distribution function from the nearest one with one mode.

    Hartigan 1985 (algorithm AS 217): the greatest convex minorant and least concave majorant of the distribution
    function, on an interval that shrinks around the mode. Between 1/(2n) and 1/4. Equal samples are spread over the
    resolution first, see `spread_ties`.
    """
    x = spread_ties(samples)
    n = len(x)
    if n < 2:
        return 0.0
    above = np.arange(1, n + 1) / n
    below = np.arange(n) / n
    first, last, distance = 0, n - 1, 1.0 / n
    while True:
        part, upper, lower = x[first : last + 1], above[first : last + 1], below[first : last + 1]
        convex, concave = _minorant(part, lower), _minorant(part, -upper)
        minorant = np.interp(part, part[convex], lower[convex])
        majorant = np.interp(part, part[concave], upper[concave])
        at_convex, at_concave = (majorant - minorant)[convex], (majorant - minorant)[concave]
        if at_concave.max() > at_convex.max():
            gap = at_concave.max()
            right = int(concave[np.flatnonzero(at_concave == gap)[-1]])
            left = int(convex[convex <= right][-1])
        else:
            gap = at_convex.max()
            left = int(convex[np.flatnonzero(at_convex == gap)[0]])
            right = int(concave[concave >= left][0])
        if gap <= distance:
            break
        distance = max(distance, (upper - minorant)[: left + 1].max(), (majorant - lower)[right:].max())
        if left == 0 and right == len(part) - 1:
            break
        first, last = first + left, first + right
    return float(distance) / 2


def _minorant(x: Floats, y: Floats) -> Ints:
    """Indices of the vertices of the greatest convex function under the points; x increases."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) >= 2:
            b, a = hull[-1], hull[-2]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull, np.int64)


def spread_ties(samples: npt.ArrayLike) -> Floats:
    """Sorted samples; equal ones are spread evenly over one resolution step (the least difference of two values).

    Times come in ticks of a clock. The ticks are not modes.
    """
    values, counts = np.unique(np.asarray(samples, np.float64).ravel(), return_counts=True)
    if len(values) < 2 or counts.max() == 1:
        return np.repeat(values, counts)
    tick = float(np.diff(values).min())
    within = np.concatenate([(np.arange(c) + 0.5) / c - 0.5 for c in counts])
    return np.repeat(values, counts) + tick * within


def dip_significant(samples: npt.ArrayLike) -> bool:
    """Whether the dip is greater than one mode makes it with probability 1 %.

    False for fewer than 6 samples. Of more than 1,000 samples every k-th is taken.
    """
    values = np.asarray(samples, np.float64).ravel()
    values = values[:: max(1, math.ceil(len(values) / MOST_SAMPLES))]
    n = len(values)
    if n < min(CRITICAL):
        return False
    limit = np.interp(math.log(n), np.log(list(CRITICAL)), list(CRITICAL.values()))
    return bool(math.sqrt(n) * dip(values) > limit)
