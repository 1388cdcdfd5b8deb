"""Flags of a measurement: what makes its samples less than they seem. Flagged samples are kept."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.bench.harness.limits import Limits, PeakShare
from sprintprof.records import FLAGS
from sprintprof.stats.median import MIN_SAMPLES, relative_half_width


class Evidence(msgspec.Struct, frozen=True):
    """What was found: in the samples, in how warm-up and batching went, in telemetry, limits and ranks.

    `declared` are flags the benchmark gives itself.
    """

    settled: bool = True
    resolved: bool = True
    drift: bool = False
    multimodal: bool = False
    throttled: bool = False
    above_peak: bool = False
    straggler: bool = False
    declared: tuple[str, ...] = ()


def find_flags(times_s: npt.NDArray[np.float64], target_ci: float, evidence: Evidence) -> tuple[str, ...]:
    """The flags that apply to samples `times_s` (n,) in the order taken, in the order of FLAGS.

    Raises ValueError where the benchmark declares one that does not exist.
    """
    unknown = set(evidence.declared) - set(FLAGS)
    if unknown:
        raise ValueError(f"there is no flag {', '.join(sorted(unknown))}")
    enough = len(times_s) >= MIN_SAMPLES
    found = {
        "noisy": enough and relative_half_width(times_s) > target_ci,
        "drift": evidence.drift,
        "multimodal": evidence.multimodal,
        "not-converged": not (enough and evidence.settled),
        "under-resolution": not evidence.resolved,
        "throttled": evidence.throttled,
        "above-peak": evidence.above_peak,
        "straggler": evidence.straggler,
    }
    return tuple(flag for flag in FLAGS if found.get(flag, False) or flag in evidence.declared)


def exceeds(limits: Limits | None, fastest: PeakShare, cache_state: str, fit: str) -> bool:
    """True if the fastest sample is above a limit.

    Memory bandwidth is no limit for operands that sit in a cache: with warm caches it binds only where the working
    set exceeds them.
    """
    if limits is None or not fastest.share > 1 + limits.tolerance:
        return False
    in_cache = cache_state != "cold" and fit in ("fits", "borderline")
    return not (fastest.limit.startswith("memory") and in_cache)
