"""Two profiles side by side: what their fits predict in the middle of the range that both cover."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from sprintprof.compare.records import Changed, MissingPoint, PairComparison, PointComparison
from sprintprof.compare.sources import Source
from sprintprof.compare.verdicts import geometric_mean, means_by_benchmark
from sprintprof.profile import Fit, NoFit, Profile
from sprintprof.profile.estimate import times_s
from sprintprof.profile.features import Array, columns_of
from sprintprof.records import point_key
from sprintprof.stats.compare import Verdict, Word


def compare_profiles(reference: Source, other: Source, margin: float, resolution: float) -> PairComparison:
    """Compare the fits that both profiles have.

    A ratio is that of two predictions; its interval joins the 90 % intervals of both fits (from points left out). A fit
    that has no such interval gets no verdict.
    """
    assert reference.profile is not None
    assert other.profile is not None
    first, second = ({_key(fit): fit for fit in p.fits} for p in (reference.profile, other.profile))
    points = [_compare_fits(first[k], second[k], margin, resolution) for k in first if k in second]
    lacks = [(other.name, first[k]) for k in first if k not in second]
    lacks += [(reference.name, second[k]) for k in second if k not in first]
    return PairComparison(
        other=other.name,
        points=points,
        missing=[MissingPoint(_label(fit), fit.benchmark, where, "no such fit") for where, fit in lacks],
        neither=0,
        counts=dict(Counter(point.verdict for point in points)),
        mean=geometric_mean(points),
        mean_by_benchmark=means_by_benchmark(points),
        environment=_changed_facts(reference.profile, other.profile),
        settings=[],
        warnings=[
            f"{source.name}: {line}"
            for source in (reference, other)
            if source.profile
            for line in source.profile.warnings
        ],
    )


def _key(fit: Fit) -> str:
    return point_key(f"{fit.level} {fit.benchmark} {fit.scale}", fit.engine, fit.fixed, 0, 0)


def _label(fit: Fit) -> str:
    inner = ",".join(f"{k}={v}" for k, v in fit.fixed.items())
    return f"{fit.benchmark}[{inner}] {fit.level}"


def middle(a: Fit, b: Fit) -> dict[str, Array] | str:
    """The columns both fits need, each at the middle (geometric) of the common range; text says why there is none."""
    names = {name for fit in (a, b) for feature in fit.features for name in columns_of(feature) or ()}
    columns = {}
    for name in sorted(names):
        if name not in a.range or name not in b.range:
            return f"the range of {name} is not known"
        low = max(a.range[name][0], b.range[name][0])
        high = min(a.range[name][1], b.range[name][1])
        if low > high:
            return f"the ranges of {name} do not meet: {_range(a, name)} against {_range(b, name)}"
        value = math.sqrt(low * high) if low > 0 else (low + high) / 2
        columns[name] = np.array([round(value) if name == "ranks" else value], np.float64)
    return columns or {"batch": np.ones(1)}


def _range(fit: Fit, name: str) -> str:
    return "{:g}..{:g}".format(*fit.range[name])


def _compare_fits(a: Fit, b: Fit, margin: float, resolution: float) -> PointComparison:
    columns = middle(a, b)
    times = [math.nan, math.nan]
    verdict = Verdict("not enough data", math.nan, math.nan, math.nan, math.nan, "none", str(columns))
    against = columns if isinstance(columns, str) else ""
    if not isinstance(columns, str):
        try:
            times = [float(times_s(fit, columns)[0]) for fit in (a, b)]
            verdict = _verdict(a, b, times, margin, resolution)
        except NoFit as missing:
            against = str(missing)
    at = "" if isinstance(columns, str) else " ".join(f"{name}={float(v[0]):.4g}" for name, v in columns.items())
    return PointComparison(
        key=_key(a),
        label=f"{_label(a)} at {at}" if at else _label(a),
        benchmark=a.benchmark,
        parameters=a.fixed,
        ranks=0,
        reference=times[0],
        other=times[1],
        ratio=verdict.ratio,
        low=verdict.low,
        high=verdict.high,
        p=math.nan,
        effect=math.nan,
        verdict="not comparable" if against else verdict.word,
        why=against or verdict.why,
        remedy=verdict.remedy,
        samples=(a.points, b.points),
        launches=(0, 0),
        flags=([], []),
    )


def _verdict(a: Fit, b: Fit, times: list[float], margin: float, resolution: float) -> Verdict:
    log_ratio = math.log(times[1] / times[0])
    if a.spread.high <= a.spread.low or b.spread.high <= b.spread.low:
        why = "a fit has no error from points left out"
        return Verdict(
            "not enough data", math.exp(log_ratio), math.nan, math.nan, math.nan, "none", why, "fit more points"
        )
    down = math.hypot(math.log(b.spread.low), math.log(a.spread.high))
    up = math.hypot(math.log(b.spread.high), math.log(a.spread.low))
    low, high = log_ratio - down, log_ratio + up
    limit, seen = math.log1p(margin), math.log1p(resolution)
    word: Word = "not enough data"
    why, remedy = (
        f"the fits are known to -{100 * -math.expm1(-down):.2g} % +{100 * math.expm1(up):.2g} %",
        "fit more points",
    )
    if low > limit or high < -limit:
        word, why, remedy = (
            "slower" if low > 0 else "faster",
            f"the whole interval lies beyond {100 * margin:.3g} %",
            "",
        )
    elif abs(log_ratio) <= limit and max(-low, high) < seen:
        word, why, remedy = "same", f"within {100 * margin:.3g} %", ""
    return Verdict(word, math.exp(log_ratio), math.exp(low), math.exp(high), math.nan, "samples", why, remedy)


def _changed_facts(reference: Profile, other: Profile) -> list[Changed]:
    names = sorted(set(reference.facts) | set(other.facts))
    changed = [name for name in names if reference.facts.get(name) != other.facts.get(name)]
    return [Changed(n, str(reference.facts.get(n, "–")), str(other.facts.get(n, "–")), True) for n in changed]
