"""The gradient of the input of a convolution with stride 1, as a convolution of its own.

gx = gy ∗ w with the taps turned round and the roles of channels and filters exchanged, padded by what the forward
window reaches beyond its padding. It gathers gy, where the general way scatters into gx: reading short rows and writing
long ones costs a third of adding short rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array
from sprintprof.bench.engines.numpy_ops.conv_columns import ColumnConvolution
from sprintprof.bench.engines.numpy_ops.workspace import Workspace
from sprintprof.bench.engines.shapes import ConvShape, Window

FILTERS_A_CHANNEL = 2
"""It pays up to so many: there are filters to gather, channels to scatter."""

PLACES_A_FILTER = 4
"""It pays from so many places of the output, in all images, on: below, turning the filters costs more than it saves."""


def flipped_shape(shape: ConvShape) -> ConvShape | None:
    """The convolution from gy to gx; None where there is none or it does not pay."""
    window = shape.window
    pad = tuple(window.dilation * (k - 1) - p for k, p in zip(window.kernel, window.pad, strict=True))
    if window.stride != (1, 1) or min(pad) < 0 or shape.pointwise:
        return None
    places = shape.batch * math.prod(shape.output)
    if shape.filters > FILTERS_A_CHANNEL * shape.channels or places < PLACES_A_FILTER * shape.filters // shape.groups:
        return None
    turned = Window(window.kernel, (1, 1), (pad[0], pad[1]), window.dilation)
    return ConvShape(shape.batch, shape.filters, shape.output, shape.channels, turned, shape.groups, shape.layout)


class FlippedConvolution(Workspace):
    """gx from gy by the convolution `flipped`; its workspace is the turned filters and that convolution's own."""

    def __init__(self, shape: ConvShape, flipped: ConvShape, dtype: np.dtype[Any]) -> None:
        self._shape, self._flipped = shape, flipped
        self._inner = ColumnConvolution(flipped, dtype, "forward")
        super().__init__(dtype, math.prod(shape.w_shape), self._inner.workspace_bytes // dtype.itemsize)

    def use(self, workspace: Array) -> None:
        """Work in this array, the convolution inside included."""
        super().use(workspace)
        self._inner.use(self.part(1, self._inner.workspace_bytes // self.dtype.itemsize))

    def run(self, gy: Array, w: Array, gx: Array) -> None:
        """gx from gy and w."""
        turned = self.part(0, *self._flipped.w_shape)
        groups = self._shape.groups
        source = w.reshape(groups, -1, *w.shape[1:])
        target = turned.reshape(groups, -1, *turned.shape[1:])
        if self._shape.layout == "NCHW":
            np.copyto(target, source[..., ::-1, ::-1].swapaxes(1, 2))
        else:
            np.copyto(target, source[:, :, ::-1, ::-1].swapaxes(1, 4))
        self._inner.run(gy, turned, gx)
