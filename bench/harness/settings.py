"""How a run measures: one immutable set of settings, stored with the results."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.records import InputError
from sprintprof.stats.median import MIN_SAMPLES

CacheState = Literal["cold", "warm"]
Fill = Literal["random", "zeros", "ones"]
Sync = Literal["barrier", "window"]


class HarnessSettings(msgspec.Struct, frozen=True):
    """Settings of the harness; the defaults are those of the command line.

    `target_ci` is the half width of the 95 % interval of the median over the median. A point ends when it is inside
    the target after `min_samples` and `min_time_s`, at `max_samples`, or at `timeout_s` (warm-up not counted), with
    the reason stored.
    `launches` repeats whole processes (each point carries its launch number; the runner starts the processes).
    `sync` is how ranks are brought together before a sample. A sample whose clock is under `min_clock_share` of the
    nominal one counts as throttled; such a round is measured again at most `throttle_retries` times, with
    `throttle_pause_s` between.

    Raises InputError where a value makes no sense.
    """

    target_ci: float = 0.02
    min_samples: int = MIN_SAMPLES
    min_time_s: float = 0.1
    max_samples: int = 1000
    timeout_s: float = 5.0
    warmup_timeout_s: float = 2.0
    cache: CacheState = "cold"
    fill: Fill = "random"
    seed: int = 0
    launches: int = 1
    sync: Sync = "barrier"
    min_clock_share: float = 0.75
    throttle_retries: int = 2
    throttle_pause_s: float = 0.5

    def __post_init__(self) -> None:
        if self.min_samples < MIN_SAMPLES:
            why = f"is {self.min_samples}: a 95 % interval of a median needs at least {MIN_SAMPLES} samples"
            raise InputError("--min-samples", why, f"give {MIN_SAMPLES} or more")
        if self.max_samples < self.min_samples:
            raise InputError("--max-samples", f"is {self.max_samples}, less than --min-samples {self.min_samples}")
        if not self.target_ci > 0:
            raise InputError("--target-ci", f"is {self.target_ci}", "give a fraction above 0, e.g. 0.02")
        if not 0 <= self.min_time_s < float("inf"):
            raise InputError("--min-time", f"is {self.min_time_s} s", "give a time of 0 or more")
        if not (self.timeout_s > 0 and self.warmup_timeout_s >= 0):
            raise InputError("--timeout", f"is {self.timeout_s} s", "give a time above 0")
        if self.launches < 1:
            raise InputError("--launches", f"is {self.launches}", "give 1 or more")


class TelemetrySource(Protocol):
    """Something that records clock, power, temperature … beside the samples, on its own thread."""

    def columns(
        self, started_s: npt.NDArray[np.float64], ended_s: npt.NDArray[np.float64]
    ) -> tuple[dict[str, npt.NDArray[np.float64]], dict[str, str]]:
        """Per sample values of every field ((n,) float64, NaN = missing) and the reasons of what is missing.

        Times are in s since the start of the run, as in the samples' `started_s`.
        """
        ...
