"""Telemetry beside the samples: every field of a TelemetrySource becomes a column of the samples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sprintprof.bench.harness.limits import Limits
from sprintprof.bench.harness.procedure import Procedure
from sprintprof.bench.harness.settings import HarnessSettings, TelemetrySource
from sprintprof.bench.harness.throttle import throttled_share


def with_telemetry(
    procedure: Procedure,
    operations: int,
    settings: HarnessSettings,
    telemetry: TelemetrySource | None,
    limits: Limits | None,
) -> tuple[dict[str, npt.NDArray[np.float64]], dict[str, str], float]:
    """Columns of the samples with telemetry beside them, reasons of what is missing, share of throttled samples.

    The share is NaN where no telemetry can tell.
    """
    columns = procedure.columns(operations)
    if telemetry is None:
        return columns, {}, math.nan
    started_s = columns["started_s"]
    ended_s = started_s + columns["host_s"] * columns["calls"] * operations
    seen, missing = telemetry.columns(started_s, ended_s)
    share = throttled_share(seen, limits.clock_Hz if limits else None, settings.min_clock_share)
    return {**seen, **columns}, missing, share
