"""Several modes: do the samples fall into groups (two clock levels, two algorithms, two sockets)?"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.stats.dip import dip_significant, spread_ties

Floats = npt.NDArray[np.float64]

LEAST_SEPARATION = 0.03
"""Groups whose medians are nearer than this fraction are one mode: a difference nobody would act on."""

LEAST_SHARE = 0.1
_LEAST_SAMPLES = 10


class Modes(msgspec.Struct, frozen=True):
    """The groups found, by time: `centres_s` medians and `shares` (sum 1). One group where there is one mode.

    `bounds_s` are the limits between neighbours, len(centres_s) − 1. `enough` is False under 10 samples.
    """

    centres_s: tuple[float, ...]
    shares: tuple[float, ...]
    bounds_s: tuple[float, ...] = ()
    enough: bool = True

    @property
    def count(self) -> int:
        """How many modes."""
        return len(self.centres_s)


def find_modes(samples: npt.ArrayLike) -> Modes:
    """Split positive samples (n,) into modes where the evidence suffices.

    A group is split where Hartigan's dip of the log times is significant at 1 % and the best cut in two (least spread
    within the halves) leaves at least 10 % and 3 samples on either side, their medians 3 % apart. Halves of 10 samples
    and more are looked at again. A long tail alone is no mode: the dip asks for no shape.
    """
    values = np.asarray(samples, np.float64).ravel()
    if len(values) == 0 or not (values > 0).all():
        return Modes((), (), (), enough=False)
    logs = np.log(spread_ties(values))
    bounds = sorted(_split(logs, len(logs)))
    groups = np.split(logs, np.searchsorted(logs, bounds))
    return Modes(
        tuple(float(np.exp(np.median(g))) for g in groups),
        tuple(len(g) / len(logs) for g in groups),
        tuple(float(np.exp(b)) for b in bounds),
        enough=len(values) >= _LEAST_SAMPLES,
    )


def _split(logs: Floats, total: int) -> list[float]:
    """Bounds within sorted values."""
    if len(logs) < _LEAST_SAMPLES or not dip_significant(logs):
        return []
    cut = best_cut(logs)
    low, high = logs[:cut], logs[cut:]
    few = max(3.0, LEAST_SHARE * total)
    if min(len(low), len(high)) < few or np.median(high) - np.median(low) < np.log1p(LEAST_SEPARATION):
        return []
    bound = (low[-1] + high[0]) / 2
    return [float(bound), *_split(low, total), *_split(high, total)]


def best_cut(ordered: Floats) -> int:
    """Index that splits sorted values into two with the least sum of squares within (Otsu 1979, Jenks)."""
    n = len(ordered)
    sums = np.cumsum(ordered - ordered.mean())[:-1]
    k = np.arange(1, n)
    between = sums**2 * (1 / k + 1 / (n - k))
    return int(np.argmax(between)) + 1
