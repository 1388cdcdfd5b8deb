"""Is b faster or slower than a? A verdict with an interval, or the honest answer that the data do not tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.stats.dependence import inefficiency
from sprintprof.stats.median import MIN_SAMPLES

MARGIN = 0.025
"""Smaller differences are never called: two runs of one program on one machine commonly differ by 1 to 3 %."""

RESOLUTION = 0.05
"""A verdict `same` says that a difference of this size would have been seen."""

CONFIDENCE = 0.95

TRIM = 0.2
_LAUNCH_DF = 4
"""Degrees of freedom of an assumed scatter between launches: such scatter has heavy tails."""

Word = Literal["same", "faster", "slower", "not enough data"]
Floats = npt.NDArray[np.float64]
Samples = npt.ArrayLike | Sequence[npt.ArrayLike]


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: location of the log times and how well it is known.

    `noise` is the relative scatter within a launch (robust: from the quartiles). `variance` is that of `location`, `df`
    its degrees of freedom. With several launches both come from the launch medians alone, and `launch_sd` is their
    standard deviation (NaN for one launch).
    """

    location: float
    variance: float
    df: float
    noise: float
    samples: int
    launches: int
    launch_sd: float = math.nan


class Verdict(msgspec.Struct, frozen=True):
    """What can be said about b against a. `ratio` is time of b over time of a, `low`..`high` its 95 % interval.

    `p` is the probability, were the true difference no more than the margin, of one this clear (two-sided, 1 where the
    ratio is within the margin). `basis` says what the interval is over: "launches" or "samples" of one launch a side.
    `why` is one sentence; `remedy` says what would help, "" for the other verdicts.
    """

    word: Word
    ratio: float
    low: float
    high: float
    p: float
    basis: Literal["launches", "samples", "none"]
    why: str
    remedy: str = ""


def as_launches(samples: Samples) -> list[Floats]:
    """One array or a list of arrays, one a launch, as a list of float64 arrays; empty launches are left out."""
    if isinstance(samples, np.ndarray) and samples.ndim == 1:
        arrays = [np.asarray(samples, np.float64)]
    else:
        parts = list(samples)  # type: ignore[arg-type]
        one = all(np.ndim(part) == 0 for part in parts)
        arrays = [np.asarray(parts, np.float64)] if one else [np.asarray(part, np.float64).ravel() for part in parts]
    arrays = [launch for launch in arrays if len(launch)]
    if any(not (np.isfinite(launch) & (launch > 0)).all() for launch in arrays):
        raise ValueError("samples to compare must be positive and finite")
    return arrays


def summarize(samples: Samples) -> Side:
    """Location of log times, its variance and degrees of freedom. Raises ValueError without samples or where ≤ 0.

    One launch: trimmed mean (20 % from either end), variance from the winsorised samples (Yuen 1974), times the
    autocorrelation's inefficiency, which also divides the degrees of freedom. Several: mean of the logs of launch
    medians, variance from their scatter, no smaller than what the samples within launches imply.
    """
    launches = as_launches(samples)
    if not launches:
        raise ValueError("there are no samples")
    each = [_one_launch(np.log(launch)) for launch in launches]
    if len(launches) == 1:
        return each[0]
    medians = np.array([float(np.median(np.log(launch))) for launch in launches])
    count = len(launches)
    spread = float(medians.std(ddof=1))
    implied = float(np.mean([side.variance for side in each if math.isfinite(side.variance)] or [0.0]))
    return Side(
        location=float(medians.mean()),
        variance=max(spread**2, implied) / count,
        df=count - 1.0,
        noise=float(np.median([side.noise for side in each])),
        samples=sum(side.samples for side in each),
        launches=count,
        launch_sd=spread,
    )


def _one_launch(logs: Floats) -> Side:
    ordered = np.sort(logs)
    n = len(ordered)
    noise = float(np.subtract(*np.quantile(ordered, [0.75, 0.25]))) / 1.349
    if n < MIN_SAMPLES:
        return Side(float(np.median(ordered)), math.inf, 1.0, noise, n, 1)
    cut = int(TRIM * n)
    kept = n - 2 * cut
    winsorised = np.clip(ordered, ordered[cut], ordered[n - cut - 1])
    worth = inefficiency(logs)
    variance = worth * float(((winsorised - winsorised.mean()) ** 2).sum()) / (kept * (kept - 1))
    return Side(float(ordered[cut : n - cut].mean()), variance, max((kept - 1) / worth, 1.0), noise, n, 1)


