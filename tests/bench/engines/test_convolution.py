"""Convolutions against scipy.signal.correlate, in both layouts, all directions and any window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import correlate

from sprintprof.bench.case import Skip
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.engines.numpy_ops import conv_columns
from sprintprof.bench.engines.numpy_ops.conv_columns import ColumnConvolution
from sprintprof.bench.engines.numpy_ops.conv_depthwise import DepthwiseConvolution
from sprintprof.bench.engines.numpy_ops.conv_flipped import FlippedConvolution
from sprintprof.bench.engines.shapes import ConvShape, Window
from sprintprof.records import InputError

ENGINE = NumpyEngine()


def reference(x: Any, w: Any, shape: ConvShape) -> Any:
    """y (N, K, OH, OW) of x (N, C, H, W) and w (K, C/groups, R, S), one 2-d correlation at a time."""
    window, channels, filters = shape.window, shape.channels // shape.groups, shape.filters // shape.groups
    (ph, pw), (sh, sw), d = window.pad, window.stride, window.dilation
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    spread = np.zeros((*w.shape[:2], (w.shape[2] - 1) * d + 1, (w.shape[3] - 1) * d + 1))
    spread[:, :, ::d, ::d] = w
    y = np.zeros((len(x), shape.filters, *shape.output))
    for n in range(len(x)):
        for f in range(shape.filters):
            for c in range(channels):
                image = padded[n, f // filters * channels + c]
                y[n, f] += correlate(image, spread[f, c], "valid", "direct")[::sh, ::sw]
    return y


def nchw(array: Any, shape: ConvShape) -> Any:
    return array.transpose(0, 3, 1, 2) if shape.layout == "NHWC" else array


def run(direction: str, shape: ConvShape, a: Any, b: Any) -> Any:
    """The operation on two operands, with a workspace full of NaN; the output in NCHW order."""
    plan: Any = ENGINE.op("conv_plan")(shape, "fp64", direction)
    workspace = np.full(plan.workspace_bytes // 8 + 1, np.nan)
    plan.use(workspace)
    output = {"forward": shape.y_shape, "backward_data": shape.x_shape, "backward_filter": shape.w_shape}[direction]
    out = np.full(output, np.nan)
    ENGINE.op(f"conv_{direction}")(a, b, out, plan)
    return nchw(out, shape)


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def shapes(draw: st.DrawFn) -> ConvShape:
    kernel, stride, dilation = draw(pairs), draw(st.one_of(st.just((1, 1)), pairs)), draw(st.integers(1, 2))
    pad = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    least = [max(1, dilation * (k - 1) + 1 - 2 * p) for k, p in zip(kernel, pad, strict=True)]
    image = draw(st.tuples(st.integers(least[0], 7), st.integers(least[1], 7)))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, filters = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    window = Window(kernel, stride, pad, dilation)
    return ConvShape(draw(st.integers(1, 3)), channels, image, filters, window, groups, draw(st.sampled_from(LAYOUTS)))


LAYOUTS = ("NCHW", "NHWC")


def check_against_scipy(shape: ConvShape, seed: int = 0) -> None:
    """Backward by what a gradient is: ⟨gy, conv(direction)⟩ for a random direction, the convolution being scipy's."""
    rng = np.random.default_rng(seed)
    x, w, gy, dx, dw = (
        rng.standard_normal(s) for s in (shape.x_shape, shape.w_shape, shape.y_shape, shape.x_shape, shape.w_shape)
    )
    y, gx = run("forward", shape, x, w), run("backward_data", shape, gy, w)
    gw = run("backward_filter", shape, x, gy)
    x, w, gy, dx, dw = (nchw(a, shape) for a in (x, w, gy, dx, dw))
    np.testing.assert_allclose(y, reference(x, w, shape), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose((gx * dx).sum(), (gy * reference(dx, w, shape)).sum(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((gw * dw).sum(), (gy * reference(x, dw, shape)).sum(), rtol=1e-9, atol=1e-9)


@settings(max_examples=120, deadline=None)
@given(shapes(), st.sampled_from([1, 1 << 25]), st.integers(0, 99))
def test_all_directions_agree_with_scipy(shape: ConvShape, column_bytes: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conv_columns, "COLUMN_BYTES", column_bytes)
        check_against_scipy(shape, seed)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_backward_with_stride_1_as_a_convolution(layout: str, groups: int, dilation: int) -> None:
    shape = ConvShape(3, 2 * groups, (7, 6), 3 * groups, Window((3, 2), (1, 1), (2, 1), dilation), groups, layout)
    assert isinstance(ENGINE.op("conv_plan")(shape, "fp64", "backward_data"), FlippedConvolution)
    check_against_scipy(shape)


@pytest.mark.parametrize(
    "shape",
    [
        ConvShape(1, 2, (9, 9), 6, Window((3, 3), pad=(1, 1))),
        ConvShape(1, 8, (3, 3), 8, Window((3, 3), pad=(1, 1))),
        ConvShape(1, 2, (9, 9), 2, Window((3, 3), (2, 2), (1, 1))),
        ConvShape(1, 2, (9, 9), 2, Window((3, 3), pad=(3, 3))),
    ],
    ids=["more filters than channels", "few places", "a stride", "more padding than the window reaches"],
)
def test_backward_by_columns_where_that_pays_or_nothing_else_works(shape: ConvShape) -> None:
    assert isinstance(ENGINE.op("conv_plan")(shape, "fp64", "backward_data"), ColumnConvolution)
    check_against_scipy(shape)


@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_depthwise_with_channels_last(stride: tuple[int, int], dilation: int) -> None:
    shape = ConvShape(2, 5, (7, 8), 5, Window((3, 2), stride, (1, 2), dilation), 5, "NHWC")
    for direction in ("forward", "backward_data", "backward_filter"):
        assert isinstance(ENGINE.op("conv_plan")(shape, "fp64", direction), DepthwiseConvolution)
    check_against_scipy(shape)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("image", [(1, 1), (5, 4)])
def test_pointwise_needs_no_workspace_forward(layout: str, image: tuple[int, int]) -> None:
    shape = ConvShape(3, 4, image, 6, Window((1, 1)), 2, layout)
    plan: Any = ENGINE.op("conv_plan")(shape, "fp32", "forward")
    assert plan.workspace_bytes == 0


def test_gradients_are_finite_differences() -> None:
    """One hand-picked case by central differences of the operation itself, element by element."""
    shape = ConvShape(2, 2, (4, 5), 2, Window((3, 2), (1, 2), (1, 1)), 1, "NCHW")
    rng = np.random.default_rng(3)
    x, w, gy = (rng.standard_normal(s) for s in (shape.x_shape, shape.w_shape, shape.y_shape))
    gx, gw = run("backward_data", shape, gy, w), run("backward_filter", shape, x, gy)
    for target, gradient in ((x, gx), (w, gw)):
        for place in np.ndindex(target.shape):
            values = []
            for step in (1e-4, -1e-4):
                target[place] += step
                values.append(float((gy * run("forward", shape, x, w)).sum()))
                target[place] -= step
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-6, abs=1e-8)


def test_plans_that_share_a_workspace_do_not_disturb_each_other() -> None:
    shapes_ = [ConvShape(2, 3, (6, 6), 4, Window((3, 3), pad=(p, p))) for p in (0, 1)]
    plans: list[Any] = [ENGINE.op("conv_plan")(s, "fp64", "forward") for s in shapes_]
    shared = np.empty(max(p.workspace_bytes for p in plans), np.uint8)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(shapes_[0].x_shape), rng.standard_normal(shapes_[0].w_shape)
    for plan in plans:
        plan.use(shared)
    for _ in range(2):
        for shape, plan in zip(shapes_, plans, strict=True):
            y = np.empty(shape.y_shape)
            ENGINE.op("conv_forward")(x, w, y, plan)
            np.testing.assert_allclose(y, reference(x, w, shape), rtol=1e-11, atol=1e-11)


def test_a_workspace_that_is_too_small_is_refused() -> None:
    plan: Any = ENGINE.op("conv_plan")(ConvShape(1, 3, (8, 8), 4, Window((3, 3))), "fp32", "forward")
    with pytest.raises(ValueError, match="wanted"):
        plan.use(np.empty(plan.workspace_bytes - 1, np.uint8))


def test_single_precision_is_as_good_as_single_precision_is() -> None:
    shape = ConvShape(2, 16, (9, 9), 8, Window((3, 3), pad=(1, 1)))
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in (shape.x_shape, shape.w_shape))
    y = np.empty(shape.y_shape, np.float32)
    ENGINE.op("conv_forward", "fp32")(x, w, y, ENGINE.op("conv_plan")(shape, "fp32", "forward"))
    np.testing.assert_allclose(y, reference(x.astype(float), w.astype(float), shape), rtol=0, atol=2e-4)


def test_half_precision_products_are_skipped_with_the_reason() -> None:
    with pytest.raises(Skip, match="fp16"):
        ENGINE.op("conv_forward", "fp16")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": 2}, "do not divide"),
        ({"layout": "CHWN"}, "CHWN"),
        ({"batch": 0}, "batch 0"),
        ({"image": (2, 2)}, "larger than its padded input"),
    ],
)
def test_impossible_shapes_are_named(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"batch": 1, "channels": 3, "image": (5, 5), "filters": 4, "window": Window((3, 3))}
    with pytest.raises(InputError, match=message):
        ConvShape(**{**fields, **change})
    with pytest.raises(InputError, match="direction"):
        ENGINE.op("conv_plan")(ConvShape(**fields), "fp32", "sideways")


def test_impossible_windows_are_named() -> None:
    with pytest.raises(InputError, match="stride"):
        Window((3, 3), (0, 1))
    with pytest.raises(InputError, match="negative"):
        Window((3, 3), (1, 1), (-1, 0))
