"""A measurement: the outcome of one point, with all its raw samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec

from sprintprof.records.point import Point, Value

if TYPE_CHECKING:  # numpy takes 0.15 s to import: the command line must not pay it for --help
    import numpy as np
    import numpy.typing as npt

Status = Literal["ok", "failed", "skipped"]

FLAGS: dict[str, str] = {
    "noisy": "the 95 % interval of the median stayed wider than the target",
    "drift": "samples rise or fall over the measurement",
    "throttled": "the device lowered its clock while measuring",
    "multimodal": "samples fall into several groups",
    "above-peak": "a rate above a physical limit of the machine",
    "not-converged": "warm-up did not settle or too few samples before the time was up",
    "emulated": "times were drawn from a profile, not measured",
    "staged": "device buffers went through host memory",
    "under-resolution": "a call is shorter than the timer resolves, even batched; imported: too few digits in the log",
    "energy-disagrees": "energy counter and integrated power differ by more than a tenth",
    "straggler": "one rank is slower than the others by more than their spread",
    "suspicious": "an imported value that cannot be right as it stands",
    "ranks-unknown": "imported from a log that does not say how many ranks took part",
}
"""Every flag a measurement can carry, and what it means."""

SAMPLE_FIELDS: dict[str, tuple[str, str]] = {
    "time_s": ("s", "headline time of one operation; for parallel points the maximum over ranks"),
    "host_s": ("s", "host clock around the same work, per operation"),
    "started_s": ("s", "start of the sample, since the start of the run"),
    "calls": ("1", "calls timed together in this sample"),
}
"""Columns of the samples table: unit and meaning. All float64; time_s is always there."""


class SampleSet(msgspec.Struct, frozen=True):
    """Raw samples of one point, in the order in which they were taken.

    `columns` maps names to float64 arrays of one length (n,): `time_s` always, the others of SAMPLE_FIELDS where
    they were taken, and telemetry fields (NaN = missing, the reason in `missing`).
    `rank_times_s` is (n, ranks) float64 for parallel points, else None: every rank's own time per sample.
    """

    columns: dict[str, npt.NDArray[np.float64]]
    rank_times_s: npt.NDArray[np.float64] | None = None
    missing: dict[str, str] = {}

    @property
    def time_s(self) -> npt.NDArray[np.float64]:
        """The headline times, shape (n,)."""
        return self.columns["time_s"]

    def __len__(self) -> int:
        return len(self.columns["time_s"])


def empty_samples() -> SampleSet:
    """A sample set without samples, for failed and skipped points."""
    import numpy as np

    return SampleSet({"time_s": np.empty(0, np.float64)})


class Measurement(msgspec.Struct, frozen=True):
    """The outcome of one point. Times are per operation, in s; NaN where status is not ok (never 0).

    `flop` and `bytes` are what one operation declares (NaN where the notion does not apply). `median_s` has the
    distribution-free 95 % interval `low_s`..`high_s`. `first_s` is the first call, kept apart. `stop_reason` says
    why sampling stopped. `extra` holds what the benchmark or the harness adds, plain values.
    """

    point: Point
    status: Status
    reason: str = ""
    flags: tuple[str, ...] = ()
    flop: float = math.nan
    bytes: float = math.nan
    median_s: float = math.nan
    low_s: float = math.nan
    high_s: float = math.nan
    min_s: float = math.nan
    first_s: float = math.nan
    stop_reason: str = ""
    extra: dict[str, Value] = {}
    samples: SampleSet = msgspec.field(default_factory=empty_samples)

    @property
    def key(self) -> str:
        """The point's key."""
        return self.point.key
