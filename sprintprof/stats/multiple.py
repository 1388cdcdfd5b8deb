"""Many tests at once: p-values adjusted so that a file of 300 points does not shout 15 times by chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def benjamini_hochberg(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjusted p-values: rejecting those ≤ q keeps the share of false ones among the rejected ≤ q (1995).

    NaN (not tested) stays NaN and is not counted.
    """
    p = np.asarray(p_values, np.float64).ravel()
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested])]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted
