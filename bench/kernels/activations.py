"""Smooth activations: GELU, SiLU, sigmoid, tanh."""

from __future__ import annotations

import math

from sprintprof.bench.case import Case, Work
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import InputError, Value

_AXES: dict[str, Value] = {"batch": 8, "features": 64 * 56 * 56, "function": "gelu", "precision": "fp32"}


def _value(function: str, x: float) -> list[float]:
    """f(x) as a sum whose terms show how much cancels: the spot check allows for it."""
    half = math.tanh(x / 2)
    return {
        "gelu": [x / 2, x / 2 * math.erf(x / math.sqrt(2))],
        "silu": [x / 2, x / 2 * half],
        "sigmoid": [0.5, half / 2],
        "tanh": [math.tanh(x)],
    }[function]


def _slope(function: str, x: float) -> list[float]:
    """f′(x), likewise."""
    half, whole = math.tanh(x / 2), math.tanh(x)
    bell = x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return {
        "gelu": [0.5, math.erf(x / math.sqrt(2)) / 2, bell],
        "silu": [0.5, half / 2, x / 4, -x / 4 * half * half],
        "sigmoid": [0.25, -half * half / 4],
        "tanh": [1.0, -whole * whole],
    }[function]


def _parameters(case: Case) -> tuple[str, tuple[int, int]]:
    function = case.str("function")
    if function not in ("gelu", "silu", "sigmoid", "tanh"):
        raise InputError("activation axis function", f"'{function}' is unknown", "gelu, silu, sigmoid or tanh")
    return function, (case.int("batch"), case.int("features"))


@benchmark(
    "activation_forward",
    group="kernels",
    axes=kernel_axes("activation_forward", **_AXES),
    summary="smooth activation (GELU, SiLU, sigmoid, tanh), forward",
    window="y = f(x) into an existing array",
    formula="bytes = x read, y written; 5 FLOP an element by convention",
)
def activation_forward(case: Case) -> Work:
    """y = f(x)."""
    function, shape = _parameters(case)
    run = operation(case, "activation_forward")
    x, y = operand(case, shape, 0), empty(case, shape)

    def verify() -> str:
        (hx,) = hosted(case, x)
        return compare(case, y, places(shape, case.seed), lambda *p: _value(function, float(hx[p])))

    return kernel_work("activation_forward", case, lambda: run(x, y, function), (x, y), verify)


@benchmark(
    "activation_backward",
    group="kernels",
    axes=kernel_axes("activation_backward", **_AXES),
    summary="smooth activation (GELU, SiLU, sigmoid, tanh), backward",
    window="gx = gy·f′(x) into an existing array",
    formula="bytes = x and gy read, gx written; 8 FLOP an element by convention",
)
def activation_backward(case: Case) -> Work:
    """gx = gy·f′(x)."""
    function, shape = _parameters(case)
    run = operation(case, "activation_backward")
    x, gy, gx = operand(case, shape, 0), operand(case, shape, 1), empty(case, shape)

    def verify() -> str:
        hx, hg = hosted(case, x, gy)
        at = places(shape, case.seed)
        return compare(case, gx, at, lambda *p: [float(hg[p]) * term for term in _slope(function, float(hx[p]))])

    return kernel_work("activation_backward", case, lambda: run(x, gy, gx, function), (x, gy, gx), verify)
