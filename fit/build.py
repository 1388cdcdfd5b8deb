"""Results to a profile: every group of points is fitted, and the profile says how well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sprintprof
from sprintprof.fit.communication import fit_messages, message_groups
from sprintprof.fit.crossval import summary
from sprintprof.fit.forms import Fitted
from sprintprof.fit.generic import fit_generic, generic_groups
from sprintprof.fit.layers import fit_layer, layer_groups
from sprintprof.fit.points import DOUBTFUL_FLAGS, check_flags, usable
from sprintprof.machine import machine_of_device
from sprintprof.profile import Profile, Quality, Source
from sprintprof.records import InputError, Measurement


class Dataset(NamedTuple):
    """What one results file brings to a fit: where it is from, its points, facts about the machine."""

    file: str
    run_id: str
    sha256: str
    machine: str
    measurements: Sequence[Measurement]
    facts: dict[str, Any]


def fit_profile(
    datasets: Sequence[Dataset],
    *,
    include_flags: Sequence[str] = (),
    machine: str | None = None,
    processors: int | None = None,
) -> Profile:
    """Fit everything the data hold: layers, generic fits of kernels, messages.

    `processors` are the device's multiprocessors, whose waves the generic fits count; by default those of the
    machine file of the device that the facts name, else none.

    Points that failed, were skipped or carry a flag of `LEFT_OUT_FLAGS` are left out and counted, unless the flag is
    in `include_flags`. Raises InputError where no point remains, for a file given twice, for files of several
    machines (unless `machine` names one), for unknown flags.
    """
    check_flags(include_flags)
    name = _one_machine(datasets, machine)
    sources: list[Source] = []
    points: list[Measurement] = []
    for data in datasets:
        used, left_out = usable(data.measurements, include_flags)
        sources.append(Source(data.file, data.run_id, data.sha256, len(used), left_out))
        points += used
    where = ", ".join(d.file for d in datasets)
    if not points:
        reasons = sum((Counter(s.points_left_out) for s in sources), Counter[str]())
        what = ", ".join(f"{n} {reason}" for reason, n in reasons.items()) or "it holds no points"
        raise InputError(where, f"has nothing to fit ({what})", "measure again, or see --include-flag")
    facts = datasets[0].facts
    fitted, warnings = _fit_all(points, include_flags, processors or processors_of(facts))
    if not fitted:
        raise InputError(where, "has no kernel or message benchmark to fit", "measure some with: sprintprof run")
    return Profile(
        machine=name,
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=sprintprof.__version__,
        facts=facts,
        sources=sources,
        fits=[f.fit for f in fitted],
        warnings=warnings,
        quality=quality(fitted),
    )


def quality(fitted: Sequence[Fitted]) -> list[Quality]:
    """Errors on left-out points for each level, and within it for each benchmark; in-sample errors do not count."""
    groups: dict[tuple[str, str, str], list[Fitted]] = {}
    for f in fitted:
        for benchmark in ("*", f.fit.benchmark):
            groups.setdefault((f.fit.level, benchmark, f.fit.engine), []).append(f)
    out = []
    for (_, benchmark, engine), members in sorted(groups.items()):
        parts = [m.left_out for m in members if m.left_out.method != "in-sample"] or [m.left_out for m in members]
        out.append(Quality(members[0].fit.level, benchmark, engine, len(members), summary(parts)))
    return out


def processors_of(facts: Mapping[str, Any]) -> int | None:
    """Multiprocessors of the GPU that the facts name, from its machine file; None where there is none."""
    device = facts.get("gpu.name")
    found = machine_of_device(device) if isinstance(device, str) else None
    return found.gpu.sm_count if found and found.gpu else None


def _fit_all(
    points: list[Measurement], include_flags: Sequence[str], processors: int | None
) -> tuple[list[Fitted], list[str]]:
    fitted: list[Fitted] = []
    warnings: list[str] = []
    alone: list[str] = []
    for group in layer_groups(points).values():
        layer = fit_layer(group, include_flags)
        if layer is None:
            alone.append(group[0].point.benchmark)
        else:
            fitted.append(layer)
    if alone:
        text = f"{len(alone)} layers of {len(set(alone))} kernels were measured at one size only"
        warnings.append(f"{text} and have no fit of their own")
    for group in generic_groups(points).values():
        on_device = group[0].point.engine != "numpy"  # waves are a GPU's
        fitted.append(fit_generic(group, include_flags, processors if on_device else None))
    for group in message_groups(points).values():
        fitted += fit_messages(group, include_flags)
    for flag in DOUBTFUL_FLAGS:
        count = sum(flag in m.flags for m in points)
        if count and flag not in include_flags:
            warnings.append(f"{count} points are flagged {flag}: used only where less than half would remain without")
    return fitted, warnings


def _one_machine(datasets: Sequence[Dataset], machine: str | None) -> str:
    for place, data in enumerate(datasets):
        if any(data.sha256 == other.sha256 for other in datasets[:place]):
            raise InputError(data.file, "is given twice", "its points would count double")
    names = sorted({d.machine for d in datasets})
    if machine is None and len(names) > 1:
        remedy = "fit them apart, or name the profile with --machine if they are one machine"
        raise InputError("results", f"are of several machines: {', '.join(names)}", remedy)
    return machine or names[0]
