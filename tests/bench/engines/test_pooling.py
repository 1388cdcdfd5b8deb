"""Pooling against its definition, hand-worked windows and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.engines.numpy_ops import pooling
from sprintprof.bench.engines.shapes import PoolShape, Window
from sprintprof.records import InputError

ENGINE = NumpyEngine()


def forward(x: Any, shape: PoolShape) -> Any:
    y = np.full(shape.y_shape, np.nan)
    ENGINE.op("pool_forward")(x, y, ENGINE.op("pool_plan")(shape, "fp64"))
    return y


def backward(x: Any, gy: Any, shape: PoolShape) -> Any:
    gx = np.full(shape.x_shape, np.nan)
    ENGINE.op("pool_backward")(x, forward(x, shape), gy, gx, ENGINE.op("pool_plan")(shape, "fp64"))
    return gx


def definition(x: Any, shape: PoolShape) -> Any:
    """By numpy.pad: NaN marks padding, the overhang of the last window is not there at all."""
    (kh, kw), (sh, sw), (ph, pw) = shape.window.kernel, shape.window.stride, shape.window.pad
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), constant_values=np.nan)
    y = np.empty(shape.y_shape)
    for oh, ow in np.ndindex(shape.output):
        window = padded[:, :, oh * sh : oh * sh + kh, ow * sw : ow * sw + kw]
        y[:, :, oh, ow] = (
            np.nanmax(window, axis=(2, 3))
            if shape.kind == "max"
            else np.nansum(window, axis=(2, 3)) / (window.shape[2] * window.shape[3])
        )
    return y


@st.composite
def shapes(draw: st.DrawFn) -> PoolShape:
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    pad = (draw(st.integers(0, kernel[0] // 2)), draw(st.integers(0, kernel[1] // 2)))
    image = draw(st.tuples(st.integers(4, 8), st.integers(4, 8)))
    kind, rounding = draw(st.sampled_from(["max", "average"])), draw(st.sampled_from(["floor", "ceil"]))
    return PoolShape(
        draw(st.integers(1, 2)), draw(st.integers(1, 3)), image, Window(kernel, stride, pad), kind, rounding
    )


@settings(max_examples=120, deadline=None)
@given(shapes(), st.booleans())
def test_forward_and_backward(shape: PoolShape, plane_by_plane: bool) -> None:
    """Distinct values, so that a maximum is differentiable: its derivative is exact for steps under the gaps."""
    rng = np.random.default_rng(0)
    x = rng.permutation(np.prod(shape.x_shape)).reshape(shape.x_shape).astype(float)
    gy, direction = rng.standard_normal(shape.y_shape), rng.standard_normal(shape.x_shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "PLANE_BYTES", 1 if plane_by_plane else 1 << 18)
        y, gx = forward(x, shape), backward(x, gy, shape)
    np.testing.assert_allclose(y, definition(x, shape), rtol=1e-12, atol=1e-12)
    step = 1e-3
    change = definition(x + step * direction, shape) - definition(x - step * direction, shape)
    np.testing.assert_allclose((gx * direction).sum(), (gy * change).sum() / (2 * step), rtol=1e-8, atol=1e-8)


def test_the_last_window_hangs_over() -> None:
    """1..9 by 2×2 windows, stride 2, rounded up: averages over 4, 2, 2 and 1 values."""
    x = np.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    average = PoolShape(1, 1, (3, 3), Window((2, 2), (2, 2)), "average", "ceil")
    np.testing.assert_allclose(forward(x, average)[0, 0], [[3, 4.5], [7.5, 9]])
    maximum = PoolShape(1, 1, (3, 3), Window((2, 2), (2, 2)), "max", "ceil")
    np.testing.assert_allclose(forward(x, maximum)[0, 0], [[5, 6], [8, 9]])


def test_padding_counts_in_averages_and_not_in_maxima() -> None:
    x = -np.ones((1, 1, 2, 2))
    window = Window((3, 3), (2, 2), (1, 1))
    assert forward(x, PoolShape(1, 1, (2, 2), window, "average"))[0, 0, 0, 0] == pytest.approx(-4 / 9)
    assert forward(x, PoolShape(1, 1, (2, 2), window, "max"))[0, 0, 0, 0] == -1


@pytest.mark.parametrize("image", [(4, 4), (2, 2)])
def test_a_tie_sends_the_gradient_to_the_first_place(image: tuple[int, int]) -> None:
    shape = PoolShape(1, 1, image, Window((2, 2), (2, 2)))
    gx = backward(np.zeros(shape.x_shape), np.ones(shape.y_shape), shape)
    expected = np.zeros(shape.x_shape)
    expected[:, :, ::2, ::2] = 1
    np.testing.assert_array_equal(gx, expected)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_one_window_over_the_whole_image_and_over_most_of_it(kind: str) -> None:
    rng = np.random.default_rng(5)
    for kernel in ((7, 7), (6, 5)):
        shape = PoolShape(2, 3, (7, 7), Window(kernel, (7, 7)), kind)
        x, gy = rng.standard_normal(shape.x_shape), rng.standard_normal(shape.y_shape)
        np.testing.assert_allclose(forward(x, shape), definition(x, shape), rtol=1e-12)
        gx = backward(x, gy, shape)
        np.testing.assert_allclose(gx.sum(axis=(2, 3)), gy[:, :, 0, 0], rtol=1e-12)
        assert np.count_nonzero(gx[0, 0]) == (1 if kind == "max" else kernel[0] * kernel[1])


def test_impossible_poolings_are_named() -> None:
    with pytest.raises(InputError, match="median"):
        PoolShape(1, 1, (4, 4), Window((2, 2)), "median")
    with pytest.raises(InputError, match="nothing but padding"):
        PoolShape(1, 1, (4, 4), Window((2, 2), (1, 1), (2, 2)))
    with pytest.raises(InputError, match="round"):
        PoolShape(1, 1, (4, 4), Window((2, 2)), "max", "round")
