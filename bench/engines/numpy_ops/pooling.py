"""Maximum and average pooling, tap by tap, over as many planes at a time as stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, scratch
from sprintprof.bench.engines.numpy_ops.columns import axis_taps
from sprintprof.bench.engines.numpy_ops.precision import dtype_of
from sprintprof.bench.engines.shapes import PoolShape

PLANE_BYTES = 1 << 18
"""Bytes of input planes worked on at a time."""


_BOOL = np.dtype(np.bool_)


class PoolPlan:
    """Shape and divisors of one pooling; see `Plan` in the table of operations. It needs no workspace."""

    workspace_bytes = 0

    def __init__(self, shape: PoolShape, dtype: np.dtype[Any]) -> None:
        window = shape.window
        vertical, horizontal = (
            axis_taps(window.kernel[a], shape.image[a], shape.output[a], window.stride[a], window.pad[a])
            for a in (0, 1)
        )
        self.shape = shape
        self.taps = [(*rows, *columns) for rows in vertical for columns in horizontal]
        self.share = (1 / _areas(shape)).astype(dtype)
        self.whole = shape.output == (1, 1) and window.pad == (0, 0)
        self._step = max(1, PLANE_BYTES // (shape.image[0] * shape.image[1] * dtype.itemsize))

    def use(self, workspace: Array) -> None:
        """Nothing: no workspace is needed."""

    def parts(self) -> Iterator[slice]:
        """Planes of each pass, of batch·channels."""
        planes = self.shape.batch * self.shape.channels
        return (slice(start, min(start + self._step, planes)) for start in range(0, planes, self._step))


def _areas(shape: PoolShape) -> Array:
    """Places of each window that lie inside the padded image, (OH, OW)."""
    spans = []
    for axis in (0, 1):
        window, pad = shape.window, shape.window.pad[axis]
        start = np.arange(shape.output[axis]) * window.stride[axis] - pad
        end = np.minimum(start + window.kernel[axis], shape.image[axis] + pad)
        spans.append(end - start)
    return np.multiply.outer(*spans).astype(np.float64)


def pool_plan(shape: PoolShape, precision: str) -> PoolPlan:
    """Plan of both directions; see the table of operations."""
    return PoolPlan(shape, dtype_of(precision))


def _planes(array: Array) -> Array:
    return array.reshape(-1, *array.shape[2:])


def pool_forward(x: Array, y: Array, plan: PoolPlan) -> None:
    """y = maximum or average of each window; see the table of operations."""
    maximum = plan.shape.kind == "max"
    x, y = _planes(x), _planes(y)
    if plan.whole:
        (np.max if maximum else np.mean)(_window(x, plan), axis=(1, 2), keepdims=True, out=y)
        return
    for part in plan.parts():
        source, target = x[part], y[part]
        target.fill(-np.inf if maximum else 0)
        for rows, height, columns, width in plan.taps:
            seen = target[:, rows, columns]
            if maximum:
                np.maximum(seen, source[:, height, width], out=seen)
            else:
                np.add(seen, source[:, height, width], out=seen)
        if not maximum:
            np.multiply(target, plan.share, out=target)


def pool_backward(x: Array, y: Array, gy: Array, gx: Array, plan: PoolPlan) -> None:
    """gx from gy; see the table of operations."""
    x, y, gy, gx = _planes(x), _planes(y), _planes(gy), _planes(gx)
    maximum = plan.shape.kind == "max"
    for part in plan.parts():
        gx[part].fill(0)
        if plan.whole:
            (_whole_maximum_back if maximum else _whole_average_back)(x[part], gy[part], gx[part], plan)
        elif maximum:
            _maximum_back(x[part], y[part], gy[part], gx[part], plan)
        else:
            _average_back(gy[part], gx[part], plan)


def _average_back(gy: Array, gx: Array, plan: PoolPlan) -> None:
    shares = scratch(gy.shape, gy.dtype)
    np.multiply(gy, plan.share, out=shares)
    for rows, height, columns, width in plan.taps:
        seen = gx[:, height, width]
        np.add(seen, shares[:, rows, columns], out=seen)


def _maximum_back(x: Array, y: Array, gy: Array, gx: Array, plan: PoolPlan) -> None:
    """Each tap that holds the maximum takes what no tap before it took."""
    left, taken, holds = scratch(gy.shape, gy.dtype), scratch(gy.shape, gy.dtype, 1), scratch(gy.shape, _BOOL, 2)
    np.copyto(left, gy)
    for rows, height, columns, width in plan.taps:
        rest, share, here = left[:, rows, columns], taken[:, rows, columns], holds[:, rows, columns]
        np.equal(x[:, height, width], y[:, rows, columns], out=here)
        np.multiply(rest, here, out=share)
        np.subtract(rest, share, out=rest)
        seen = gx[:, height, width]
        np.add(seen, share, out=seen)


def _window(x: Array, plan: PoolPlan) -> Array:
    """The one window of each plane."""
    return x[:, : plan.shape.window.kernel[0], : plan.shape.window.kernel[1]]


def _whole_average_back(_x: Array, gy: Array, gx: Array, plan: PoolPlan) -> None:
    np.multiply(gy, plan.share, out=_window(gx, plan))


def _whole_maximum_back(x: Array, gy: Array, gx: Array, plan: PoolPlan) -> None:
    first = _window(x, plan).reshape(len(x), -1).argmax(axis=1)
    rows, columns = np.divmod(first, plan.shape.window.kernel[1])
    gx[np.arange(len(x)), rows, columns] = gy[:, 0, 0]
