"""Asks a profile for a message or storage time without knowing which choices were measured: the nearest ones answer."""

from __future__ import annotations

from collections.abc import Mapping

from sprintprof.profile import Estimate, Estimator
from sprintprof.records import Value


def nearest_time(
    estimator: Estimator, benchmark: str, size_bytes: float, ranks: int, preferred: Mapping[str, Value]
) -> Estimate:
    """The estimate of the fit whose fixed choices (algorithm, precision, placement …) agree most with `preferred`.

    What `preferred` does not name, or was not measured, is taken as the profile has it. Numeric entries of `preferred`
    are columns for the fit too. Raises NoFit where the benchmark has no fit.
    """
    choices = [
        {name: value for name, value in fit.fixed.items() if name != "ranks"}
        for fit in estimator.profile.fits
        if fit.benchmark == benchmark and fit.level == "message"
    ]
    best = max(choices, key=lambda c: sum(preferred.get(k) == v for k, v in c.items()), default={})
    numbers = {k: v for k, v in preferred.items() if not isinstance(v, str)}
    return estimator.message_time(benchmark, size_bytes, ranks, **{**numbers, **best})
