"""How a run measures: one immutable set of settings, stored with the results."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

CacheState = Literal["cold", "warm"]
Fill = Literal["random", "zeros", "ones"]


class HarnessSettings(msgspec.Struct, frozen=True):
    """Settings of the harness; the defaults are those of the command line.

    `target_ci` is the half width of the 95 % interval of the median over the median. A point ends when it is inside
    the target after `min_samples`, at `max_samples`, or at `timeout_s` (warm-up not counted), with the reason stored.
    """

    target_ci: float = 0.02
    min_samples: int = 6
    max_samples: int = 1000
    timeout_s: float = 5.0
    warmup_timeout_s: float = 2.0
    cache: CacheState = "cold"
    fill: Fill = "random"
    seed: int = 0
    launches: int = 1
    sync: str = "barrier"


class TelemetrySource(Protocol):
    """Something that records clock, power, temperature … beside the samples, on its own thread."""

    def columns(
        self, started_s: npt.NDArray[np.float64], ended_s: npt.NDArray[np.float64]
    ) -> tuple[dict[str, npt.NDArray[np.float64]], dict[str, str]]:
        """Per sample values of every field ((n,) float64, NaN = missing) and the reasons of what is missing.

        Times are in s since the start of the run, as in the samples' `started_s`.
        """
        ...