def assumed_launch_sd(noise: float) -> float:
    """Relative standard deviation between launches that is assumed where one launch a side shows none.

    Twice what the noise within a launch is over 3 %, 0 under it. On a shared machine whose samples scattered by 12 %,
    medians of one kernel scattered as much or more from run to run, by load that outlasts a point; where samples
    scatter little, the margin covers it.
    """
    return 2.0 * max(0.0, noise - 0.03)


def compare_samples(
    a: Samples, b: Samples, *, launch_sd: float | None = None, margin: float = MARGIN, resolution: float = RESOLUTION
) -> Verdict:
    """Compare positive samples of b with those of a (the reference): each (n,), or a list with one array a launch.

    slower / faster: the whole 95 % interval of the ratio lies beyond the margin. same: the ratio is within the margin
    and the interval within the resolution. Else not enough data. Samples of one launch hang together: with several
    launches the interval is over launch medians (Welch's t on logs); with one it is over samples, widened by
    `launch_sd`, the relative standard deviation between launches per side (None: `assumed_launch_sd` of the noise).
    Raises ValueError for samples that are not positive.
    """
    first, second = as_launches(a), as_launches(b)
    if not first or not second:
        return _too_few("there are no samples on one side", math.nan)
    return compare_sides(summarize(first), summarize(second), launch_sd=launch_sd, margin=margin, resolution=resolution)


def compare_sides(
    a: Side, b: Side, *, launch_sd: float | None = None, margin: float = MARGIN, resolution: float = RESOLUTION
) -> Verdict:
    """`compare_samples` for sides that were summarized before."""
    from scipy.special import stdtr, stdtrit

    difference = b.location - a.location
    parts = [part for side, other in ((a, b), (b, a)) for part in _variances(side, other, launch_sd)]
    total = sum(variance for variance, _ in parts)
    if not math.isfinite(total):
        least = min(a.samples, b.samples)
        return _too_few(f"{least} samples on one side, an interval needs {MIN_SAMPLES}", math.exp(difference))
    freedom = total**2 / sum(variance**2 / df for variance, df in parts) if total > 0 else 1.0
    error = math.sqrt(total)
    half = float(stdtrit(freedom, 0.5 + CONFIDENCE / 2)) * error
    limit = math.log1p(margin)
    beyond = abs(difference) - limit
    p = 1.0 if beyond <= 0 else min(1.0, 2 * float(stdtr(freedom, -beyond / error))) if error > 0 else 0.0
    known = a.launches > 1 or b.launches > 1
    basis: Literal["launches", "samples"] = "launches" if known else "samples"
    word: Word = "not enough data"
    if abs(difference) - half > limit:
        word = "slower" if difference > 0 else "faster"
    elif abs(difference) <= limit and abs(difference) + half < math.log1p(resolution):
        word = "same"
    ratio, low, high = math.exp(difference), math.exp(difference - half), math.exp(difference + half)
    why, remedy = _explain(word, half, margin, resolution, a, b, [variance for variance, _ in parts])
    return Verdict(word, ratio, low, high, p, basis, why, remedy)


def _variances(side: Side, other: Side, launch_sd: float | None) -> list[tuple[float, float]]:
    """(variance, degrees of freedom) of a side's location: of its samples and of its launches."""
    parts = [(side.variance, side.df)]
    if side.launches == 1:
        if launch_sd is None and other.launches > 1:
            parts.append((other.launch_sd**2, other.df))
        else:
            sd = assumed_launch_sd(side.noise) if launch_sd is None else launch_sd
            parts.append((sd**2, float(_LAUNCH_DF)))
    return parts


def _explain(
    word: Word, half: float, margin: float, resolution: float, a: Side, b: Side, variances: list[float]
) -> tuple[str, str]:
    if word == "same":
        return f"within {100 * margin:.3g} %, and {100 * resolution:.3g} % would have been seen", ""
    if word != "not enough data":
        return f"the whole interval lies beyond {100 * margin:.3g} %", ""
    width = f"±{100 * math.expm1(half):.2g} %" if half < math.log(2) else f"a factor of {math.exp(half):.1f} either way"
    if a.launches == b.launches == 1:
        between = variances[1] + variances[3] > variances[0] + variances[2]
        if between:
            return f"one launch a side, and launches differ too much here: {width}", "measure with --launches 5"
        return f"the interval is {width}", "measure more samples: a smaller --target-ci, more --min-samples"
    return f"the interval over launches is {width}", "measure more launches on both sides"


def _too_few(why: str, ratio: float) -> Verdict:
    return Verdict(
        "not enough data", ratio, math.nan, math.nan, math.nan, "none", why, "measure again with more samples"
    )
