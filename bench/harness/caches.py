"""Cache state of a measurement: what was asked, what was got, and whether the working set fits."""

from __future__ import annotations

from sprintprof.bench.case import Work
from sprintprof.bench.harness.settings import CacheState

FITS = 0.75
EXCEEDS = 1.5
"""Working set over cache size: up to FITS it fits, from EXCEEDS it does not, between it is borderline."""


def wants_flush(work: Work, asked: CacheState) -> bool:
    """True if caches are to be flushed before each sample: the user asked and the benchmark lets the harness."""
    return work.cache == "cold" and asked == "cold"


def cache_state(work: Work, asked: CacheState, calls: int) -> str:
    """`cold`, `warm`, `warm-batched` (cold was asked, but calls had to be batched) or what the benchmark says."""
    if work.cache != "cold":
        return work.cache
    if asked == "cold":
        return "cold" if calls == 1 else "warm-batched"
    return "warm"


def cache_fit(working_set_bytes: int, cache_bytes: int) -> str:
    """`fits`, `borderline`, `exceeds`, or `unknown` where either size is 0."""
    if working_set_bytes <= 0 or cache_bytes <= 0:
        return "unknown"
    share = working_set_bytes / cache_bytes
    if share <= FITS:
        return "fits"
    return "borderline" if share < EXCEEDS else "exceeds"
