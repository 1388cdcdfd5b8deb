"""Samples taken at a lowered clock: found by telemetry, kept, and measured again a bounded number of times."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

CLOCK = "sm_clock_Hz"
CLOCK_MAX = "sm_clock_max_Hz"
THROTTLED = "throttled"
"""Telemetry columns that are read: the clock, the highest clock, and 1 where the device says it is slowed down."""

MOST_SHARE = 0.1
"""A measurement with more than this share of throttled samples is throttled."""


def throttled_share(
    columns: dict[str, npt.NDArray[np.float64]], nominal_clock_Hz: float | None, min_clock_share: float
) -> float:
    """Share of the samples taken while the device was slowed down; NaN where telemetry cannot tell.

    A sample counts if its clock is under `min_clock_share` of the nominal clock (of the device's highest where none is
    given) or the device itself says so. Samples without a reading do not count on either side.
    """
    clock_Hz = columns.get(CLOCK)
    said = columns.get(THROTTLED)
    verdicts = []
    if clock_Hz is not None and len(clock_Hz):
        nominal: npt.NDArray[np.float64] | float = (
            nominal_clock_Hz if nominal_clock_Hz else columns.get(CLOCK_MAX, np.full(len(clock_Hz), math.nan))
        )
        share = clock_Hz / nominal
        verdicts.append(np.where(np.isnan(share), math.nan, share < min_clock_share))
    if said is not None and len(said):
        verdicts.append(np.where(np.isnan(said), math.nan, said > 0))
    if not verdicts:
        return math.nan
    known = ~np.all(np.isnan(verdicts), axis=0)
    if not known.any():
        return math.nan
    return float(np.nanmax(np.array(verdicts)[:, known], axis=0).mean())


def is_throttled(share: float) -> bool:
    """True if so many samples were throttled that the measurement is; an unknown share is not."""
    return share > MOST_SHARE
