"""Memory streams: copy and triad."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import Array, blocks


def memory_copy(source: Array, target: Array) -> None:
    """target = source."""
    np.copyto(target, source)


def triad(b: Array, c: Array, a: Array, scalar: float) -> None:
    """a = b + scalar·c, in blocks: the product is still in the cache when b is added."""
    for part in blocks(a):
        block = a[part]
        np.multiply(c[part], scalar, out=block)
        np.add(block, b[part], out=block)
