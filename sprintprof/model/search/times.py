"""Cycles of all configurations of one machine: each distinct part of them is asked for once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sprintprof.model.cycle import Collector, Cycles, Term, Workload
from sprintprof.model.exchange import gpu_side, update_side
from sprintprof.model.inputs import busy_share
from sprintprof.model.lock import lock_wait_s
from sprintprof.model.special import Floats
from sprintprof.profile import Estimator, NoFit

Axes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Nodes, GPUs per node, sub-batches."""


@dataclass(frozen=True)
class GridTimes:
    """T_g and T_u of a family of strategies; axes are (nodes, GPUs per node, sub-batch), missing ones have length 1.

    Means and standard deviations in s; `only_s` is the part of T_g that one GPU alone needs too.
    """

    gpu_s: Floats
    gpu_std_s: Floats
    update_s: Floats
    update_std_s: Floats
    only_s: Floats
    warnings: list[str]


def grid_times(
    family: str, estimator: Estimator, work: Workload, axes: Axes, fusion_bytes: float, interference: float = 0.0
) -> GridTimes:
    """Cycles for all nodes × GPUs per node × sub-batches.

    Layers are asked for at every sub-batch; everything else of the GPU's side, and the jitter of the layers, at the
    least and the greatest. The update's side is asked for at every (nodes, GPUs per node); that of BSP, whose exchange
    hides behind backward, at three sub-batches, between which it is interpolated.
    """
    nodes, gpus, batches = axes
    ask = Collector()
    probes = sorted({batches[0], batches[len(batches) // 2], batches[-1]})
    sides = [gpu_side(family, estimator, replace(work, sub_batch=b), ask) for b in probes]
    layers_s, layers_std_s = _layers(estimator, work, batches, probes, [terms for terms, _ in sides])
    greatest = sides[-1][0]
    load_s, load_var = _load(greatest, batches)
    extra = [t for t in greatest if t.name not in ("t_load", "layers")]
    only = layers_s + load_s
    plain = only + sum(t.time_s for t in extra)
    std = np.sqrt(layers_std_s**2 + load_var + sum(t.std_s**2 for t in extra))
    shape = (len(nodes), len(gpus), len(probes) if family == "bsp" else 1)
    update, update_std, busy = np.empty(shape), np.empty(shape), np.ones(shape)
    for i, j, p in np.ndindex(*shape):
        at = replace(work, sub_batch=probes[p])
        terms = update_side(family, estimator, at, nodes[i], gpus[j], fusion_bytes, sides[p][1], ask)
        found = Cycles((), tuple(terms))
        update[i, j, p], update_std[i, j, p] = found.update_cycle_s, _std(terms)
        busy[i, j, p] = busy_share(found) if found.update_cycle_s > 0 else 1.0
    if family == "bsp":
        update, update_std, busy = (_between(probes, values, batches) for values in (update, update_std, busy))
    slower = 1 + interference * busy
    gpu = (plain + _locks(extra, plain, gpus)) * slower
    return GridTimes(gpu, std * slower, update, update_std, only[None, None, :], condensed(ask.warnings))


def condensed(warnings: Iterable[str]) -> list[str]:
    """Warnings once each; those that differ in one number outside a range (`x 9 is outside 2..8`) become one line."""
    lines: dict[str, list[float]] = {}
    for text in warnings:
        found = _OUTSIDE.fullmatch(text)
        key = f"{found[1]} {{}} outside {found[3]}" if found else text
        values = lines.setdefault(key, [])
        if found:
            values.append(float(found[2]))
    return [_one(key, values) for key, values in lines.items()]


_OUTSIDE = re.compile(r"(.*) ([\d.e+]+) is outside (.*)")


def _one(key: str, values: list[float]) -> str:
    if not values:
        return key
    low, high = min(values), max(values)
    return key.replace("{}", f"{low:g} is" if low == high else f"{low:g} to {high:g} are")


def _std(terms: Iterable[Term]) -> float:
    return math.sqrt(sum(t.std_s**2 for t in terms))


def _locks(extra: list[Term], plain_s: Floats, gpus: tuple[int, ...]) -> Floats:
    """Waiting for the node's lock, shape (1, GPUs per node, sub-batches)."""
    push = next((t for t in extra if t.name == "t_push"), None)
    if push is None:
        return np.zeros((1, 1, 1))
    cv = push.std_s / push.time_s
    return np.array([[[lock_wait_s(g, float(t) - push.time_s, push.time_s, cv) for t in plain_s] for g in gpus]])


def _between(probes: list[int], values: Floats, batches: tuple[int, ...]) -> Floats:
    """Linear interpolation over the sub-batch, the last axis."""
    flat = values.reshape(-1, values.shape[-1])
    rows = [np.interp(batches, probes, row) for row in flat]
    return np.array(rows).reshape(*values.shape[:-1], len(batches))


def _load(terms: list[Term], batches: tuple[int, ...]) -> tuple[Floats, Floats]:
    """t_load and its variance by sub-batch: samples are read one after the other."""
    b = np.array(batches, np.float64)
    load = next((t for t in terms if t.name == "t_load"), None)
    if load is None:
        return np.zeros(len(b)), np.zeros(len(b))
    return load.time_s * b / batches[-1], load.std_s**2 * b / batches[-1]


def _layers(
    estimator: Estimator, work: Workload, batches: tuple[int, ...], probes: list[int], sides: list[list[Term]]
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of all layers by sub-batch."""
    relative = []
    for terms in sides:
        layers = next((t for t in terms if t.name == "layers"), None)
        relative.append(layers.std_s / layers.time_s if layers else 0.0)
    means = np.array([_layers_s(estimator, replace(work, sub_batch=b)) for b in batches])
    return means, means * np.interp(batches, probes, relative)


def _layers_s(estimator: Estimator, work: Workload) -> float:
    """The sum of all kernels' times; kernels without a fit are left out, as in the cycles."""
    calls = [c.call for c in work.network.kernel_calls(work.sub_batch, work.precision, work.layout)]
    try:
        return float(estimator.layer_times(calls).sum())
    except NoFit:
        known = []
        for call in calls:
            try:
                estimator.find(call)
            except NoFit:
                continue
            known.append(call)
        return float(estimator.layer_times(known).sum()) if known else 0.0
