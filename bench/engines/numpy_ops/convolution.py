"""Convolution as im2col and one matrix product, as SPRINT itself computed it.

Per group, with D = C/groups·R·S and n images at a time, in either layout:
    rows (K/groups, n·OH·OW) = filters (K/groups, D) · columns (D, n·OH·OW)
NCHW: rows and columns are workspace, rows are copied to the order of the images. NHWC: rows are the output itself,
columns lie transposed in memory, so that whole pixels are copied. Pointwise convolutions use the input as columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array
from sprintprof.bench.engines.numpy_ops.columns import gather, scatter
from sprintprof.bench.engines.numpy_ops.precision import dtype_of
from sprintprof.bench.engines.shapes import ConvShape
from sprintprof.records import InputError

COLUMN_BYTES = 1 << 25
"""Columns made at a time: more cost memory, fewer cost products that are too small for BLAS to be fast."""

DIRECTIONS = ("forward", "backward_data", "backward_filter")
_ALIGN = 64


class ConvPlan:
    """Workspace of one convolution in one direction, and the views it takes; see `Plan` in the table of operations."""

    def __init__(self, shape: ConvShape, dtype: np.dtype[Any], direction: str) -> None:
        if direction not in DIRECTIONS:
            raise InputError("convolution", f"direction '{direction}' is unknown", f"one of {', '.join(DIRECTIONS)}")
        self.shape, self.dtype, self.direction = shape, dtype, direction
        self.nchw = shape.layout == "NCHW"
        self.places = shape.output[0] * shape.output[1]
        kernel = shape.window.kernel
        self.depth = shape.channels // shape.groups * kernel[0] * kernel[1]
        self.matrix = (shape.groups, shape.filters // shape.groups, self.depth)
        column_bytes = shape.groups * self.depth * self.places * dtype.itemsize
        self.images = min(shape.batch, max(1, COLUMN_BYTES // column_bytes))
        if shape.pointwise:
            in_place = not self.nchw or direction != "backward_filter"
            self.images = 1 if self.nchw and in_place else shape.batch if in_place else self.images
        self.copies_rows = self.nchw and self.images > 1
        self.copies_columns = not shape.pointwise or self.copies_rows
        self._sizes = (
            self.images * shape.groups * self.depth * self.places * self.copies_columns,
            self.images * shape.filters * self.places * self.copies_rows,
            shape.filters * self.depth * (direction == "backward_filter" and self.images < shape.batch),
        )
        self._parts: list[Array] | None = None

    @property
    def workspace_bytes(self) -> int:
        """Bytes of workspace: columns, rows and a partial sum, as far as they are needed."""
        return sum(-(-size * self.dtype.itemsize // _ALIGN) * _ALIGN for size in self._sizes)

    def use(self, workspace: Array) -> None:
        """Work in this array."""
        memory = workspace.reshape(-1).view(np.uint8)
        if memory.size < self.workspace_bytes:
            raise ValueError(f"workspace of {memory.size} bytes, {self.workspace_bytes} wanted")
        self._parts, start = [], 0
        for size in self._sizes:
            stop = start + size * self.dtype.itemsize
            self._parts.append(memory[start:stop].view(self.dtype))
            start += -(-(stop - start) // _ALIGN) * _ALIGN

    def _part(self, index: int, size: int) -> Array:
        if self._parts is None:
            self.use(np.empty(self.workspace_bytes, np.uint8))
        assert self._parts is not None
        return self._parts[index][:size]

    def passes(self) -> Iterator[slice]:
        """The images of each pass."""
        for start in range(0, self.shape.batch, self.images):
            yield slice(start, min(start + self.images, self.shape.batch))

    def image(self, x: Array) -> Array:
        """x as (N, channels, H, W), or (N, groups, C/groups, H, W) for NHWC."""
        if self.nchw:
            return x
        n, h, w, c = x.shape
        return x.reshape(n, h, w, self.shape.groups, c // self.shape.groups).transpose(0, 3, 4, 1, 2)

    def column_matrix(self, x: Array) -> tuple[Array, Array | None]:
        """Columns (groups, D, n·OH·OW) for the images x; and the same memory as axes (L, R, S, OH, OW) to be filled.

        The second is None where x itself is the columns.
        """
        n, groups = len(x), self.shape.groups
        if not self.copies_columns:
            shape = (groups, self.depth, self.places)
            return (x.reshape(shape) if self.nchw else x.reshape(-1, *shape[:2]).transpose(1, 2, 0)), None
        memory = self._part(0, n * groups * self.depth * self.places)
        kernel, output, channels = self.shape.window.kernel, self.shape.output, self.shape.channels
        if self.nchw:
            image = memory.reshape(channels, *kernel, n, *output).transpose(3, 0, 1, 2, 4, 5)
            return memory.reshape(groups, self.depth, n * self.places), image
        image = memory.reshape(groups, n, *output, *kernel, channels // groups).transpose(1, 0, 6, 4, 5, 2, 3)
        return memory.reshape(groups, n * self.places, self.depth).swapaxes(1, 2), image

    def row_matrix(self, y: Array) -> tuple[Array, Array | None]:
        """Rows (groups, K/groups, n·OH·OW) for the outputs y; and the same memory in y's axes where it is a copy."""
        n, (groups, filters, _) = len(y), self.matrix
        if not self.nchw:
            return y.reshape(n * self.places, groups, filters).transpose(1, 2, 0), None
        if not self.copies_rows:
            return y.reshape(groups, filters, self.places), None
        memory = self._part(1, n * groups * filters * self.places)
        image = memory.reshape(groups * filters, n, *self.shape.output).transpose(1, 0, 2, 3)
        return memory.reshape(groups, filters, n * self.places), image

    def partial_sum(self) -> Array:
        """Space for the filter gradient of one pass."""
        return self._part(2, int(np.prod(self.matrix))).reshape(self.matrix)


