"""Energy of repeated work: from a counter and from integrated power, and whether the two agree.

Sensors are slow: a counter moves every 10 to 100 ms, and on some GPUs the power sensor looks only a quarter of the
time (arXiv 2312.02741). So the window is long, its edges are laid on the counter's steps, and too short a window is
refused rather than rounded.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.records import Missing

Floats = npt.NDArray[np.float64]

LEAST_STEPS = 10
"""Steps of the counter a window must hold: its energy is then known to about a tenth."""
LEAST_WINDOW_S = 1.0
"""Many power readings are averages over one second."""
AGREE = 0.1
"""Greatest relative difference of the two readings that counts as agreement."""


class Energy(msgspec.Struct, frozen=True):
    """Mean power over a window in W by both methods; each is Missing with its reason where it cannot be told."""

    counter_W: float | Missing  # noqa: N815  (the unit is spelled as it is)
    power_W: float | Missing  # noqa: N815  (likewise)

    @property
    def agree(self) -> bool | Missing:
        """Whether counter and integrated power agree within a tenth."""
        if isinstance(self.counter_W, Missing):
            return self.counter_W
        if isinstance(self.power_W, Missing):
            return self.power_W
        return abs(self.counter_W - self.power_W) <= AGREE * max(self.counter_W, self.power_W)


def energy_of_window(times_s: Floats, counter_J: Floats, power_W: Floats, started_s: float, ended_s: float) -> Energy:
    """Both readings for the window. Arrays have one length; NaN = no reading."""
    if ended_s - started_s < LEAST_WINDOW_S:
        short = Missing(f"a window of {ended_s - started_s:.3g} s is too short, {LEAST_WINDOW_S:g} s are needed")
        return Energy(short, short)
    inside = (times_s >= started_s) & (times_s <= ended_s)
    return Energy(_from_counter(times_s[inside], counter_J[inside]), _from_power(times_s[inside], power_W[inside]))


def _from_counter(times_s: Floats, counter_J: Floats) -> float | Missing:
    """Between the first and the last step: at a step the counter is fresh."""
    known = np.isfinite(counter_J)
    times_s, counter_J = times_s[known], counter_J[known]
    steps = np.flatnonzero(np.diff(counter_J) > 0) + 1
    if len(steps) < LEAST_STEPS:
        return Missing(f"the energy counter moved {len(steps)} times in the window, {LEAST_STEPS} are needed")
    first, last = steps[0], steps[-1]
    return float((counter_J[last] - counter_J[first]) / (times_s[last] - times_s[first]))


def _from_power(times_s: Floats, power_W: Floats) -> float | Missing:
    known = np.isfinite(power_W)
    times_s, power_W = times_s[known], power_W[known]
    if len(times_s) < LEAST_STEPS:
        return Missing(f"{len(times_s)} power readings in the window, {LEAST_STEPS} are needed")
    return float(np.trapezoid(power_W, times_s) / (times_s[-1] - times_s[0]))
