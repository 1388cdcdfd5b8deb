"""Softmax with cross entropy, forward and backward at once, in blocks of rows."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.engines.numpy_ops.blocks import BLOCK_BYTES, Array, scratch


def softmax_xent(logits: Array, labels: Array, loss: Array, grad: Array) -> None:
    """Loss of each row and the gradient of their mean; half precision is computed in single."""
    batch, classes = logits.shape
    half = logits.dtype == np.float16
    step = max(1, BLOCK_BYTES // (classes * logits.itemsize))
    for start in range(0, batch, step):
        rows = slice(start, min(start + step, batch))
        block, own = grad[rows], labels[rows]
        work = scratch(block.shape, np.dtype(np.float32)) if half else block
        index = np.arange(len(own))
        np.subtract(logits[rows], logits[rows].max(axis=1, keepdims=True), out=work)
        at_label = work[index, own]
        np.exp(work, out=work)
        total = work.sum(axis=1)
        loss[rows] = np.log(total) - at_label
        np.multiply(work, (1 / (total * batch))[:, None], out=work)
        work[index, own] -= work.dtype.type(1 / batch)
        if half:
            block[:] = work