def conv_plan(shape: ConvShape, precision: str, direction: str) -> ConvPlan:
    """Plan of one direction; see the table of operations."""
    return ConvPlan(shape, dtype_of(precision), direction)


def conv_forward(x: Array, w: Array, y: Array, plan: ConvPlan) -> None:
    """y = x ∗ w; see the table of operations."""
    filters = w.reshape(plan.matrix)
    for part in plan.passes():
        columns, image = plan.column_matrix(x[part])
        if image is not None:
            gather(plan.image(x[part]), image, plan.shape.window)
        rows, copy = plan.row_matrix(y[part])
        np.matmul(filters, columns, out=rows)
        if copy is not None:
            y[part] = copy


def conv_backward_data(gy: Array, w: Array, gx: Array, plan: ConvPlan) -> None:
    """gx from gy; see the table of operations."""
    filters = w.reshape(plan.matrix).swapaxes(1, 2)
    for part in plan.passes():
        rows, copy = plan.row_matrix(gy[part])
        if copy is not None:
            copy[:] = gy[part]
        columns, image = plan.column_matrix(gx[part])
        np.matmul(filters, rows, out=columns)
        if image is not None:
            scatter(image, plan.image(gx[part]), plan.shape.window)


def conv_backward_filter(x: Array, gy: Array, gw: Array, plan: ConvPlan) -> None:
    """gw from x and gy; see the table of operations."""
    gradient = gw.reshape(plan.matrix)
    for part in plan.passes():
        rows, copy = plan.row_matrix(gy[part])
        if copy is not None:
            copy[:] = gy[part]
        columns, image = plan.column_matrix(x[part])
        if image is not None:
            gather(plan.image(x[part]), image, plan.shape.window)
        if part.start == 0:
            np.matmul(rows, columns.swapaxes(1, 2), out=gradient)
        else:
            partial = plan.partial_sum()
            np.matmul(rows, columns.swapaxes(1, 2), out=partial)
            np.add(gradient, partial, out=gradient)
