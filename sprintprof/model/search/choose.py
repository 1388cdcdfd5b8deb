"""The best configuration: by moments first, the few that matter by their distributions, and how sure the order is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sprintprof.model.search.grid import Grid
from sprintprof.model.special import Floats

Objective = Literal["epoch-time", "gpu-hours", "updates", "energy"]
OBJECTIVES: tuple[Objective, ...] = ("epoch-time", "gpu-hours", "updates", "energy")
HYSTERESIS = 0.05
"""A gain under this share does not change the choice."""


@dataclass(frozen=True)
class Goal:
    """What is minimised. `updates` is the time to so many updates; `energy` needs the power of one GPU in W."""

    objective: Objective = "epoch-time"
    updates: float = 1e5
    gpu_power_W: float | None = None  # noqa: N815  (the unit is spelled as it is)

    def of(self, grid: Grid) -> Floats:
        """The objective of every configuration: s, GPU hours or J."""
        v = grid.values
        if self.objective == "gpu-hours":
            return v["gpu_hours"]
        if self.objective == "updates":
            return np.asarray(self.updates / v["updates_per_s"], np.float64)
        if self.objective == "energy":
            assert self.gpu_power_W is not None
            return np.asarray(v["gpu_hours"] * 3600 * self.gpu_power_W, np.float64)
        return v["epoch_time_s"]


def keep_current(current: float | None, best: float, least_gain: float = HYSTERESIS) -> bool:
    """Whether to stay with what runs now: the best is not better by at least `least_gain`."""
    return current is not None and best > current * (1 - least_gain)


def near_best(objective: Floats, allowed: Sequence[int], share: float = HYSTERESIS) -> list[int]:
    """Of `allowed` (sorted by objective) those within `share` of the first: as good, as far as the model can tell."""
    if not len(allowed):
        return []
    best = objective[allowed[0]]
    return [int(i) for i in allowed if objective[i] <= best * (1 + share)]


def surely_better(first: Floats, second: Floats) -> float:
    """Share of draws in which the first objective is less than the second, 0..1; ties count half."""
    return float(np.mean((first < second) + 0.5 * (first == second)))
