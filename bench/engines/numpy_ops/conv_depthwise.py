"""Depthwise convolution in NHWC, tap by tap: whole rows of pixels times the tap's weights, repeated along the row.

Columns of one channel each would be gathered element by element; here everything runs over W·C contiguous values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array
from sprintprof.bench.engines.numpy_ops.columns import axis_taps
from sprintprof.bench.engines.numpy_ops.workspace import Workspace
from sprintprof.bench.engines.shapes import ConvShape


class DepthwiseConvolution(Workspace):
    """One direction of a convolution whose groups have one channel and one filter each, NHWC."""

    def __init__(self, shape: ConvShape, dtype: np.dtype[Any], direction: str) -> None:
        (kh, kw), (oh, ow), window = shape.window.kernel, shape.output, shape.window
        weights = kh * kw * ow * shape.channels * (direction != "backward_filter")
        super().__init__(dtype, weights, oh * ow * shape.channels * (direction != "backward_filter"))
        self._shape = shape
        self._rows, self._columns = (
            axis_taps(
                window.kernel[a], shape.image[a], shape.output[a], window.stride[a], window.pad[a], window.dilation
            )
            for a in (0, 1)
        )
        self.run = {
            "forward": self._forward,
            "backward_data": self._backward_data,
            "backward_filter": self._backward_filter,
        }[direction]

    def _taps(self) -> Iterator[tuple[int, int, tuple[slice, slice], tuple[slice, slice]]]:
        """Taps with the part of the output and of the image that each joins."""
        for i, (rows, height) in enumerate(self._rows):
            for j, (columns, width) in enumerate(self._columns):
                yield i, j, (rows, columns), (height, width)

    def _repeated(self, w: Array) -> Array:
        """Weights (R, S, OW, C): those of a tap for a row of the output."""
        kernel, width = self._shape.window.kernel, self._shape.output[1]
        weights = self.part(0, *kernel, width, self._shape.channels)
        np.copyto(weights, w[..., 0].transpose(1, 2, 0)[:, :, None])
        return weights

    def _product(self) -> Array:
        return self.part(1, *self._shape.output, self._shape.channels)

    def _forward(self, x: Array, w: Array, y: Array) -> None:
        weights, product = self._repeated(w), self._product()
        for source, target in zip(x, y, strict=True):
            target.fill(0)
            for i, j, output, image in self._taps():
                seen, term = target[output], product[output]
                np.multiply(source[image], weights[i, j, output[1]], out=term)
                np.add(seen, term, out=seen)

    def _backward_data(self, gy: Array, w: Array, gx: Array) -> None:
        weights, product = self._repeated(w), self._product()
        for source, target in zip(gy, gx, strict=True):
            target.fill(0)
            for i, j, output, image in self._taps():
                seen, term = target[image], product[output]
                np.multiply(source[output], weights[i, j, output[1]], out=term)
                np.add(seen, term, out=seen)

    def _backward_filter(self, x: Array, gy: Array, gw: Array) -> None:
        for i, j, output, image in self._taps():
            np.einsum("nhwc,nhwc->c", x[:, *image], gy[:, *output], out=gw[:, i, j, 0])
