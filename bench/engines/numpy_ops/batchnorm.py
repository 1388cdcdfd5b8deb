"""Batch normalisation over (N, C, S), a few channels at a time so that all passes but the first hit the cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, scratch

CHANNEL_BYTES = 1 << 18
"""Bytes of channels worked on at a time."""


def _channels(x: Array) -> Iterator[slice]:
    images, channels, places = x.shape
    step = max(1, CHANNEL_BYTES // (images * places * x.itemsize))
    return (slice(start, min(start + step, channels)) for start in range(0, channels, step))


def _work(x: Array) -> Array:
    """Scratch of x's shape; single precision for half, whose sums would overflow."""
    return scratch(x.shape, np.dtype(np.float32) if x.dtype == np.float16 else x.dtype)


def _product_sums(a: Array, b: Array) -> Array:
    """Sum of a·b per channel."""
    sums: Array = np.einsum("ncs,ncs->c", a, b, dtype=np.result_type(a, b))
    return sums


def batchnorm_forward(
    x: Array, gamma: Array, beta: Array, y: Array, mean: Array, inv_std: Array, epsilon: float = 1e-5
) -> None:
    """Normalise by the batch's own mean and variance; see the table of operations."""
    count = x.shape[0] * x.shape[2]
    for part in _channels(x):
        block = x[:, part]
        work = _work(block)
        centre = block.mean(axis=(0, 2), dtype=work.dtype)
        np.subtract(block, centre[:, None], out=work)
        inverse = 1 / np.sqrt(_product_sums(work, work) / count + epsilon)
        np.multiply(work, (inverse * gamma[part])[:, None], out=work)
        np.add(work, beta[part, None], out=y[:, part], casting="same_kind")
        mean[part], inv_std[part] = centre, inverse


def batchnorm_backward(
    x: Array, gy: Array, gamma: Array, mean: Array, inv_std: Array, gx: Array, ggamma: Array, gbeta: Array
) -> None:
    """gx = gamma·inv_std·(gy − mean(gy) − x̂·mean(gy·x̂)), x̂ = (x − mean)·inv_std; see the table of operations."""
    count = x.shape[0] * x.shape[2]
    for part in _channels(x):
        gradient, inverse = gy[:, part], inv_std[part]
        work = _work(gradient)
        np.subtract(x[:, part], mean[part, None], out=work)
        total = gradient.sum(axis=(0, 2), dtype=work.dtype)
        along = _product_sums(work, gradient) * inverse
        np.multiply(work, (-inverse * along / count)[:, None], out=work)
        np.subtract(work, (total / count)[:, None], out=work)
        np.add(work, gradient, out=work)
        np.multiply(work, (gamma[part] * inverse)[:, None], out=gx[:, part], casting="same_kind")
        ggamma[part], gbeta[part] = along, total
