"""Operations along the rows of (N, F): softmax, layer normalisation. Half precision is computed in single."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import BLOCK_BYTES, Array, scratch


def _rows(x: Array) -> Iterator[slice]:
    """Slices of rows whose block stays in the cache."""
    step = max(1, BLOCK_BYTES // (x.shape[1] * x.itemsize))
    return (slice(start, min(start + step, len(x))) for start in range(0, len(x), step))


def _work(x: Array, slot: int = 0) -> Array:
    return scratch(x.shape, np.dtype(np.float32) if x.dtype == np.float16 else x.dtype, slot)


def softmax_forward(x: Array, y: Array) -> None:
    """y = softmax of each row."""
    for part in _rows(x):
        work = _work(x[part])
        np.subtract(x[part], x[part].max(axis=1, keepdims=True), out=work)
        np.exp(work, out=work)
        np.multiply(work, 1 / work.sum(axis=1, keepdims=True), out=y[part], casting="same_kind")


def softmax_backward(y: Array, gy: Array, gx: Array) -> None:
    """gx = y·(gy − sum of y·gy)."""
    for part in _rows(y):
        work = _work(y[part])
        np.multiply(y[part], gy[part], out=work)
        total = work.sum(axis=1, keepdims=True)
        np.subtract(gy[part], total, out=work)
        np.multiply(work, y[part], out=gx[part], casting="same_kind")


def layernorm_forward(
    x: Array, gamma: Array, beta: Array, y: Array, mean: Array, inv_std: Array, epsilon: float = 1e-5
) -> None:
    """Normalise each row by its own mean and variance; see the table of operations."""
    for part in _rows(x):
        work = _work(x[part])
        centre = x[part].mean(axis=1, dtype=work.dtype)
        np.subtract(x[part], centre[:, None], out=work)
        inverse = 1 / np.sqrt(np.einsum("nf,nf->n", work, work) / x.shape[1] + epsilon)
        np.multiply(work, inverse[:, None], out=work)
        np.multiply(work, gamma, out=work)
        np.add(work, beta, out=y[part], casting="same_kind")
        mean[part], inv_std[part] = centre, inverse


def layernorm_backward(
    x: Array, gy: Array, gamma: Array, mean: Array, inv_std: Array, gx: Array, ggamma: Array, gbeta: Array
) -> None:
    """gx = inv_std·(h − mean(h) − x̂·mean(h·x̂)), h = gamma·gy, x̂ = (x − mean)·inv_std; see the table of operations."""
    sums = np.zeros((2, x.shape[1]), np.float64 if x.dtype == np.float64 else np.float32)
    for part in _rows(x):
        hat, slope = _work(x[part], 0), _work(x[part], 1)
        np.subtract(x[part], mean[part, None], out=hat)
        np.multiply(hat, inv_std[part, None], out=hat)
        np.multiply(gy[part], hat, out=slope)
        sums[0] += slope.sum(axis=0)
        sums[1] += gy[part].sum(axis=0, dtype=slope.dtype)
        np.multiply(gy[part], gamma, out=slope)
        along = np.einsum("nf,nf->n", slope, hat) / x.shape[1]
        total = slope.mean(axis=1)
        np.multiply(hat, along[:, None], out=hat)
        np.subtract(slope, hat, out=slope)
        np.subtract(slope, total[:, None], out=slope)
        np.multiply(slope, inv_std[part, None], out=gx[part], casting="same_kind")
    ggamma[:], gbeta[:] = sums
