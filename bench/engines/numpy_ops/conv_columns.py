"""Convolution as im2col and one matrix product, as SPRINT itself computed it.

Per group, with D = C/groups·R·S and n images at a time, in either layout:
    rows (K/groups, n·OH·OW) = filters (K/groups, D) · columns (D, n·OH·OW)
NCHW: rows and columns are workspace, rows are copied to the order of the images. NHWC: rows are the output itself,
columns lie transposed in memory, so that whole pixels are copied. Pointwise convolutions use the input as columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array
from sprintprof.bench.engines.numpy_ops.columns import gather, scatter
from sprintprof.bench.engines.numpy_ops.workspace import Workspace
from sprintprof.bench.engines.shapes import ConvShape

COLUMN_BYTES = 1 << 25
"""Columns made at a time. One thread is as fast from 4 to 128 MiB; several meet less often in larger products."""


class ColumnConvolution(Workspace):
    """One direction of a convolution by columns: workspace and the views it takes."""

    def __init__(self, shape: ConvShape, dtype: np.dtype[Any], direction: str) -> None:
        self.shape, self.nchw = shape, shape.layout == "NCHW"
        self.places = math.prod(shape.output)
        self.depth = shape.channels // shape.groups * math.prod(shape.window.kernel)
        self.matrix = (shape.groups, shape.filters // shape.groups, self.depth)
        column = shape.groups * self.depth * self.places
        self.images = min(shape.batch, max(1, COLUMN_BYTES // (column * dtype.itemsize)))
        if shape.pointwise and not (self.nchw and direction == "backward_filter"):  # no copies: image by image, or all
            self.images = 1 if self.nchw else shape.batch
        self.copies_rows = self.nchw and self.images > 1
        self.copies_columns = not shape.pointwise or self.copies_rows
        super().__init__(
            dtype,
            self.images * column * self.copies_columns,
            self.images * shape.filters * self.places * self.copies_rows,
            math.prod(self.matrix) * (direction == "backward_filter" and self.images < shape.batch),
        )
        self.run = {
            "forward": self._forward,
            "backward_data": self._backward_data,
            "backward_filter": self._backward_filter,
        }[direction]

    def _passes(self) -> Iterator[slice]:
        for start in range(0, self.shape.batch, self.images):
            yield slice(start, min(start + self.images, self.shape.batch))

    def _image(self, x: Array) -> Array:
        """x as (N, channels, H, W), or (N, groups, C/groups, H, W) for NHWC."""
        if self.nchw:
            return x
        n, h, w, c = x.shape
        return x.reshape(n, h, w, self.shape.groups, c // self.shape.groups).transpose(0, 3, 4, 1, 2)

    def _columns(self, x: Array) -> tuple[Array, Array | None]:
        """Columns (groups, D, n·OH·OW) for the images x; and the same memory as axes (L, R, S, OH, OW) to be filled.

        The second is None where x itself is the columns.
        """
        n, groups, kernel, output = len(x), self.shape.groups, self.shape.window.kernel, self.shape.output
        channels = self.shape.channels // groups
        if not self.copies_columns:
            shape = (groups, self.depth, self.places)
            return (x.reshape(shape) if self.nchw else x.reshape(-1, *shape[:2]).transpose(1, 2, 0)), None
        if self.nchw:
            memory = self.part(0, groups * channels, *kernel, n, *output)
            return memory.reshape(groups, self.depth, n * self.places), memory.transpose(3, 0, 1, 2, 4, 5)
        memory = self.part(0, groups, n, *output, *kernel, channels)
        matrix = memory.reshape(groups, n * self.places, self.depth).swapaxes(1, 2)
        return matrix, memory.transpose(1, 0, 6, 4, 5, 2, 3)

    def _rows(self, y: Array) -> tuple[Array, Array | None]:
        """Rows (groups, K/groups, n·OH·OW) for the outputs y; and the same memory in y's axes where it is a copy."""
        n, (groups, filters, _) = len(y), self.matrix
        if not self.nchw:
            return y.reshape(n * self.places, groups, filters).transpose(1, 2, 0), None
        if not self.copies_rows:
            return y.reshape(groups, filters, self.places), None
        memory = self.part(1, groups * filters, n, *self.shape.output)
        return memory.reshape(groups, filters, n * self.places), memory.transpose(1, 0, 2, 3)

    def _gathered(self, x: Array) -> Array:
        columns, image = self._columns(x)
        if image is not None:
            gather(self._image(x), image, self.shape.window)
        return columns

    def _copied(self, gy: Array) -> Array:
        rows, copy = self._rows(gy)
        if copy is not None:
            copy[:] = gy
        return rows

    def _forward(self, x: Array, w: Array, y: Array) -> None:
        filters = w.reshape(self.matrix)
        for part in self._passes():
            columns = self._gathered(x[part])
            rows, copy = self._rows(y[part])
            np.matmul(filters, columns, out=rows)
            if copy is not None:
                y[part] = copy

    def _backward_data(self, gy: Array, w: Array, gx: Array) -> None:
        filters = w.reshape(self.matrix).swapaxes(1, 2)
        for part in self._passes():
            columns, image = self._columns(gx[part])
            np.matmul(filters, self._copied(gy[part]), out=columns)
            if image is not None:
                scatter(image, self._image(gx[part]), self.shape.window)

    def _backward_filter(self, x: Array, gy: Array, gw: Array) -> None:
        gradient = gw.reshape(self.matrix)
        for part in self._passes():
            rows, columns = self._copied(gy[part]), self._gathered(x[part]).swapaxes(1, 2)
            if part.start == 0:
                np.matmul(rows, columns, out=gradient)
            else:
                partial = self.part(2, *self.matrix)
                np.matmul(rows, columns, out=partial)
                np.add(gradient, partial, out=gradient)
