"""Convolutions in their three directions, NCHW and NHWC."""

from __future__ import annotations

from typing import Any

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.shapes import ConvShape
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_WINDOW = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1}
_IMAGES = {"batch": 8, "channels": 64, "height": 56, "width": 56, "filters": 64}
_RESNET: dict[str, Value] = {**_IMAGES, **_WINDOW, "dilation": 1, "groups": 1, "precision": "fp32", "layout": "NCHW"}
"""The 3×3 convolution of ResNet's first stage."""

_FORMULA = "FLOP = 2·batch·filters·OH·OW·channels/groups·R·S; bytes = input, filters and output once"
_TIMED = "the whole convolution, columns and copies included; workspace and output exist before"


def _plan(case: Case, direction: str) -> tuple[ConvShape, Any, int]:
    """Shape, plan and bytes of workspace, which is allocated here."""
    shape = ConvShape.of(case.parameters)
    plan = operation(case, "conv_plan")(shape, case.str("precision"), direction)
    size = int(plan.workspace_bytes)
    if size:
        plan.use(case.engine.zeros((-(-size // 8),), "fp64"))
    return shape, plan, size


def _nchw(case: Case, *arrays: Any) -> tuple[Any, ...]:
    """The arrays on the host as (N or K, channels, height, width)."""
    last = case.str("layout") == "NHWC"
    return tuple(a.transpose(0, 3, 1, 2) if last else a for a in hosted(case, *arrays))


def _place(case: Case, place: tuple[int, ...]) -> tuple[int, int, int, int]:
    """A place of an array in its layout as (first, channel, row, column)."""
    a, b, c, d = place
    return (a, d, b, c) if case.str("layout") == "NHWC" else (a, b, c, d)


@benchmark(
    "conv_forward",
    group="kernels",
    axes=kernel_axes("conv_forward", **_RESNET),
    summary="convolution, forward",
    window=_TIMED,
    formula=_FORMULA,
)
def conv_forward(case: Case) -> Work:
    """y = x ∗ w."""
    run = operation(case, "conv_forward")
    shape, plan, size = _plan(case, "forward")
    x, w, y = operand(case, shape.x_shape, 0), operand(case, shape.w_shape, 1), empty(case, shape.y_shape)

    def verify() -> str:
        hx, hw = _nchw(case, x, w)
        return compare(case, y, places(y.shape, case.seed), lambda *p: forward_terms(hx, hw, shape, *_place(case, p)))

    return kernel_work("conv_forward", case, lambda: run(x, w, y, plan), (x, w, y), verify, size)


@benchmark(
    "conv_backward_data",
    group="kernels",
    axes=kernel_axes("conv_backward_data", **_RESNET),
    summary="convolution, gradient of the input",
    window=_TIMED,
    formula=_FORMULA,
)
def conv_backward_data(case: Case) -> Work:
    """gx from gy and w."""
    run = operation(case, "conv_backward_data")
    shape, plan, size = _plan(case, "backward_data")
    gy, w, gx = operand(case, shape.y_shape, 0), operand(case, shape.w_shape, 1), empty(case, shape.x_shape)

    def verify() -> str:
        hg, hw = _nchw(case, gy, w)
        return compare(case, gx, places(gx.shape, case.seed), lambda *p: data_terms(hg, hw, shape, *_place(case, p)))

    return kernel_work("conv_backward_data", case, lambda: run(gy, w, gx, plan), (gy, w, gx), verify, size)


@benchmark(
    "conv_backward_filter",
    group="kernels",
    axes=kernel_axes("conv_backward_filter", **_RESNET),
    summary="convolution, gradient of the filters",
    window=_TIMED,
    formula=_FORMULA,
)
def conv_backward_filter(case: Case) -> Work:
    """gw from x and gy, summed over the batch."""
    run = operation(case, "conv_backward_filter")
    shape, plan, size = _plan(case, "backward_filter")
    x, gy, gw = operand(case, shape.x_shape, 0), operand(case, shape.y_shape, 1), empty(case, shape.w_shape)

    def verify() -> str:
        hx, hg = _nchw(case, x, gy)
        return compare(case, gw, places(gw.shape, case.seed), lambda *p: filter_terms(hx, hg, shape, *_place(case, p)))

    return kernel_work("conv_backward_filter", case, lambda: run(x, gy, gw, plan), (x, gy, gw), verify, size)


def _tap(shape: ConvShape, i: int, j: int, oh: int, ow: int) -> tuple[int, int] | None:
    """The image place under tap (i, j) of output (oh, ow); None in the padding."""
    w = shape.window
    h, v = oh * w.stride[0] + i * w.dilation - w.pad[0], ow * w.stride[1] + j * w.dilation - w.pad[1]
    return (h, v) if 0 <= h < shape.image[0] and 0 <= v < shape.image[1] else None


def forward_terms(x: Any, w: Any, shape: ConvShape, n: int, f: int, oh: int, ow: int) -> list[float]:
    """The products that add up to y[n, f, oh, ow]; x and w in NCHW order."""
    channels = shape.channels // shape.groups
    first = f // (shape.filters // shape.groups) * channels
    found: list[float] = []
    for i in range(shape.window.kernel[0]):
        for j in range(shape.window.kernel[1]):
            at = _tap(shape, i, j, oh, ow)
            if at:
                found += list(double(x[n, first : first + channels, *at]) * double(w[f, :, i, j]))
    return found


def data_terms(gy: Any, w: Any, shape: ConvShape, n: int, c: int, h: int, v: int) -> list[float]:
    """The products that add up to gx[n, c, h, v]: every output and tap that touched it."""
    channels, filters = shape.channels // shape.groups, shape.filters // shape.groups
    group, within = divmod(c, channels)
    own = slice(group * filters, (group + 1) * filters)
    window, output = shape.window, shape.output
    found: list[float] = []
    for i in range(window.kernel[0]):
        oh, rest_h = divmod(h + window.pad[0] - i * window.dilation, window.stride[0])
        for j in range(window.kernel[1]):
            ow, rest_w = divmod(v + window.pad[1] - j * window.dilation, window.stride[1])
            if not rest_h and not rest_w and 0 <= oh < output[0] and 0 <= ow < output[1]:
                found += list(double(gy[n, own, oh, ow]) * double(w[own, within, i, j]))
    return found


def filter_terms(x: Any, gy: Any, shape: ConvShape, f: int, c: int, i: int, j: int) -> list[float]:
    """The products that add up to gw[f, c, i, j], over images and places."""
    channel = f // (shape.filters // shape.groups) * (shape.channels // shape.groups) + c
    found: list[float] = []
    for oh in range(shape.output[0]):
        for ow in range(shape.output[1]):
            at = _tap(shape, i, j, oh, ow)
            if at:
                found += list(double(x[:, channel, *at]) * double(gy[:, f, oh, ow]))
    return found
