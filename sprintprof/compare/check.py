"""Is a results file stable? If not: why, how sure is that, and what to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sprintprof.compare.falling import falling
from sprintprof.compare.findings import KINDS, CheckReport, Finding
from sprintprof.compare.labels import short_labels
from sprintprof.compare.pairing import group_key
from sprintprof.records import FLAGS, InputError, Measurement
from sprintprof.stats.compare import MARGIN
from sprintprof.stats.drift import find_drift
from sprintprof.stats.median import MIN_SAMPLES, median_interval
from sprintprof.stats.modes import find_modes
from sprintprof.stats.multiple import benjamini_hochberg
from sprintprof.stats.outliers import mark_outliers
from sprintprof.stats.ranks import compare_ranks
from sprintprof.store import Results, load_results
from sprintprof.units import format_time

DEFAULT_TARGET = 0.02
MANY_OUTLIERS = 0.2
LEAST_TICKS = 50
"""A window of fewer timer ticks has an error of over 2 %."""

FALSE_ALARM_RATE = 0.05

_MOST_SAMPLES = 10_000
_BY_FLAG = (
    "throttled", "not-converged", "above-peak", "straggler", "emulated", "staged", "under-resolution", "suspicious",
    "ranks-unknown",
)  # fmt: skip


def check_file(path: str | Path, tolerate: float = 0.0) -> CheckReport:
    """Check a results file.

    It is stable where no point is missing or failed, and at most the share `tolerate` of the measured ones has a
    problem. Raises InputError where it cannot be read and for a share outside 0..1.
    """
    if not 0 <= tolerate <= 1:
        raise InputError("--tolerate", f"{tolerate:g} is not a share", "give a fraction from 0 to 1, e.g. 0.05")
    results = load_results(path)
    measurements = [m for m in results.measurements if m.status == "ok"]
    findings = [*_whole(results), *_every(results, measurements), *falling(measurements), *_launches(measurements)]
    order = {kind: place for place, kind in enumerate(KINDS)}
    labels = short_labels([*results.header.plan, *(m.point for m in measurements)])
    findings = [msgspec.structs.replace(f, label=labels.get(f.key, f.label)) for f in findings]
    findings.sort(key=lambda f: (order[f.kind], -f.weight))
    counts = Counter(f.kind for f in findings)
    problems = [f for f in findings if KINDS[f.kind].level == "problem"]
    unsound = {f.key for f in problems} & {m.key for m in measurements}
    lacking = any(f.kind in ("incomplete", "failed") for f in problems)
    widths = [w for m in measurements if math.isfinite(w := half_width(m))]
    done = results.completeness
    return CheckReport(
        file=str(path),
        stable=not lacking and len(unsound) <= tolerate * len(measurements),
        planned=done.planned,
        done=done.done,
        measured=len(measurements),
        sound=len(measurements) - len(unsound),
        skipped=sum(status == "skipped" for status in results.status.values()),
        noise=float(np.median(widths)) if widths else None,
        counts={kind: counts[kind] for kind in KINDS if kind in counts},
        findings=findings,
        around=_around(results),
    )


def half_width(m: Measurement) -> float:
    """Half the 95 % interval of the median over the median; NaN where there is none."""
    low, high = median_interval(m.samples.time_s) if len(m.samples) else (m.low_s, m.high_s)
    return (high - low) / 2 / m.median_s


def _whole(results: Results) -> Iterator[Finding]:
    done = results.completeness
    planned = [p for p in results.missing if results.status.get(p.key) is None]
    if planned:
        what = f"{done} done, {len(planned)} not measured, e.g. {planned[0].label()}"
        yield Finding("incomplete", "", "", what, "certain", len(planned))
    elif results.has_journal:
        what = "a journal lies beside the file: a run is under way or was killed"
        yield Finding("incomplete", "", "", what, "certain")
    for m in results.measurements:
        if m.status == "failed":
            yield Finding("failed", m.key, m.point.label(), m.reason or "no reason given", "certain")


def _every(results: Results, measurements: list[Measurement]) -> Iterator[Finding]:
    """Findings of single points; drift is kept where it stands out among all points."""
    drifts: list[tuple[Finding, float]] = []
    for m in measurements:
        settings = results.session(m.key).settings
        for test in _TESTS:
            yield from test(m, settings)
        if drift := _drift(m):
            drifts.append(drift)
    p_values = [p for _, p in drifts] + [1.0] * (len(measurements) - len(drifts))
    for (finding, p), adjusted in zip(drifts, benjamini_hochberg(p_values), strict=False):
        if adjusted <= FALSE_ALARM_RATE:
            sure = f"p = {p:.1g} that such an order is chance; kept among {len(measurements)} points"
            yield msgspec.structs.replace(finding, sure=sure)


def _noise(m: Measurement, settings: dict[str, Any]) -> Iterator[Finding]:
    n = len(m.samples)
    if statistic := m.extra.get("statistic"):
        what = f"{format_time(m.median_s, 3)} is the {statistic}, imported from {m.extra.get('log', 'a log')}"
        yield Finding("summary-only", m.key, m.point.label(), what, "certain")
        return
    if 0 < n < MIN_SAMPLES:
        what = f"{n} samples, an interval needs {MIN_SAMPLES}"
        yield Finding("few-samples", m.key, m.point.label(), what, "certain", MIN_SAMPLES - n)
        return
    width, target = half_width(m), _number(settings.get("target_ci"), DEFAULT_TARGET)
    if width > target:
        needed = math.ceil(n * (width / target) ** 2)
        size = f"±{100 * width:.1f} %" if width < 1 else f"off by a factor of up to {1 + 2 * width:.0f}"
        what = f"median {format_time(m.median_s, 3)} {size} where ±{100 * target:.2g} % was the target"
        enough = f"; about {needed} would do at this noise" if needed <= _MOST_SAMPLES else ""
        sure = f"95 % interval over {n} samples{enough}"
        yield Finding("noisy", m.key, m.point.label(), what, sure, width)


def _drift(m: Measurement) -> tuple[Finding, float] | None:
    drift = find_drift(m.samples.time_s)
    if drift.kind == "none":
        return None
    size = f"{100 * drift.change:+.0f} %"
    if drift.kind == "burst":
        what = f"samples {drift.first + 1} to {drift.last + 1} of {len(m.samples)} lie {size} from the rest"
        return Finding("burst", m.key, m.point.label(), what, "", abs(drift.change)), drift.p
    what = f"the end is at {size} of the start"
    return Finding("sustained drift", m.key, m.point.label(), what, "", abs(drift.change)), drift.p


def _modes(m: Measurement, _: dict[str, Any]) -> Iterator[Finding]:
    modes = find_modes(m.samples.time_s)
    if modes.count > 1:
        groups = ", ".join(
            f"{format_time(c, 3)} ({100 * s:.0f} %)" for c, s in zip(modes.centres_s, modes.shares, strict=True)
        )
        sure = "one mode makes such a dip with probability under 1 %"
        spread = modes.centres_s[-1] / modes.centres_s[0] - 1
        yield Finding("multimodal", m.key, m.point.label(), groups, sure, spread)


def _resolution(m: Measurement, _: dict[str, Any]) -> Iterator[Finding]:
    tick_s, calls = _number(m.extra.get("timer_tick_s"), 0.0), _number(m.extra.get("calls"), 1.0)
    window_s = m.median_s * calls
    if "under-resolution" not in m.flags and tick_s > 0 and window_s < LEAST_TICKS * tick_s:
        what = f"a window of {format_time(window_s)} is {window_s / tick_s:.0f} ticks of the timer"
        yield Finding("under-resolution", m.key, m.point.label(), what, "certain", tick_s / window_s)


def _outliers(m: Measurement, _: dict[str, Any]) -> Iterator[Finding]:
    marked = mark_outliers(m.samples.time_s)
    if marked.share > MANY_OUTLIERS:
        low, high = format_time(marked.low_s, 3), format_time(marked.high_s, 3)
        what = f"{marked.count} of {len(m.samples)} samples are outside {low} to {high}"
        yield Finding("outliers", m.key, m.point.label(), what, "over 3.5 robust deviations", marked.share)


def _ranks(m: Measurement, _: dict[str, Any]) -> Iterator[Finding]:
    times_s = m.samples.rank_times_s
    if times_s is None or times_s.size == 0 or not (times_s > 0).all():
        return
    test = compare_ranks(times_s)
    if not test.poolable and test.p == test.p:
        low, middle, high = (format_time(t, 3) for t in test.min_median_max_s)
        what = f"medians of the ranks: least {low}, middle {middle}, greatest {high}"
        yield Finding("ranks", m.key, m.point.label(), what, f"{test.test}, p = {test.p:.1g}", test.spread)
    if "straggler" not in m.flags:
        for rank in test.stragglers:
            middle = format_time(test.min_median_max_s[1], 3)
            what = f"rank {rank}: {format_time(test.medians_s[rank], 3)}, middle of all {middle}"
            sure = f"beyond the spread of the others, over {len(times_s)} samples"
            yield Finding("straggler", m.key, m.point.label(), what, sure, test.spread)


_IN_WORDS = {"straggler": "rank {}", "not-converged": "warm-up: {}"}


def _flagged(m: Measurement, _: dict[str, Any]) -> Iterator[Finding]:
    details = {"straggler": m.extra.get("straggler_rank", -1), "not-converged": m.extra.get("warmup", "")}
    details["suspicious"] = details["above-peak"] = m.extra.get("suspicious", "")
    for flag in _BY_FLAG:
        if flag == "not-converged" and len(m.samples) < MIN_SAMPLES:
            continue  # that is why, and it is said
        if flag in m.flags:
            detail = details.get(flag, "")
            what = FLAGS[flag] if detail in ("", -1) else _IN_WORDS.get(flag, "{}").format(detail)
            yield Finding(flag, m.key, m.point.label(), what, "as found while measuring")


_TESTS: tuple[Callable[[Measurement, dict[str, Any]], Iterator[Finding]], ...] = (
    _noise,
    _modes,
    _resolution,
    _outliers,
    _ranks,
    _flagged,
)


def _launches(measurements: list[Measurement]) -> Iterator[Finding]:
    groups: dict[str, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(group_key(m.point), []).append(m)
    for key, launches in groups.items():
        if len(launches) < 3:
            continue
        spread = float(np.std(np.log([m.median_s for m in launches]), ddof=1))
        if spread > MARGIN:
            what = f"medians of {len(launches)} launches scatter by ±{100 * spread:.1f} %"
            yield Finding(
                "launches", key, launches[0].point.label(), what, "standard deviation of launch medians", spread
            )


def _around(results: Results) -> list[str]:
    """Circumstances in the environment of rank 0 that commonly make measurements unstable."""
    header = results.header
    env = header.environments[0] if header.environments else {}
    lines = []
    load, threads = _number(env.get("os.load_1min"), 0.0), _number(env.get("cpu.threads"), 0.0)
    if threads and load > 0.3 * threads:
        lines.append(
            f"the load average was {load:.1f} on {threads:.0f} threads when the run began: other work was running"
        )
    if env.get("cpu.governor") in ("powersave", "ondemand", "conservative", "schedutil"):
        lines.append(
            f"the CPU's frequency governor is {env['cpu.governor']}: the clock changes with load; use performance"
        )
    if env.get("gpu.clocks_locked") is False:
        lines.append("the GPU's clocks are not locked (nvidia-smi --lock-gpu-clocks needs privileges)")
    if isinstance(env.get("os.virtualisation"), str) and env["os.virtualisation"]:
        lines.append(
            f"a virtual machine ({env['os.virtualisation']}): neighbours on the host are not visible from here"
        )
    ranks, blas = _number(env.get("mpi.ranks_on_node"), 1.0), _number(env.get("blas.threads"), 0.0)
    if threads and ranks > threads:
        lines.append(f"{ranks:.0f} ranks on {threads:.0f} threads: ranks take turns, messages wait for their turn")
    elif threads and ranks > 1 and ranks * blas > threads:
        lines.append(f"{ranks:.0f} ranks of {blas:.0f} BLAS threads on {threads:.0f} threads")
    return lines


def _number(value: Any, default: float) -> float:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value == value else default
    )
