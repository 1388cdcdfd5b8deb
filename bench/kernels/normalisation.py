"""Batch normalisation and softmax with cross entropy."""

from __future__ import annotations

import math

import numpy as np

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.base import Array
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import UNIT_ROUNDOFF, compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_EPSILON = 1e-5
_PLANES: dict[str, Value] = {"batch": 8, "channels": 64, "spatial": 56 * 56, "precision": "fp32"}


def _per_channel(case: Case, seed: int | None = None) -> Array:
    """An array (C,), random or zero; single precision beside half-precision images."""
    precision = {"fp16": "fp32", "bf16": "fp32"}.get(case.str("precision"), case.str("precision"))
    shape = (case.int("channels"),)
    if seed is None:
        return case.engine.zeros(shape, precision)
    return case.engine.random(shape, precision, seed=case.seed * 16 + seed, fill=case.fill)


def _planes(case: Case) -> tuple[int, int, int]:
    return case.int("batch"), case.int("channels"), case.int("spatial")


@benchmark(
    "batchnorm_forward",
    group="kernels",
    axes=kernel_axes("batchnorm_forward", **_PLANES),
    summary="batch normalisation in training, forward",
    window="mean and variance of the batch, normalise, scale and shift, into an existing array",
    formula="FLOP = 7 per element; bytes = x read twice, y written",
)
def batchnorm_forward(case: Case) -> Work:
    """y, mean and 1/standard deviation from x."""
    run = operation(case, "batchnorm_forward")
    x, y = operand(case, _planes(case), 0), empty(case, _planes(case))
    gamma, beta, mean, inv_std = _per_channel(case, 1), _per_channel(case, 2), _per_channel(case), _per_channel(case)

    def verify() -> str:
        hx, hg, hb, hy = hosted(case, x, gamma, beta, y)
        allowed = 64 * UNIT_ROUNDOFF[case.str("precision")]
        for n, c, s in places(y.shape, case.seed):
            channel = double(hx[:, c])
            scale = float(hg[c]) / math.sqrt(channel.var() + _EPSILON)
            expected = (float(hx[n, c, s]) - channel.mean()) * scale + float(hb[c])
            size = abs(scale) * (abs(channel).max() + abs(channel.mean())) + abs(float(hb[c]))
            if not abs(float(hy[n, c, s]) - expected) <= allowed * size:
                return f"element {(n, c, s)} is {float(hy[n, c, s]):.9g}, expected {expected:.9g}"
        return ""

    operands = (x, gamma, beta, y, mean, inv_std)
    return kernel_work("batchnorm_forward", case, lambda: run(*operands, _EPSILON), operands, verify)


@benchmark(
    "batchnorm_backward",
    group="kernels",
    axes=kernel_axes("batchnorm_backward", **_PLANES),
    summary="batch normalisation in training, backward",
    window="gradients of input, gamma and beta, into existing arrays",
    formula="FLOP = 11 per element; bytes = x and gy read twice, gx written",
)
def batchnorm_backward(case: Case) -> Work:
    """gx, ggamma and gbeta from x and gy, with the statistics forward kept."""
    run = operation(case, "batchnorm_backward")
    x, gy, gx = operand(case, _planes(case), 0), operand(case, _planes(case), 1), empty(case, _planes(case))
    gamma, beta, mean, inv_std = _per_channel(case, 2), _per_channel(case, 3), _per_channel(case), _per_channel(case)
    ggamma, gbeta = _per_channel(case), _per_channel(case)
    operation(case, "batchnorm_forward")(x, gamma, beta, gx, mean, inv_std, _EPSILON)

    def verify() -> str:
        hx, hg, scale = hosted(case, x, gy, gamma)
        at = places(gbeta.shape, case.seed)
        wrong = compare(case, gbeta, at, lambda c: double(hg[:, c]))
        if wrong:
            return f"gradient of beta: {wrong}"

        def normalised(c: int) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], float]:
            channel = double(hx[:, c])
            inverse = 1 / math.sqrt(channel.var() + _EPSILON)
            return (channel - channel.mean()) * inverse, inverse

        wrong = compare(case, ggamma, at, lambda c: double(hg[:, c]) * normalised(c)[0])
        if wrong:
            return f"gradient of gamma: {wrong}"

        def terms(n: int, c: int, s: int) -> list[float]:
            unit, inverse = normalised(c)
            gradient = double(hg[:, c])
            along = float((gradient * unit).mean()) * float(unit[n, s])
            factor = float(scale[c]) * inverse
            return [factor * float(gradient[n, s]), -factor * float(gradient.mean()), -factor * along]

        return compare(case, gx, places(gx.shape, case.seed), terms)

    operands = (x, gy, gamma, mean, inv_std, gx, ggamma, gbeta)
    return kernel_work("batchnorm_backward", case, lambda: run(*operands), operands, verify)


@benchmark(
    "softmax_xent",
    group="kernels",
    axes=kernel_axes("softmax_xent", batch=256, classes=1000, precision="fp32"),
    summary="softmax with cross entropy: loss and gradient at once",
    window="loss of every sample and gradient of their mean, into existing arrays",
    formula="FLOP = 5 per logit; bytes = logits read, gradient written",
)
def softmax_xent(case: Case) -> Work:
    """Losses and gradient from logits and labels."""
    run = operation(case, "softmax_xent")
    batch, classes = case.int("batch"), case.int("classes")
    logits, grad = operand(case, (batch, classes), 0), empty(case, (batch, classes))
    labels = case.engine.integers((batch,), classes, seed=case.seed)
    loss = empty(case, (batch,))

    def verify() -> str:
        hl, own = hosted(case, logits, labels)

        def probability(i: int, k: int) -> float:
            row = double(hl[i])
            return float(np.exp(row[k] - row.max()) / np.exp(row - row.max()).sum())

        def gradient(i: int, k: int) -> list[float]:
            return [probability(i, k) / batch, -float(k == own[i]) / batch]

        wrong = compare(case, grad, places(grad.shape, case.seed), gradient)
        if wrong:
            return f"gradient: {wrong}"
        return compare(case, loss, places(loss.shape, case.seed), lambda i: [-math.log(probability(i, int(own[i])))])

    operands = (logits, labels, loss, grad)
    return kernel_work("softmax_xent", case, lambda: run(*operands), operands, verify)
