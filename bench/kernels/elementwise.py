"""Kernels element by element: ReLU, bias, dropout, addition."""

from __future__ import annotations

import math

from sprintprof.bench.case import Case, Work
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_KEEP = 0.5
_FEATURES: dict[str, Value] = {"batch": 8, "features": 64 * 56 * 56, "precision": "fp32"}
_PLANES: dict[str, Value] = {"batch": 8, "channels": 64, "spatial": 56 * 56, "precision": "fp32"}


def _features(case: Case) -> tuple[int, int]:
    return case.int("batch"), case.int("features")


def _planes(case: Case) -> tuple[int, int, int]:
    return case.int("batch"), case.int("channels"), case.int("spatial")


@benchmark(
    "relu_forward",
    group="kernels",
    axes=kernel_axes("relu_forward", **_FEATURES),
    summary="rectified linear unit, forward",
    window="y = max(x, 0) into an existing array",
    formula="bytes = x read, y written",
)
def relu_forward(case: Case) -> Work:
    """y = max(x, 0)."""
    run = operation(case, "relu_forward")
    x, y = operand(case, _features(case), 0), empty(case, _features(case))

    def verify() -> str:
        (hx,) = hosted(case, x)
        return compare(case, y, places(y.shape, case.seed), lambda *p: [max(float(hx[p]), 0.0)])

    return kernel_work("relu_forward", case, lambda: run(x, y), (x, y), verify)


@benchmark(
    "relu_backward",
    group="kernels",
    axes=kernel_axes("relu_backward", **_FEATURES),
    summary="rectified linear unit, backward",
    window="gx = gy where y > 0, else 0, into an existing array",
    formula="bytes = y and gy read, gx written",
)
def relu_backward(case: Case) -> Work:
    """gx = gy where y > 0."""
    run = operation(case, "relu_backward")
    y, gy, gx = operand(case, _features(case), 0), operand(case, _features(case), 1), empty(case, _features(case))

    def verify() -> str:
        hy, hg = hosted(case, y, gy)
        return compare(case, gx, places(gx.shape, case.seed), lambda *p: [float(hg[p]) if hy[p] > 0 else 0.0])

    return kernel_work("relu_backward", case, lambda: run(y, gy, gx), (y, gy, gx), verify)


@benchmark(
    "bias_forward",
    group="kernels",
    axes=kernel_axes("bias_forward", **_PLANES),
    summary="bias per channel, forward",
    window="y = x + bias into an existing array",
    formula="bytes = x read, y written",
)
def bias_forward(case: Case) -> Work:
    """y = x + bias per channel."""
    run = operation(case, "bias_forward")
    x, bias, y = operand(case, _planes(case), 0), operand(case, (case.int("channels"),), 1), empty(case, _planes(case))

    def verify() -> str:
        hx, hb = hosted(case, x, bias)
        return compare(case, y, places(y.shape, case.seed), lambda n, c, s: [float(hx[n, c, s]), float(hb[c])])

    return kernel_work("bias_forward", case, lambda: run(x, bias, y), (x, bias, y), verify)


@benchmark(
    "bias_backward",
    group="kernels",
    axes=kernel_axes("bias_backward", **_PLANES),
    summary="bias per channel, gradient of the bias",
    window="sum of gy over images and places into an existing array",
    formula="bytes = gy read",
)
def bias_backward(case: Case) -> Work:
    """gbias = sum of gy over images and places."""
    run = operation(case, "bias_backward")
    gy, gbias = operand(case, _planes(case), 0), empty(case, (case.int("channels"),))

    def verify() -> str:
        (hg,) = hosted(case, gy)
        return compare(case, gbias, places(gbias.shape, case.seed), lambda c: double(hg[:, c]))

    return kernel_work("bias_backward", case, lambda: run(gy, gbias), (gy, gbias), verify)


@benchmark(
    "add",
    group="kernels",
    axes=kernel_axes("add", **_FEATURES),
    summary="sum of two activations (a residual connection)",
    window="y = a + b into an existing array",
    formula="bytes = a and b read, y written",
)
def add(case: Case) -> Work:
    """y = a + b."""
    run = operation(case, "add")
    a, b, y = operand(case, _features(case), 0), operand(case, _features(case), 1), empty(case, _features(case))

    def verify() -> str:
        ha, hb = hosted(case, a, b)
        return compare(case, y, places(y.shape, case.seed), lambda *p: [float(ha[p]), float(hb[p])])

    return kernel_work("add", case, lambda: run(a, b, y), (a, b, y), verify)


@benchmark(
    "dropout_forward",
    group="kernels",
    axes=kernel_axes("dropout_forward", **_FEATURES),
    summary="dropout with probability 0.5, forward: a new mask is drawn, as training does",
    window="drawing and storing the mask, and y = x·mask, into existing arrays",
    formula="bytes = x read, mask and y written",
)
def dropout_forward(case: Case) -> Work:
    """y = x·mask with a new mask in each call."""
    run, state = operation(case, "dropout_forward"), operation(case, "random_state")(case.seed)
    x, mask, y = operand(case, _features(case), 0), empty(case, _features(case)), empty(case, _features(case))

    def verify() -> str:
        hx, hm = hosted(case, x, mask)
        wrong = compare(case, y, places(y.shape, case.seed), lambda *p: [float(hx[p]) * float(hm[p])])
        kept = float((hm != 0).mean())
        spread = math.sqrt(_KEEP * (1 - _KEEP) / hm.size)
        if not wrong and (set(map(float, {hm.min(), hm.max()})) - {0.0, 1 / _KEEP} or abs(kept - _KEEP) > 6 * spread):
            return f"the mask keeps {kept:.4f}, expected {_KEEP} ± {6 * spread:.4f}, of values 0 and {1 / _KEEP}"
        return wrong

    return kernel_work("dropout_forward", case, lambda: run(x, mask, y, _KEEP, state), (x, mask, y), verify)


@benchmark(
    "dropout_backward",
    group="kernels",
    axes=kernel_axes("dropout_backward", **_FEATURES),
    summary="dropout, backward",
    window="gx = gy·mask into an existing array",
    formula="bytes = gy and mask read, gx written",
)
def dropout_backward(case: Case) -> Work:
    """gx = gy·mask, with a mask that forward drew."""
    run, state = operation(case, "dropout_backward"), operation(case, "random_state")(case.seed)
    gy, mask, gx = operand(case, _features(case), 0), empty(case, _features(case)), empty(case, _features(case))
    operation(case, "dropout_forward")(gy, mask, empty(case, _features(case)), _KEEP, state)

    def verify() -> str:
        hg, hm = hosted(case, gy, mask)
        return compare(case, gx, places(gx.shape, case.seed), lambda *p: [float(hg[p]) * float(hm[p])])

    return kernel_work("dropout_backward", case, lambda: run(gy, mask, gx), (gy, mask, gx), verify)
