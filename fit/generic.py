"""Layers that were not measured: one fit a kernel over FLOP and bytes, whatever the shape."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sprintprof.fit.forms import Fitted, Group, best_linear
from sprintprof.fit.points import numeric, without_doubtful
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Measurement, Value

CANDIDATES = [["1", "flop", "bytes"]]
MAX_SHAPES = 4000
"""Measured shapes that are kept in the profile to name the nearest one."""


def generic_groups(points: Sequence[Measurement]) -> dict[tuple[object, ...], list[Measurement]]:
    """Points of the catalogue's kernels by engine and by their parameters that are not numbers (precision …)."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in points:
        if m.point.benchmark in KERNELS:
            choices = frozenset(choices_of(m).items())
            groups.setdefault((m.point.benchmark, m.point.engine, choices), []).append(m)
    return groups


def choices_of(m: Measurement) -> dict[str, Value]:
    """The parameters that are not numbers: a generic fit holds them fixed."""
    return {k: v for k, v in m.point.parameters.items() if not numeric(v)}


def fit_generic(points: list[Measurement], include_flags: Sequence[str] = ()) -> Fitted:
    """T = a + c1·FLOP + c2·bytes, none below 0, with errors on whole shapes left out."""
    used, _ = without_doubtful(points, include_flags)
    scale = KERNELS[used[0].point.benchmark].scale_axis
    shapes: list[object] = [frozenset(m.point.without(scale).items()) for m in used]
    method = "leave-whole-shapes-out"
    if len(set(shapes)) < 3:
        shapes, method = [m.point.parameters[scale] for m in used], f"leave-one-{scale}-out"
    fitted = best_linear(Group(used, "generic", choices_of(used[0]), shapes, method), CANDIDATES)
    axes = [k for k, v in used[0].point.parameters.items() if numeric(v)]
    rows = sorted({tuple(float(m.point.parameters[a]) for a in axes) for m in used})
    kept = [list(row) for row in rows[:: -(-len(rows) // MAX_SHAPES)]]
    return fitted._replace(fit=msgspec.structs.replace(fitted.fit, shape_axes=axes, shapes=kept))
