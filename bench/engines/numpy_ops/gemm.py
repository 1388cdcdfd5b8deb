"""Matrix products through BLAS."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array


def gemm(a: Array, b: Array, out: Array, transpose: str = "nn") -> None:
    """out = A·B; see the table of operations. A transposed operand is a view: BLAS reads it as it lies."""
    left = a.swapaxes(-1, -2) if transpose[0] == "t" else a
    np.matmul(left, b.swapaxes(-1, -2) if transpose[1] == "t" else b, out=out)


def linear_forward(x: Array, w: Array, y: Array) -> None:
    """y = x·wᵀ."""
    np.matmul(x, w.T, out=y)


def linear_backward_data(gy: Array, w: Array, gx: Array) -> None:
    """gx = gy·w."""
    np.matmul(gy, w, out=gx)


def linear_backward_filter(x: Array, gy: Array, gw: Array) -> None:
    """gw = gyᵀ·x."""
    np.matmul(gy.T, x, out=gw)
