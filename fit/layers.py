"""Layers that were measured: T over the scale axis (batch) with all other parameters fixed."""

from __future__ import annotations

from collections.abc import Sequence

from sprintprof.fit.forms import Fitted, Group, best_linear
from sprintprof.fit.points import over_launches, without_doubtful
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Measurement, Value

STEPS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Tile and wave sizes that are tried as steps ceil(batch/step)."""
STEPS_FROM = 6
"""Steps are tried from this many different values of the scale axis on."""


def layer_groups(points: Sequence[Measurement]) -> dict[tuple[object, ...], list[Measurement]]:
    """Points of the catalogue's kernels by engine and shape, a shape being all parameters but the scale axis."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for m in points:
        spec = KERNELS.get(m.point.benchmark)
        if spec and spec.scale_axis in m.point.parameters:
            shape = frozenset(m.point.without(spec.scale_axis).items())
            groups.setdefault((m.point.benchmark, m.point.engine, shape), []).append(m)
    return groups


def fit_layer(points: list[Measurement], include_flags: Sequence[str] = ()) -> Fitted | None:
    """T = a + c·b of one layer, a and c ≥ 0, or with steps where the data show them.

    None where fewer than two values of the scale axis were measured: those points only feed the generic fit.
    """
    scale = KERNELS[points[0].point.benchmark].scale_axis
    used = over_launches(without_doubtful(points, include_flags)[0])
    values = [m.point.parameters[scale] for m in used]
    if len(set(values)) < 2:
        used = over_launches(points)
        values = [m.point.parameters[scale] for m in used]
    if len(set(values)) < 2:
        return None
    fixed: dict[str, Value] = used[0].point.without(scale)
    group = Group(used, "layer", fixed, values, f"leave-one-{scale}-out", scale)
    candidates = [["1", scale]]
    if len(set(values)) >= STEPS_FROM:
        greatest = max(float(v) for v in values)
        steps = [s for s in STEPS if s < greatest]
        candidates += [["1", f"ceil({scale}/{s})"] for s in steps]
        candidates += [["1", scale, f"ceil({scale}/{s})"] for s in steps]
    return best_linear(group, candidates)
