"""Kernels over all weights: optimizer steps, gradient sum, weight copy.

Updates work in place, so their checks take a few elements, call once more and compare.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.base import Array
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_RATE, _MOMENTUM, _DECAY, _TRUST = 0.01, 0.9, 1e-4, 0.001
_WEIGHTS: dict[str, Value] = {"parameters": 11_689_512, "precision": "fp32"}
"""ResNet-18."""


def _weights(case: Case) -> tuple[int]:
    return (case.int("parameters"),)


def _check_step(case: Case, call: Callable[[], object], w: Array, g: Array, v: Array, local: float) -> str:
    """One more step, and w and v after it against the formulas at a few places."""
    hw, hg, hv = (np.array(a) for a in hosted(case, w, g, v))
    call()
    at = places(hw.shape, case.seed)

    def velocity(i: int) -> list[float]:
        return [_MOMENTUM * float(hv[i]), local * float(hg[i]), local * _DECAY * float(hw[i])]

    wrong = compare(case, v, at, velocity)
    return wrong or compare(case, w, at, lambda i: [float(hw[i]), *(-_RATE * t for t in velocity(i))])


@benchmark(
    "momentum_update",
    group="kernels",
    axes=kernel_axes("momentum_update", **_WEIGHTS),
    summary="SGD with momentum and weight decay over all weights",
    window="v = m·v + g + λ·w and w = w − η·v, in place",
    formula="FLOP = 6 per weight; bytes = w, g, v read, w, v written",
)
def momentum_update(case: Case) -> Work:
    """One optimizer step."""
    run = operation(case, "momentum_update")
    w, g, v = operand(case, _weights(case), 0), operand(case, _weights(case), 1), empty(case, _weights(case))

    def call() -> None:
        run(w, g, v, _RATE, _MOMENTUM, _DECAY)

    return kernel_work("momentum_update", case, call, (w, g, v), lambda: _check_step(case, call, w, g, v, 1.0))


@benchmark(
    "lars_update",
    group="kernels",
    axes=kernel_axes("lars_update", **_WEIGHTS),
    summary="layer-wise adaptive rate scaling (LARS) over the weights of one layer",
    window="both norms and the step, in place",
    formula="FLOP = 11 per weight; bytes = w, g, v read, w, v written, w and g read once more for the norms",
)
def lars_update(case: Case) -> Work:
    """One LARS step."""
    run = operation(case, "lars_update")
    w, g, v = operand(case, _weights(case), 0), operand(case, _weights(case), 1), empty(case, _weights(case))

    def call() -> None:
        run(w, g, v, _RATE, _MOMENTUM, _DECAY, _TRUST)

    def verify() -> str:
        hw, hg = (double(a) for a in hosted(case, w, g))
        norm_w, norm_g = float(np.sqrt((hw * hw).sum())), float(np.sqrt((hg * hg).sum()))
        local = _TRUST * norm_w / (norm_g + _DECAY * norm_w + 1e-9) if norm_w > 0 and norm_g > 0 else 1.0
        return _check_step(case, call, w, g, v, local)

    return kernel_work("lars_update", case, call, (w, g, v), verify)


@benchmark(
    "gradient_add",
    group="kernels",
    axes=kernel_axes("gradient_add", **_WEIGHTS),
    summary="a gradient added to the node's sum",
    window="total = total + g, in place",
    formula="bytes = g and total read, total written",
)
def gradient_add(case: Case) -> Work:
    """total += g."""
    run = operation(case, "gradient_add")
    g, total = operand(case, _weights(case), 0), empty(case, _weights(case))

    def verify() -> str:
        hg, before = (np.array(a) for a in hosted(case, g, total))
        run(g, total)
        return compare(case, total, places(before.shape, case.seed), lambda i: [float(before[i]), float(hg[i])])

    return kernel_work("gradient_add", case, lambda: run(g, total), (g, total), verify)


@benchmark(
    "weight_copy",
    group="kernels",
    axes=kernel_axes("weight_copy", **_WEIGHTS),
    summary="weights copied to where a worker computes with them",
    window="target = source into an existing array",
    formula="bytes = source read, target written",
)
def weight_copy(case: Case) -> Work:
    """target = source."""
    run = operation(case, "weight_copy")
    source, target = operand(case, _weights(case), 0), empty(case, _weights(case))

    def verify() -> str:
        (hs,) = hosted(case, source)
        return compare(case, target, places(hs.shape, case.seed), lambda i: [float(hs[i])])

    return kernel_work("weight_copy", case, lambda: run(source, target), (source, target), verify)
