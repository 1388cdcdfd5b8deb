"""What the tests of the importers share."""

from __future__ import annotations

from collections.abc import Callable

from sprintprof.importers.collect import Import
from sprintprof.records import Measurement

Reader = Callable[..., Import]
"""Reads the text of a log: reading(text, kind="auto", name="made.log", **options)."""


def one(job: Import, **wanted: object) -> Measurement:
    """The one point whose benchmark, parameters or ranks are as wanted."""

    def fits(m: Measurement) -> bool:
        known = {**m.point.parameters, "benchmark": m.point.benchmark, "ranks": m.point.ranks, "launch": m.point.launch}
        return all(known.get(name) == value for name, value in wanted.items())

    found = [m for m in job.measurements if fits(m)]
    assert len(found) == 1, [m.point.label() for m in found]
    return found[0]
