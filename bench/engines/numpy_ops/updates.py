"""Operations over all weights: optimizer steps, gradient sums, weight copies. In cache-sized blocks."""

from __future__ import annotations

import math

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, blocks, scratch


def _step(w: Array, g: Array, v: Array, rate: float, momentum: float, decay: float, local: float) -> None:
    """v = momentum·v + local·(g + decay·w); w −= rate·v."""
    for part in blocks(w):
        weights, velocity = w[part], v[part]
        term = scratch(weights.shape, w.dtype)
        np.multiply(velocity, momentum, out=velocity)
        np.multiply(weights, decay, out=term)
        np.add(term, g[part], out=term)
        if local != 1:
            np.multiply(term, local, out=term)
        np.add(velocity, term, out=velocity)
        np.multiply(velocity, rate, out=term)
        np.subtract(weights, term, out=weights)


def momentum_update(w: Array, g: Array, v: Array, rate: float, momentum: float = 0.9, decay: float = 0.0) -> None:
    """SGD with momentum and weight decay; see the table of operations."""
    _step(w, g, v, rate, momentum, decay, 1.0)


def _norm(a: Array) -> float:
    """Euclidean norm; half precision is summed in single, block by block, for it would overflow."""
    if a.dtype != np.float16:
        return math.sqrt(np.dot(a, a))
    total = 0.0
    for part in blocks(a):
        block = scratch(a[part].shape, np.dtype(np.float32))
        block[:] = a[part]
        total += float(np.dot(block, block))
    return math.sqrt(total)


def lars_update(
    w: Array,
    g: Array,
    v: Array,
    rate: float,
    momentum: float = 0.9,
    decay: float = 0.0,
    trust: float = 0.001,
    epsilon: float = 1e-9,
) -> None:
    """Layer-wise adaptive rate scaling; see the table of operations."""
    weights, gradient = _norm(w), _norm(g)
    local = trust * weights / (gradient + decay * weights + epsilon) if weights > 0 and gradient > 0 else 1.0
    _step(w, g, v, rate, momentum, decay, local)


def gradient_add(g: Array, total: Array) -> None:
    """total += g."""
    np.add(total, g, out=total)


def weight_copy(source: Array, target: Array) -> None:
    """target = source."""
    np.copyto(target, source)
