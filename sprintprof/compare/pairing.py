"""Which points of two results files belong together, and which must not be compared although they look alike."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sprintprof.records import Measurement, Point, Value, point_key
from sprintprof.store import Results

PARAMETER_CONDITIONS = ("precision", "layout")
"""Parameters under which the same point can be measured two ways."""

EXTRA_CONDITIONS = {"fill": "fill", "cache_state": "cache", "sync": "sync"}
"""Measurement.extra → name of the condition."""

CONDITIONS = ("engine", *PARAMETER_CONDITIONS, *EXTRA_CONDITIONS.values(), "emulated")


class Group(msgspec.Struct):
    """One point of a file with all its launches. `conditions` are what must agree for times to be comparable."""

    point: Point
    conditions: dict[str, str]
    launches: list[Measurement]
    trouble: str = ""

    @property
    def key(self) -> str:
        """The point's key without launch number."""
        return group_key(self.point)

    @property
    def flags(self) -> list[str]:
        """Flags of any launch."""
        return sorted({flag for launch in self.launches for flag in launch.flags})


class Match(msgspec.Struct, frozen=True):
    """A point on both sides. `against` says why the two are not comparable, "" where they are."""

    reference: Group
    other: Group
    against: str = ""


class Lone(msgspec.Struct, frozen=True):
    """A point measured on one side alone, and why the other side has no time for it."""

    group: Group
    why: str


class Pairing(msgspec.Struct, frozen=True):
    """Matches in the order of the reference, and what only one side measured. `neither` counts planned points that
    neither side has a time for."""

    matches: list[Match]
    only_reference: list[Lone]
    only_other: list[Lone]
    neither: int


def group_key(point: Point) -> str:
    """The key of a point less its launch number."""
    return point_key(point.benchmark, point.engine, point.parameters, point.ranks, 0)


def group_launches(results: Results) -> dict[str, Group]:
    """Points by key, launches gathered; planned points without a record stand there with the reason."""
    groups: dict[str, Group] = {}
    failures: dict[str, str] = {}
    for measurement in results.measurements:
        key = group_key(measurement.point)
        if measurement.status != "ok":
            failures[key] = f"{measurement.status}: {measurement.reason}"
            groups.setdefault(key, Group(measurement.point, {}, []))
            continue
        if "ranks-unknown" in measurement.flags:
            failures[key] = "the number of ranks is missing(not in log)"
            groups.setdefault(key, Group(measurement.point, {}, []))
            continue
        group = groups.setdefault(key, Group(measurement.point, {}, []))
        group.launches.append(measurement)
        group.conditions = group.conditions or _conditions(results, measurement)
    for point in results.header.plan:
        groups.setdefault(group_key(point), Group(point, {}, [], "not measured"))
    for key, group in groups.items():
        if not group.launches:
            group.trouble = failures.get(key, "not measured")
    return groups


def _conditions(results: Results, measurement: Measurement) -> dict[str, str]:
    found: dict[str, Value] = {"engine": measurement.point.engine, "emulated": "emulated" in measurement.flags}
    found |= {k: v for k, v in measurement.point.parameters.items() if k in PARAMETER_CONDITIONS}
    settings = results.session(measurement.key).settings
    for name, condition in EXTRA_CONDITIONS.items():
        value = measurement.extra.get(name, settings.get(condition))
        if isinstance(value, bool | int | float | str) and value != "":
            found[condition] = value
    return {k: str(v) for k, v in found.items()}


def pair(reference: Results, other: Results, across: Iterable[str] = ()) -> Pairing:
    """Match the points of two files. `across` names conditions that may differ (of CONDITIONS)."""
    first, second = group_launches(reference), group_launches(other)
    measured_first = {k: g for k, g in first.items() if g.launches}
    measured_second = {k: g for k, g in second.items() if g.launches}
    twins = {k: measured_second.pop(k) for k in measured_first if k in measured_second}
    relatives: dict[str, list[Group]] = {}
    for group in measured_second.values():
        relatives.setdefault(_family(group.point), []).append(group)
    only_reference = []
    for key, group in measured_first.items():
        near = relatives.get(_family(group.point), [])
        if key not in twins and near:
            twins[key] = near.pop(0)
            del measured_second[twins[key].key]
        elif key not in twins:
            only_reference.append(Lone(group, second[key].trouble if key in second else "not in its plan"))
    matches = [Match(g, twins[k], differing(g, twins[k], set(across))) for k, g in measured_first.items() if k in twins]
    only_other = [Lone(g, first[k].trouble if k in first else "not in its plan") for k, g in measured_second.items()]
    neither = {k for k, g in [*first.items(), *second.items()] if not g.launches}
    neither -= {k for k, g in [*first.items(), *second.items()] if g.launches}
    return Pairing(matches, only_reference, only_other, len(neither))


def _family(point: Point) -> str:
    """Key of a point whatever the engine, precision and layout."""
    return point_key(point.benchmark, "", point.without(*PARAMETER_CONDITIONS), point.ranks, 0)


def differing(a: Group, b: Group, allowed: set[str]) -> str:
    """`fill ones against random, cache cold against warm`: conditions known on both sides that differ."""
    shared = [c for c in CONDITIONS if c in a.conditions and c in b.conditions and c not in allowed]
    pairs = [(c, a.conditions[c], b.conditions[c]) for c in shared if a.conditions[c] != b.conditions[c]]
    return ", ".join(
        ("emulated against measured" if x == "True" else "measured against emulated")
        if condition == "emulated"
        else f"{condition} {x} against {y}"
        for condition, x, y in pairs
    )
