"""Operations across the channels of (N, C, S): a factor per channel, local response normalisation."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, scratch


def scale_forward(x: Array, factors: Array, y: Array) -> None:
    """y = x times the factor of its channel in its image."""
    np.multiply(x, factors[:, :, None], out=y)


def scale_backward(x: Array, factors: Array, gy: Array, gx: Array, gfactors: Array) -> None:
    """gx = gy·factor, gfactors = sum of gy·x over a channel's places; one image at a time."""
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    for image in range(len(x)):
        np.multiply(gy[image], factors[image, :, None], out=gx[image])
        gfactors[image] = np.einsum("cs,cs->c", gy[image], x[image], dtype=wide)


def _window_sums(values: Array, size: int, sums: Array) -> None:
    """sums[c] = values[c − (size−1)/2] + … + values[c + size/2], over the channels that exist."""
    below, above = (size - 1) // 2, size // 2
    sums[:] = values
    for shift in range(1, max(below, above) + 1):
        if shift <= below:
            sums[shift:] += values[:-shift]
        if shift <= above:
            sums[:-shift] += values[shift:]


def lrn_forward(
    x: Array, y: Array, sums: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> None:
    """sums = k + alpha/size·(sum of squares of `size` channels around); y = x·sums^−beta."""
    for image in range(len(x)):
        work = scratch(x.shape[1:], x.dtype)
        np.square(x[image], out=work)
        _window_sums(work, size, sums[image])
        sums[image] *= alpha / size
        sums[image] += k
        np.power(sums[image], -beta, out=work)
        np.multiply(work, x[image], out=y[image])


def lrn_backward(
    x: Array, y: Array, gy: Array, sums: Array, gx: Array, size: int, alpha: float = 1e-4, beta: float = 0.75
) -> None:
    """gx = gy·sums^−beta − 2·alpha·beta/size·x·(sum of gy·y/sums over the channels whose window holds it)."""
    for image in range(len(x)):
        ratio, spread = scratch(x.shape[1:], x.dtype, 0), scratch(x.shape[1:], x.dtype, 1)
        np.multiply(gy[image], y[image], out=ratio)
        ratio /= sums[image]
        _window_sums(ratio[::-1], size, spread[::-1])
        spread *= x[image]
        spread *= -2 * alpha * beta / size
        np.power(sums[image], -beta, out=ratio)
        ratio *= gy[image]
        np.add(ratio, spread, out=gx[image])
