"""Outliers: marked, never dropped."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

LIMIT = 3.5
"""Modified z-score over which a sample is an outlier (Iglewicz and Hoaglin 1993)."""

_MAD_TO_SD = 1.4826
_LEAST_SPREAD = 0.002
"""Spreads are taken as at least this share of the median: timer steps are no outliers."""


class Outliers(msgspec.Struct, frozen=True):
    """Which samples are outliers. `mask` is (n,) bool; a sample is marked outside `low_s`..`high_s`."""

    mask: npt.NDArray[np.bool_]
    low_s: float
    high_s: float

    @property
    def count(self) -> int:
        """How many are marked."""
        return int(self.mask.sum())

    @property
    def share(self) -> float:
        """Marked samples over all, a fraction."""
        return self.count / len(self.mask) if len(self.mask) else 0.0


def mark_outliers(samples: npt.ArrayLike, limit: float = LIMIT) -> Outliers:
    """Mark samples that lie more than `limit` robust standard deviations from the median, on the log scale.

    The deviation above and below the median is measured apart (double MAD), since times have a longer tail above. Every
    sample stays in every summary: a mark explains, it removes nothing. Fewer than 6 samples are never marked.
    Needs positive samples, (n,).
    """
    values = np.asarray(samples, np.float64).ravel()
    if len(values) < 6 or not (values > 0).all():
        return Outliers(np.zeros(len(values), np.bool_), 0.0, np.inf)
    logs = np.log(values)
    middle = float(np.median(logs))
    above, below = logs[logs >= middle] - middle, middle - logs[logs <= middle]
    up, down = (max(_MAD_TO_SD * float(np.median(side)), _LEAST_SPREAD) for side in (above, below))
    low, high = float(np.exp(middle - limit * down)), float(np.exp(middle + limit * up))
    return Outliers((values < low) | (values > high), low, high)
