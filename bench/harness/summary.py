"""From samples to a Measurement: median, interval, flags, and what the record says beside them."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from sprintprof.bench.case import Work
from sprintprof.bench.harness.caches import cache_fit, cache_state
from sprintprof.bench.harness.flags import Evidence, exceeds, find_flags
from sprintprof.bench.harness.limits import Limits, peak_share
from sprintprof.bench.harness.procedure import Procedure
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.harness.throttle import is_throttled
from sprintprof.records import Measurement, Point, SampleSet, Value
from sprintprof.stats.drift import find_drift
from sprintprof.stats.median import median_interval
from sprintprof.stats.modes import find_modes

EXTRA: dict[str, tuple[type, str, str]] = {
    "calls": (int, "1", "calls timed together in a sample"),
    "host_median_s": (float, "s", "median of the host clock around the same work, per operation"),
    "cache_state": (str, "", "cold, warm, warm-batched (cold was asked, calls had to be batched) or untouched"),
    "cache_bytes": (int, "B", "size of the last-level cache, 0 if unknown"),
    "working_set_bytes": (int, "B", "what one call touches, 0 if not declared"),
    "cache_fit": (str, "", "working set against cache: fits, borderline, exceeds or unknown"),
    "fill": (str, "", "values of the operands"),
    "seed": (int, "1", "seed of the operands"),
    "timer_tick_s": (float, "s", "granularity of the timer"),
    "overhead_s": (float, "s", "what a sample of calls that do nothing takes, per call"),
    "outside_s": (float, "s", "the harness's own work per sample outside the window"),
    "warmup": (str, "", "how warm-up ended"),
    "warmup_s": (float, "s", "time of warm-up"),
    "warmup_samples": (int, "1", "samples thrown away as warm-up"),
    "throttled_share": (float, "1", "share of samples at a lowered clock, NaN if unknown"),
    "throttle_retries": (int, "1", "rounds of samples taken again because the device was slowed down"),
    "modes": (int, "1", "groups the samples fall into"),
    "drift": (str, "", "none, burst (for a while) or sustained (for good)"),
    "drift_change": (float, "1", "relative change of a drift, 0 where there is none"),
    "peak_share": (float, "1", "share of the limit that binds most, by the median; NaN where no limit is known"),
    "peak_limit": (str, "", "which limit that is"),
}
"""What the harness adds to Measurement.extra of every measured point: type, unit, meaning."""


class Circumstances(msgspec.Struct, frozen=True):
    """What the driver of a measurement knows beside the procedure."""

    cache_bytes: int
    timer_tick_s: float
    overhead_s: float
    throttled_share: float = math.nan
    throttle_retries: int = 0
    straggler: bool = False
    extra: dict[str, Value] = {}


def summarise(
    point: Point,
    work: Work,
    settings: HarnessSettings,
    procedure: Procedure,
    samples: SampleSet,
    around: Circumstances,
    limits: Limits | None,
) -> Measurement:
    """The Measurement of a point whose samples are all taken."""
    times_s = samples.time_s
    median_s = float(np.median(times_s))
    if not (median_s > 0 and math.isfinite(median_s)):
        calls = int(samples.columns["calls"][-1])
        reason = f"the timer reads {median_s:g} s for {calls} calls: the time of one cannot be told"
        return failed(point, reason, ("under-resolution",))
    low_s, high_s = median_interval(times_s)
    state = cache_state(work, settings.cache, int(np.median(samples.columns["calls"])))
    fit = cache_fit(work.working_set_bytes, around.cache_bytes)
    precision, path = str(point.parameters.get("precision", "fp32")), work.path
    shares = [
        peak_share(limits, flop=work.flop, bytes=work.bytes, precision=precision, path=path, time_s=time_s)
        for time_s in (median_s, float(times_s.min()))
    ]
    drift = find_drift(times_s)
    modes = find_modes(times_s).count
    evidence = Evidence(
        drift=drift.kind != "none",
        multimodal=modes > 1,
        settled=procedure.settled,
        resolved=procedure.resolved,
        throttled=is_throttled(around.throttled_share),
        above_peak=exceeds(limits, shares[1], state, fit),
        straggler=around.straggler,
        declared=work.flags,
    )
    extra: dict[str, Value] = {
        "calls": int(np.median(samples.columns["calls"])),
        "host_median_s": float(np.median(samples.columns["host_s"])),
        "cache_state": state,
        "cache_bytes": around.cache_bytes,
        "working_set_bytes": work.working_set_bytes,
        "cache_fit": fit,
        "fill": settings.fill,
        "seed": settings.seed,
        "timer_tick_s": around.timer_tick_s,
        "overhead_s": around.overhead_s / work.operations,
        "outside_s": procedure.outside_s,
        "warmup": procedure.warmup,
        "warmup_s": procedure.warmup_s,
        "warmup_samples": procedure.warmup_samples,
        "throttled_share": around.throttled_share,
        "throttle_retries": around.throttle_retries,
        "modes": modes,
        "drift": drift.kind,
        "drift_change": drift.change,
        "peak_share": shares[0].share,
        "peak_limit": shares[0].limit,
    }
    return Measurement(
        point=point,
        status="ok",
        flags=find_flags(times_s, settings.target_ci, evidence),
        flop=work.flop,
        bytes=work.bytes,
        median_s=median_s,
        low_s=low_s,
        high_s=high_s,
        min_s=float(times_s.min()),
        first_s=procedure.first_s(work.operations),
        stop_reason=procedure.stop_reason,
        extra={**extra, **around.extra, **work.extra},
        samples=samples,
    )


def failed(point: Point, reason: str, flags: tuple[str, ...] = ()) -> Measurement:
    """A point that could not be measured, with the reason in one line."""
    return Measurement(point=point, status="failed", reason=" ".join(reason.split()), flags=flags)


def skipped(point: Point, reason: str) -> Measurement:
    """A point that does not exist here, with the reason in one line."""
    return Measurement(point=point, status="skipped", reason=" ".join(reason.split()))


def one_line(error: BaseException) -> str:
    """An exception in one line: its class and text."""
    return " ".join(f"{type(error).__name__}: {error}".split()) if str(error) else type(error).__name__
