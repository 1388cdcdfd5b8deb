"""What rules a configuration out, and by how many each limit does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sprintprof.model.search.grid import Grid, quantile_of
from sprintprof.model.special import Floats
from sprintprof.records import InputError

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Limits:
    """|E[B] − target_batch| ≤ tolerance · target_batch; caps on staleness, GPU memory, nodes and hours. None: no limit.

    `staleness_quantile` is (u, most): the u-quantile may be at most so much.
    """

    target_batch: float | None = None
    tolerance: float = 0.1
    staleness_mean: float | None = None
    staleness_quantile: tuple[float, float] | None = None
    memory_bytes: float | None = None
    hours: float | None = None
    gpus: int | None = None

    def __post_init__(self) -> None:
        checks = (
            ("--target-batch", self.target_batch),
            ("--max-staleness", self.staleness_mean),
            ("--memory", self.memory_bytes),
            ("--max-hours", self.hours),
            ("--max-gpus", self.gpus),
        )
        for option, value in checks:
            if value is not None and not value > 0:
                raise InputError(option, f"{value:g} is not possible", "give a number above 0")
        if not 0 <= self.tolerance < 1e6:
            raise InputError("--tolerance", f"{self.tolerance:g} is not possible", "give a fraction, e.g. 0.1")


def parse_quantile(text: str) -> tuple[float, float]:
    """`0.95:12` → the 95 % quantile may be at most 12. Raises InputError."""
    u, _, most = text.partition(":")
    try:
        found = float(u), float(most)
    except ValueError:
        found = (0.0, 0.0)
    if not (0 < found[0] < 1 and found[1] > 0):
        raise InputError("--max-staleness-quantile", f"'{text}' is not QUANTILE:MOST", "write e.g. 0.95:12")
    return found


def broken_limits(grid: Grid, limits: Limits, memory_bytes: Floats) -> dict[str, Flags]:
    """For each limit which configurations break it, by the option's name."""
    v = grid.values
    broken: dict[str, Flags] = {"not possible": ~np.isfinite(v["epoch_time_s"])}
    if limits.target_batch is not None:
        away = np.abs(v["minibatch_mean"] - limits.target_batch)
        broken["--target-batch"] = ~(away <= limits.tolerance * limits.target_batch)
    if limits.staleness_mean is not None:
        broken["--max-staleness"] = ~(v["staleness_mean"] <= limits.staleness_mean)
    if limits.staleness_quantile is not None:
        u, most = limits.staleness_quantile
        # half a version of slack: the finalists' own distribution decides
        broken["--max-staleness-quantile"] = ~(quantile_of(v["staleness_mean"], v["staleness_std"], u) <= most + 0.5)
    if limits.memory_bytes is not None:
        broken["--memory"] = ~(memory_bytes <= limits.memory_bytes)
    if limits.hours is not None:
        broken["--max-hours"] = ~(v["epoch_time_s"] <= limits.hours * 3600)
    if limits.gpus is not None:
        broken["--max-gpus"] = grid.gpus > limits.gpus
    return broken
