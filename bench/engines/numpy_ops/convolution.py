"""Convolutions: which way of computing one a shape takes, chosen once by its plan."""

from __future__ import annotations

from typing import Protocol

from sprintprof.bench.engines.numpy_ops.blocks import Array
from sprintprof.bench.engines.numpy_ops.conv_columns import ColumnConvolution
from sprintprof.bench.engines.numpy_ops.conv_depthwise import DepthwiseConvolution
from sprintprof.bench.engines.numpy_ops.conv_flipped import FlippedConvolution, flipped_shape
from sprintprof.bench.engines.numpy_ops.precision import dtype_of
from sprintprof.bench.engines.shapes import ConvShape
from sprintprof.records import InputError

DIRECTIONS = ("forward", "backward_data", "backward_filter")


class ConvPlan(Protocol):
    """A `Plan` of the table of operations that runs its direction on two operands and an output."""

    @property
    def workspace_bytes(self) -> int: ...

    def use(self, workspace: Array) -> None: ...

    def run(self, a: Array, b: Array, out: Array, /) -> None: ...


def conv_plan(shape: ConvShape, precision: str, direction: str) -> ConvPlan:
    """Plan of one direction; see the table of operations."""
    if direction not in DIRECTIONS:
        raise InputError("convolution", f"direction '{direction}' is unknown", f"one of {', '.join(DIRECTIONS)}")
    dtype = dtype_of(precision)
    if shape.layout == "NHWC" and shape.groups == shape.channels == shape.filters > 1:
        return DepthwiseConvolution(shape, dtype, direction)
    flipped = flipped_shape(shape) if direction == "backward_data" else None
    return FlippedConvolution(shape, flipped, dtype) if flipped else ColumnConvolution(shape, dtype, direction)


def conv_forward(x: Array, w: Array, y: Array, plan: ConvPlan) -> None:
    """y = x ∗ w; see the table of operations."""
    plan.run(x, w, y)


def conv_backward_data(gy: Array, w: Array, gx: Array, plan: ConvPlan) -> None:
    """gx from gy; see the table of operations."""
    plan.run(gy, w, gx)


def conv_backward_filter(x: Array, gy: Array, gw: Array, plan: ConvPlan) -> None:
    """gw from x and gy; see the table of operations."""
    plan.run(x, gy, gw)
