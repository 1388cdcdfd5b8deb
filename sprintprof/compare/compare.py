"""Two or more results files side by side, with a verdict per point."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from sprintprof.compare.circumstances import changed_environment, changed_settings
from sprintprof.compare.labels import short_labels
from sprintprof.compare.metrics import Metric, get_metric
from sprintprof.compare.pairing import CONDITIONS, Group, Match, Pairing, pair
from sprintprof.compare.profiles import compare_profiles
from sprintprof.compare.records import Comparison, MissingPoint, PairComparison, PointComparison
from sprintprof.compare.sources import Source, find_reference, load_sources
from sprintprof.compare.verdicts import NOT_COMPARABLE, common_means, geometric_mean, means_by_benchmark
from sprintprof.compare.warnings import pair_warnings
from sprintprof.records import InputError
from sprintprof.stats.compare import MARGIN, RESOLUTION, Samples, Verdict
from sprintprof.stats.effect import effect_size
from sprintprof.stats.pool import compare_points

OPPOSITE = {"faster": "slower", "slower": "faster"}


def compare_files(
    paths: Sequence[str | Path],
    *,
    reference: str | None = None,
    metric: str = "time",
    across: Iterable[str] = (),
    margin: float = MARGIN,
    resolution: float = RESOLUTION,
) -> Comparison:
    """Compare results files, or profiles, with the reference (default the first).

    `across` names conditions that may differ (engine, precision, layout, fill, cache, sync, emulated). `margin` is the
    relative difference under which nothing is called faster or slower, `resolution` the one that "same" rules out.
    Raises InputError for unknown names, files that cannot be read, and margins out of order.
    """
    wanted = list(across)
    unknown = [name for name in wanted if name not in CONDITIONS]
    if unknown:
        raise InputError("--across", f"there is no condition '{unknown[0]}'", f"conditions are {', '.join(CONDITIONS)}")
    if not 0 < margin < resolution < 1:
        raise InputError("--margin", f"{margin:g} is not between 0 and {resolution:g}", "e.g. --margin 0.025")
    sources = load_sources(paths)
    first = sources[find_reference(sources, reference)]
    others = [source for source in sources if source is not first]
    if first.profile is not None:
        pairs = [compare_profiles(first, other, margin, resolution) for other in others]
        measure = get_metric("time")
    else:
        measure = get_metric(metric)
        pairs = [_compare_results(first, other, measure, wanted, margin, resolution) for other in others]
    return Comparison(
        metric=measure.name,
        unit=measure.unit,
        better=measure.better,
        reference=first.name,
        sources=[first.info, *(other.info for other in others)],
        pairs=pairs,
        common=common_means(pairs),
        margin=margin,
        resolution=resolution,
    )


def _compare_results(
    reference: Source, other: Source, metric: Metric, across: list[str], margin: float, resolution: float
) -> PairComparison:
    assert reference.results is not None
    assert other.results is not None
    pairing = pair(reference.results, other.results, across)
    sides = [(_values(match.reference, metric), _values(match.other, metric)) for match in pairing.matches]
    open_ = [i for i, match in enumerate(pairing.matches) if not match.against and all(sides[i])]
    verdicts, scatter = compare_points([sides[i] for i in open_], margin=margin, resolution=resolution)
    judged = dict(zip(open_, verdicts, strict=True))
    labels = short_labels([match.reference.point for match in pairing.matches])
    points = [
        _point(match, labels[match.reference.point.key], sides[i], judged.get(i), metric)
        for i, match in enumerate(pairing.matches)
        if all(sides[i])
    ]
    points.sort(key=lambda p: (p.benchmark, [(str(type(v)), v) for v in p.parameters.values()], p.ranks))
    inapplicable = len(pairing.matches) - len(points)
    about = [f"{metric.name} does not apply to {inapplicable} of the shared points"] if inapplicable else []
    about += _statistics(pairing)
    return PairComparison(
        other=other.name,
        points=points,
        missing=_missing(pairing, reference.name, other.name),
        neither=pairing.neither,
        counts=dict(Counter(point.verdict for point in points)),
        mean=geometric_mean(points),
        mean_by_benchmark=means_by_benchmark(points),
        environment=changed_environment(reference.results, other.results),
        settings=changed_settings(reference.results, other.results),
        warnings=[*_incomplete(reference), *_incomplete(other), *about, *pair_warnings(points, scatter, margin)],
    )


def _statistics(pairing: Pairing) -> list[str]:
    """Points whose time is another statistic on each side: imported means beside medians of samples."""

    def statistic(group: Group) -> str:
        return str(group.launches[0].extra.get("statistic", "median of samples"))

    pairs = Counter((statistic(match.reference), statistic(match.other)) for match in pairing.matches)
    return [f"{count} points: {a} (reference) against {b}" for (a, b), count in pairs.items() if a != b]


def _incomplete(source: Source) -> list[str]:
    assert source.results is not None
    done = source.results.completeness
    under_way = ", a run is under way or was killed" if source.results.has_journal else ""
    return [f"{source.name}: {done} done{under_way}"] if done.done < done.planned or under_way else []


def _values(group: Group, metric: Metric) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    arrays = [metric.values(measurement) for measurement in group.launches]
    return [values for values in arrays if len(values) and np.isfinite(values).all() and (values > 0).all()]


def _point(
    match: Match,
    label: str,
    sides: tuple[Sequence[Samples], Sequence[Samples]],
    verdict: Verdict | None,
    metric: Metric,
) -> PointComparison:
    medians = [float(np.median([np.median(np.asarray(launch)) for launch in side])) for side in sides]
    word = NOT_COMPARABLE if verdict is None else verdict.word
    point = match.reference.point
    ratio = medians[1] / medians[0]
    return PointComparison(
        key=match.reference.key,
        label=label,
        benchmark=point.benchmark,
        parameters=point.parameters,
        ranks=point.ranks,
        reference=medians[0],
        other=medians[1],
        ratio=ratio if verdict is None else verdict.ratio,
        low=math.nan if verdict is None else verdict.low,
        high=math.nan if verdict is None else verdict.high,
        p=math.nan if verdict is None else verdict.p,
        effect=effect_size(*(np.concatenate([np.asarray(x) for x in side]) for side in sides)).cliff_delta,
        verdict=OPPOSITE.get(word, word) if metric.better == "higher" else word,  # type: ignore[arg-type]
        why=match.against if verdict is None else verdict.why,
        remedy="" if verdict is None else verdict.remedy,
        samples=tuple(sum(len(np.asarray(x)) for x in side) for side in sides),  # type: ignore[arg-type]
        launches=(len(sides[0]), len(sides[1])),
        flags=(match.reference.flags, match.other.flags),
    )


def _missing(pairing: Pairing, reference: str, other: str) -> list[MissingPoint]:
    lacks = [(other, lone) for lone in pairing.only_reference] + [(reference, lone) for lone in pairing.only_other]
    labels = short_labels([lone.group.point for _, lone in lacks])
    return [MissingPoint(labels[x.group.point.key], x.group.point.benchmark, where, x.why) for where, x in lacks]
