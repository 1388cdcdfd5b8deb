"""Smooth activations, in blocks: GELU, SiLU, sigmoid, tanh. Half precision is computed in single."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, blocks, flat, scratch


def _erf(x: Array, out: Array) -> None:
    from scipy.special import erf

    np.multiply(x, math.sqrt(0.5), out=out)
    erf(out, out=out)


def _half_tanh(x: Array, out: Array) -> None:
    """tanh(x/2) = 2·sigmoid(x) − 1, which overflows nowhere."""
    np.multiply(x, 0.5, out=out)
    np.tanh(out, out=out)


def _gelu(x: Array, y: Array) -> None:
    _erf(x, y)
    y += 1
    y *= x
    y *= 0.5


def _gelu_slope(x: Array, slope: Array) -> None:
    density = scratch(x.shape, x.dtype, 2)
    np.square(x, out=density)
    density *= -0.5
    np.exp(density, out=density)
    density *= x
    density *= 1 / math.sqrt(2 * math.pi)
    _erf(x, slope)
    slope += 1
    slope *= 0.5
    slope += density


def _silu(x: Array, y: Array) -> None:
    _half_tanh(x, y)
    y += 1
    y *= x
    y *= 0.5


def _silu_slope(x: Array, slope: Array) -> None:
    tanh = scratch(x.shape, x.dtype, 2)
    _half_tanh(x, tanh)
    np.square(tanh, out=slope)
    np.subtract(1, slope, out=slope)
    slope *= x
    slope *= 0.5
    slope += tanh
    slope += 1
    slope *= 0.5


def _sigmoid(x: Array, y: Array) -> None:
    _half_tanh(x, y)
    y += 1
    y *= 0.5


def _sigmoid_slope(x: Array, slope: Array) -> None:
    _half_tanh(x, slope)
    np.square(slope, out=slope)
    np.subtract(1, slope, out=slope)
    slope *= 0.25


def _tanh(x: Array, y: Array) -> None:
    np.tanh(x, out=y)


def _tanh_slope(x: Array, slope: Array) -> None:
    np.tanh(x, out=slope)
    np.square(slope, out=slope)
    np.subtract(1, slope, out=slope)


_FUNCTIONS: dict[str, tuple[Callable[[Array, Array], None], Callable[[Array, Array], None]]] = {
    "gelu": (_gelu, _gelu_slope),
    "silu": (_silu, _silu_slope),
    "sigmoid": (_sigmoid, _sigmoid_slope),
    "tanh": (_tanh, _tanh_slope),
}


def _working(x: Array, slot: int) -> Array:
    return scratch(x.shape, np.dtype(np.float32) if x.dtype == np.float16 else x.dtype, slot)


def activation_forward(x: Array, y: Array, function: str) -> None:
    """y = f(x); see the table of operations."""
    apply, _ = _FUNCTIONS[function]
    x, y = flat(x), flat(y)
    for part in blocks(x):
        if x.dtype != np.float16:
            apply(x[part], y[part])
            continue
        wide, result = _working(x[part], 0), _working(x[part], 1)
        wide[:] = x[part]
        apply(wide, result)
        y[part] = result


def activation_backward(x: Array, gy: Array, gx: Array, function: str) -> None:
    """gx = gy·f′(x); see the table of operations."""
    _, slope_of = _FUNCTIONS[function]
    x, gy, gx = flat(x), flat(gy), flat(gx)
    for part in blocks(x):
        block, slope = x[part], _working(x[part], 1)
        if x.dtype == np.float16:
            block = _working(x[part], 0)
            block[:] = x[part]
        slope_of(block, slope)
        np.multiply(slope, gy[part], out=gx[part], casting="same_kind")
