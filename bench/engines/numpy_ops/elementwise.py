"""Operations element by element: ReLU, bias, addition, dropout. One thread, as NumPy computes them."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, blocks, flat, scratch


def relu_forward(x: Array, y: Array) -> None:
    """y = max(x, 0)."""
    np.maximum(x, 0, out=y)


def relu_backward(y: Array, gy: Array, gx: Array) -> None:
    """gx = gy where y > 0, else 0."""
    y, gy, gx = flat(y), flat(gy), flat(gx)
    for part in blocks(y):
        block = gx[part]
        passed = scratch(block.shape, np.dtype(np.bool_))
        np.greater(y[part], 0, out=passed)
        np.multiply(gy[part], passed, out=block)


def bias_forward(x: Array, bias: Array, y: Array) -> None:
    """y = x + bias per channel."""
    np.add(x, bias[:, None], out=y)


def bias_backward(gy: Array, gbias: Array) -> None:
    """gbias = sum of gy over images and places; half precision is summed in single."""
    np.sum(gy, axis=(0, 2), dtype=np.float32 if gy.dtype == np.float16 else gy.dtype, out=gbias)


def add(a: Array, b: Array, y: Array) -> None:
    """y = a + b."""
    np.add(a, b, out=y)


def random_state(seed: int) -> np.random.SFC64:
    """SFC64: the fastest generator NumPy has."""
    return np.random.SFC64(seed)


def dropout_forward(x: Array, mask: Array, y: Array, keep: float, state: np.random.SFC64) -> None:
    """Draw the mask (16 random bits an element, so `keep` is rounded to 1/65536) and apply it."""
    x, mask, y = flat(x), flat(mask), flat(y)
    scale, limit = mask.dtype.type(1 / keep), round(keep * 65536)
    for part in blocks(x):
        block = mask[part]
        drawn = state.random_raw(-(-block.size // 4)).view(np.uint16)[: block.size]
        kept = scratch(block.shape, np.dtype(np.bool_))
        np.less(drawn, limit, out=kept)
        np.multiply(kept, scale, out=block)
        np.multiply(x[part], block, out=y[part])


def dropout_backward(gy: Array, mask: Array, gx: Array) -> None:
    """gx = gy·mask."""
    np.multiply(gy, mask, out=gx)
