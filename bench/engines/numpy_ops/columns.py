"""im2col and col2im: from images to the columns of their windows and back.

NumPy orders its loops by the strides it finds, so one function serves every layout: callers pass views with their
axes in the logical order named below, and memory order is the caller's choice. `L` stands for any leading axes,
such as (N, C) or (N, groups, C/groups).
"""

from __future__ import annotations

import math

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, scratch
from sprintprof.bench.engines.shapes import Window

PADDED_BYTES = 1 << 20
"""Images are padded this many bytes at a time (at least one image), so that the copy is read from the cache."""


def axis_taps(
    kernel: int, image: int, output: int, stride: int, pad: int, dilation: int = 1
) -> list[tuple[slice, slice]]:
    """Per tap of a window along one axis: the outputs whose tap lies inside the image, and the places they take."""
    found = []
    for tap in range(kernel):
        start = tap * dilation - pad
        first = -(start // stride) if start < 0 else 0
        last = max(first, min(output, (image - 1 - start) // stride + 1))
        place = first * stride + start
        found.append((slice(first, last), slice(place, place + (last - first) * stride, stride)))
    return found


def _windows(x: Array, window: Window, output: tuple[int, int]) -> Array:
    """View (L, R, S, OH, OW) of images (L, H, W) that need no padding any more."""
    *lead, h, w = x.strides
    (sh, sw), d = window.stride, window.dilation
    shape = (*x.shape[:-2], *window.kernel, *output)
    return np.lib.stride_tricks.as_strided(x, shape, (*lead, h * d, w * d, h * sh, w * sw), writeable=False)


def _padded(x: Array, pad: tuple[int, int], images: int) -> Array:
    """Scratch for that many images of x (N, …, H, W) with their padding zeroed, in x's own memory order."""
    shape = (images, *x.shape[1:-2], x.shape[-2] + 2 * pad[0], x.shape[-1] + 2 * pad[1])
    order = sorted(range(x.ndim), key=lambda axis: (-x.strides[axis], axis))
    padded = scratch(tuple(shape[axis] for axis in order), x.dtype)
    padded = padded.transpose([order.index(axis) for axis in range(x.ndim)])
    (ph, pw), (h, w) = pad, x.shape[-2:]
    padded[..., :ph, :] = padded[..., ph + h :, :] = 0
    padded[..., :pw] = padded[..., pw + w :] = 0
    return padded


def gather(x: Array, col: Array, window: Window) -> None:
    """Fill col, axes (L, R, S, OH, OW), from images x, axes (L, H, W); the first axis is that of the images."""
    output = (col.shape[-2], col.shape[-1])
    if window.pad == (0, 0):
        np.copyto(col, _windows(x, window, output))
        return
    (ph, pw), (h, w), n = window.pad, x.shape[-2:], len(x)
    per_image = math.prod(x.shape[1:-2]) * (h + 2 * ph) * (w + 2 * pw) * x.itemsize
    step = min(n, max(1, PADDED_BYTES // per_image))
    padded = _padded(x, window.pad, step)
    for start in range(0, n, step):
        part = padded[: min(step, n - start)]
        part[..., ph : ph + h, pw : pw + w] = x[start : start + step]
        np.copyto(col[start : start + step], _windows(part, window, output))


def scatter(col: Array, x: Array, window: Window) -> None:
    """Images x, axes (L, H, W) = sum of col, axes (L, R, S, OH, OW), at the places `gather` reads them from."""
    x.fill(0)
    vertical, horizontal = (
        axis_taps(window.kernel[a], x.shape[a - 2], col.shape[a - 2], window.stride[a], window.pad[a], window.dilation)
        for a in (0, 1)
    )
    for i, (rows, height) in enumerate(vertical):
        for j, (columns, width) in enumerate(horizontal):
            part = x[..., height, width]
            np.add(part, col[..., i, j, rows, columns], out=part)


def _taken_apart(col: Array, x: Array, window: Window) -> Array:
    return col.reshape(*x.shape[:2], *window.kernel, *window.output((x.shape[2], x.shape[3])))


def im2col(x: Array, col: Array, window: Window) -> None:
    """Columns (N, C·R·S, OH·OW) of x (N, C, H, W); see the table of operations."""
    gather(x, _taken_apart(col, x, window), window)


def col2im(col: Array, x: Array, window: Window) -> None:
    """x (N, C, H, W) from columns (N, C·R·S, OH·OW); see the table of operations."""
    scatter(_taken_apart(col, x, window), x, window)
