"""What is compared: metrics with unit and direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.records import InputError, Measurement
from sprintprof.units import format_flops, format_rate_Bps, format_time

Floats = npt.NDArray[np.float64]


class Metric(msgspec.Struct, frozen=True):
    """`values` gives one value a sample, (n,) positive; empty where the metric does not apply to the point."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    help: str
    values: Callable[[Measurement], Floats]
    show: Callable[[float], str]


def _times_s(m: Measurement) -> Floats:
    return m.samples.time_s if len(m.samples) else np.array([m.median_s])


def _host_times_s(m: Measurement) -> Floats:
    return m.samples.columns.get("host_s", np.empty(0))


def _rate(work: float, times_s: Floats) -> Floats:
    return work / times_s if work > 0 else np.empty(0)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("time", "s", "lower", "time of one operation", _times_s, format_time),
        Metric("host-time", "s", "lower", "host clock around the same work", _host_times_s, format_time),
        Metric("flops", "FLOP/s", "higher", "FLOP rate", lambda m: _rate(m.flop, _times_s(m)), format_flops),
        Metric("bandwidth", "B/s", "higher", "byte rate", lambda m: _rate(m.bytes, _times_s(m)), format_rate_Bps),
    )
}
"""By name, as `--metric` takes it. `better` is the direction: of a time lower is better, of a rate higher."""


def get_metric(name: str) -> Metric:
    """The metric of that name. Raises InputError naming the others."""
    if name not in METRICS:
        raise InputError("--metric", f"there is no metric '{name}'", f"metrics are {', '.join(METRICS)}")
    return METRICS[name]
