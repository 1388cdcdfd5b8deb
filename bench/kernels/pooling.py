"""Pooling, maximum and average, in both directions."""

from __future__ import annotations

from typing import Any

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.shapes import PoolShape
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_WINDOW = {"kernel_h": 3, "kernel_w": 3, "stride_h": 2, "stride_w": 2, "pad_h": 1, "pad_w": 1}
_IMAGES = {"batch": 8, "channels": 64, "height": 112, "width": 112}
_RESNET: dict[str, Value] = {**_IMAGES, **_WINDOW, "kind": "max", "rounding": "floor", "precision": "fp32"}
"""The pooling after ResNet's first convolution."""


def _seen(shape: PoolShape, oh: int, ow: int) -> tuple[int, int, int, int, int]:
    """Window of output (oh, ow): first and last row, first and last column inside the image, padded area."""
    spans = []
    for axis, at in ((0, oh), (1, ow)):
        pad, size = shape.window.pad[axis], shape.image[axis]
        start = at * shape.window.stride[axis] - pad
        spans.append((start, min(start + shape.window.kernel[axis], size + pad), size))
    (top, bottom, height), (left, right, width) = spans
    area = (bottom - top) * (right - left)
    return max(top, 0), min(bottom, height), max(left, 0), min(right, width), area


def forward_terms(x: Any, shape: PoolShape, n: int, c: int, oh: int, ow: int) -> Any:
    """What adds up to y[n, c, oh, ow]."""
    top, bottom, left, right, area = _seen(shape, oh, ow)
    window = double(x[n, c, top:bottom, left:right])
    return [window.max()] if shape.kind == "max" else window / area


def backward_terms(x: Any, gy: Any, shape: PoolShape, n: int, c: int, h: int, w: int) -> list[float]:
    """What adds up to gx[n, c, h, w]: the output gradients of the windows it is the first maximum of, or in."""
    found = [0.0]
    for oh in range(shape.output[0]):
        for ow in range(shape.output[1]):
            top, bottom, left, right, area = _seen(shape, oh, ow)
            if not (top <= h < bottom and left <= w < right):
                continue
            window = double(x[n, c, top:bottom, left:right])
            if shape.kind == "average":
                found.append(float(gy[n, c, oh, ow]) / area)
            elif int(window.argmax()) == (h - top) * (right - left) + w - left:
                found.append(float(gy[n, c, oh, ow]))
    return found


@benchmark(
    "pool_forward",
    group="kernels",
    axes=kernel_axes("pool_forward", **_RESNET),
    summary="pooling, forward",
    window="maximum or average of every window into an existing array",
    formula="FLOP = window area per output; bytes = input read, output written",
)
def pool_forward(case: Case) -> Work:
    """y from x."""
    run, shape = operation(case, "pool_forward"), PoolShape.of(case.parameters)
    plan = operation(case, "pool_plan")(shape, case.str("precision"))
    x, y = operand(case, shape.x_shape, 0), empty(case, shape.y_shape)

    def verify() -> str:
        (hx,) = hosted(case, x)
        return compare(case, y, places(y.shape, case.seed), lambda *p: forward_terms(hx, shape, *p))

    return kernel_work("pool_forward", case, lambda: run(x, y, plan), (x, y), verify)


@benchmark(
    "pool_backward",
    group="kernels",
    axes=kernel_axes("pool_backward", **_RESNET),
    summary="pooling, gradient of the input",
    window="the maxima are found again from input and output, no index is kept; into an existing array",
    formula="FLOP = window area per output; bytes = input, output, output gradient read, input gradient written",
)
def pool_backward(case: Case) -> Work:
    """gx from x, y and gy."""
    run, shape = operation(case, "pool_backward"), PoolShape.of(case.parameters)
    plan = operation(case, "pool_plan")(shape, case.str("precision"))
    x, gy = operand(case, shape.x_shape, 0), operand(case, shape.y_shape, 1)
    y, gx = empty(case, shape.y_shape), empty(case, shape.x_shape)
    operation(case, "pool_forward")(x, y, plan)

    def verify() -> str:
        hx, hg = hosted(case, x, gy)
        return compare(case, gx, places(gx.shape, case.seed), lambda *p: backward_terms(hx, hg, shape, *p))

    return kernel_work("pool_backward", case, lambda: run(x, y, gy, gx, plan), (x, y, gy, gx), verify)
