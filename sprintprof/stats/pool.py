"""Comparing many points at once: what all points together say about scatter between runs, and many tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from sprintprof.stats.compare import MARGIN, RESOLUTION, Samples, Side, Verdict, compare_sides, summarize
from sprintprof.stats.multiple import benjamini_hochberg

LEAST_POINTS = 8
"""With fewer points of one launch a side, scatter between runs is assumed, not estimated."""

FALSE_DISCOVERY_RATE = 0.05

_NORMAL_QUANTILES = {0.5: 0.6745, 0.8: 1.2816}
"""Share of a normal distribution → within how many standard deviations. The scatter between runs has heavier tails, so
it is taken from both; a fifth of the points may have changed without a part in it."""

_LEAST_NOISE = 0.005
_MOST_SCATTER = 3.0
_TRUSTED_NOISE = 0.02


class RunScatter(msgspec.Struct, frozen=True):
    """How much two runs of one launch each differ from point to point for no reason of the points' own.

    `scatter` is the robust standard deviation of the points' log ratios about their `centre`, less what too few samples
    bring, over the noise within the points; at most 3. `noise` is the median noise within a point, `least_noise` that
    of the quietest tenth of pairs: on a busy machine a point is quieter than that by luck. `shift_sd` is the share of
    the common shift that the noise explains. `points` is their number; 0 where there were too few to say.
    """

    scatter: float
    centre: float
    noise: float
    least_noise: float
    shift_sd: float
    points: int

    def launch_sd(self, a: Side, b: Side) -> float | None:
        """Relative standard deviation between launches per side for a pair of points; None where it is not known."""
        if self.points == 0:
            return None
        return math.hypot(self.scatter * max(pair_noise(a, b), self.least_noise), self.shift_sd) / math.sqrt(2.0)


def pair_noise(a: Side, b: Side) -> float:
    """Noise of both sides together, no less than 0.5 % a side."""
    return math.hypot(max(a.noise, _LEAST_NOISE), max(b.noise, _LEAST_NOISE))


def run_scatter(pairs: Sequence[tuple[Side, Side]]) -> RunScatter:
    """Estimate the scatter between two runs from their shared points with one launch a side.

    A load that outlasts a point does not show within the point; it shows as points of two runs that differ this way
    and that. The scatter is taken in units of each point's own noise, and at most 3 of them: differences larger than
    the noise can explain are differences of the machines. A shift that all points share is put down to chance only as
    far as the noise within points is over 2 %.
    """
    single = [(a, b) for a, b in pairs if a.launches == b.launches == 1 and math.isfinite(a.variance + b.variance)]
    if len(single) < LEAST_POINTS:
        return RunScatter(0.0, 0.0, 0.0, 0.0, 0.0, 0)
    differences = np.array([b.location - a.location for a, b in single])
    noises = np.array([pair_noise(a, b) for a, b in single])
    least = float(np.quantile(noises, 0.1))
    noises = np.maximum(noises, least)
    centre = float(np.median(differences))
    away = np.quantile(np.abs(differences - centre) / noises, list(_NORMAL_QUANTILES))
    scatter = float((away / list(_NORMAL_QUANTILES.values())).max())
    # what the samples within the points bring already
    sampling = float(np.median([(a.variance + b.variance) for a, b in single] / noises**2))
    scatter = math.sqrt(max(0.0, scatter**2 - sampling))
    noise = float(np.median(noises)) / math.sqrt(2.0)
    shift = min(abs(centre), max(0.0, noise - _TRUSTED_NOISE))
    return RunScatter(min(scatter, _MOST_SCATTER), centre, noise, least, shift, len(single))


def compare_points(
    pairs: Sequence[tuple[Samples, Samples]], *, margin: float = MARGIN, resolution: float = RESOLUTION
) -> tuple[list[Verdict], RunScatter]:
    """Verdicts of many points (b against a, see `compare_samples`), and the scatter between runs behind them.

    Points of one launch a side get the scatter that all of them show together. Verdicts faster and slower are kept
    where the p-value adjusted for the number of points (Benjamini and Hochberg, 5 %) allows; the others become not
    enough data.
    """
    sides = [(summarize(a), summarize(b)) for a, b in pairs]
    scatter = run_scatter(sides)
    verdicts = [
        compare_sides(a, b, launch_sd=scatter.launch_sd(a, b), margin=margin, resolution=resolution) for a, b in sides
    ]
    adjusted = benjamini_hochberg([verdict.p for verdict in verdicts])
    return [_kept(v, p, len(pairs)) for v, p in zip(verdicts, adjusted, strict=True)], scatter


def _kept(verdict: Verdict, adjusted: float, tests: int) -> Verdict:
    if verdict.word not in ("faster", "slower") or adjusted <= FALSE_DISCOVERY_RATE:
        return verdict
    why = f"clear by itself, but among {tests} points some are by chance"
    return msgspec.structs.replace(verdict, word="not enough data", why=why, remedy="measure these points again")
