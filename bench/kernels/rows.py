"""Along rows: softmax and layer normalisation, as transformers use them, and the products between them."""

from __future__ import annotations

import numpy as np

from sprintprof.bench.case import Case, Work
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import Host, compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import InputError, Value

_SCORES: dict[str, Value] = {"batch": 8 * 12 * 197, "features": 197, "precision": "fp32"}
"""The attention scores of ViT-B/16 for eight images."""
_TOKENS: dict[str, Value] = {"batch": 8 * 197, "features": 768, "precision": "fp32"}
_EPSILON = 1e-5


def _shape(case: Case) -> tuple[int, int]:
    return case.int("batch"), case.int("features")


@benchmark(
    "batched_gemm",
    group="kernels",
    axes=kernel_axes("batched_gemm", batch=96, m=197, n=197, k=64, transpose="nt", precision="fp32"),
    summary="a batch of matrix products of one shape (the two products of attention)",
    window="all products into an existing array",
    formula="FLOP = 2·batch·m·n·k; bytes = each matrix once",
)
def batched_gemm(case: Case) -> Work:
    """C[i] = A[i]·B[i], either operand stored transposed."""
    batch, m, n, k, transpose = (*(case.int(a) for a in ("batch", "m", "n", "k")), case.str("transpose"))
    if transpose not in ("nn", "nt", "tn", "tt"):
        raise InputError("batched_gemm axis transpose", f"'{transpose}' is unknown", "nn, nt, tn or tt")
    multiply = operation(case, "gemm")
    a = operand(case, (batch, m, k) if transpose[0] == "n" else (batch, k, m), 0)
    b = operand(case, (batch, k, n) if transpose[1] == "n" else (batch, n, k), 1)
    c = empty(case, (batch, m, n))

    def verify() -> str:
        left, right = hosted(case, a, b)
        left = left if transpose[0] == "n" else left.swapaxes(1, 2)
        right = right if transpose[1] == "n" else right.swapaxes(1, 2)
        at = places(c.shape, case.seed)
        return compare(case, c, at, lambda g, i, j: double(left[g, i]) * double(right[g, :, j]))

    return kernel_work("batched_gemm", case, lambda: multiply(a, b, c, transpose), (a, b, c), verify)


@benchmark(
    "softmax_forward",
    group="kernels",
    axes=kernel_axes("softmax_forward", **_SCORES),
    summary="softmax of each row, forward",
    window="y = softmax(x) by rows into an existing array",
    formula="bytes = x read, y written; 5 FLOP an element by convention",
)
def softmax_forward(case: Case) -> Work:
    """y = softmax(x) by rows."""
    run = operation(case, "softmax_forward")
    x, y = operand(case, _shape(case), 0), empty(case, _shape(case))

    def verify() -> str:
        (hx,) = hosted(case, x)

        def terms(row: int, column: int) -> list[float]:
            powers = np.exp(double(hx[row]) - double(hx[row]).max())
            return [float(powers[column] / powers.sum())]

        return compare(case, y, places(y.shape, case.seed), terms)

    return kernel_work("softmax_forward", case, lambda: run(x, y), (x, y), verify)


@benchmark(
    "softmax_backward",
    group="kernels",
    axes=kernel_axes("softmax_backward", **_SCORES),
    summary="softmax of each row, backward",
    window="gx = y·(gy − sum of y·gy) by rows into an existing array",
    formula="bytes = y and gy read, gx written; 4 FLOP an element",
)
def softmax_backward(case: Case) -> Work:
    """gx = y·(gy − sum of y·gy)."""
    run = operation(case, "softmax_backward")
    y, gy, gx = operand(case, _shape(case), 0), operand(case, _shape(case), 1), empty(case, _shape(case))

    def verify() -> str:
        hy, hg = hosted(case, y, gy)

        def terms(row: int, column: int) -> list[float]:
            own = float(hy[row, column])
            return [own * float(hg[row, column]), *(-own * double(hy[row]) * double(hg[row]))]

        return compare(case, gx, places(gx.shape, case.seed), terms)

    return kernel_work("softmax_backward", case, lambda: run(y, gy, gx), (y, gy, gx), verify)


def _hat(x: Host, row: int, column: int) -> tuple[list[float], float]:
    """x̂ of one element as the sum of two terms, and 1/σ of its row."""
    values = double(x[row])
    inverse = float(1 / (values.var() + _EPSILON) ** 0.5)
    return [float(values[column]) * inverse, -float(values.mean()) * inverse], inverse


@benchmark(
    "layernorm_forward",
    group="kernels",
    axes=kernel_axes("layernorm_forward", **_TOKENS),
    summary="layer normalisation of each row, forward",
    window="statistics and y = gamma·x̂ + beta into existing arrays",
    formula="bytes = x read twice, y written; 7 FLOP an element",
)
def layernorm_forward(case: Case) -> Work:
    """y = gamma·x̂ + beta by rows."""
    run, (batch, features) = operation(case, "layernorm_forward"), _shape(case)
    x, gamma, beta = operand(case, (batch, features), 0), operand(case, (features,), 1), operand(case, (features,), 2)
    y, mean, inv_std = empty(case, (batch, features)), empty(case, (batch,)), empty(case, (batch,))

    def verify() -> str:
        hx, hg, hb = hosted(case, x, gamma, beta)

        def terms(row: int, column: int) -> list[float]:
            hat, _ = _hat(hx, row, column)
            return [*(float(hg[column]) * term for term in hat), float(hb[column])]

        return compare(case, y, places(y.shape, case.seed), terms)

    return kernel_work(
        "layernorm_forward", case, lambda: run(x, gamma, beta, y, mean, inv_std, _EPSILON), (x, y), verify
    )


@benchmark(
    "layernorm_backward",
    group="kernels",
    axes=kernel_axes("layernorm_backward", **_TOKENS),
    summary="layer normalisation of each row, backward",
    window="gradients of input, gamma and beta into existing arrays; the statistics are those of forward",
    formula="bytes = x and gy read twice, gx written; 11 FLOP an element",
)
def layernorm_backward(case: Case) -> Work:
    """gx = inv_std·(h − mean(h) − x̂·mean(h·x̂)), h = gamma·gy."""
    run, (batch, features) = operation(case, "layernorm_backward"), _shape(case)
    x, gy, gamma = (
        operand(case, (batch, features), 0),
        operand(case, (batch, features), 1),
        operand(case, (features,), 2),
    )
    y, mean, inv_std = empty(case, (batch, features)), empty(case, (batch,)), empty(case, (batch,))
    gx, ggamma, gbeta = empty(case, (batch, features)), empty(case, (features,)), empty(case, (features,))
    operation(case, "layernorm_forward")(x, gamma, gbeta, y, mean, inv_std, _EPSILON)

    def verify() -> str:
        hx, hg, hgamma = hosted(case, x, gy, gamma)

        def terms(row: int, column: int) -> list[float]:
            hat, inverse = _hat(hx, row, column)
            slopes = double(hg[row]) * double(hgamma)
            values = double(hx[row])
            along = slopes * (values - values.mean()) * inverse / features
            spread = [-inverse * term * float(abs(along).sum()) for term in hat]  # what cancels in the third term
            exact = -inverse * sum(hat) * float(along.sum())
            return [inverse * float(slopes[column]), *(-inverse / features * slopes), exact, *spread, -sum(spread)]

        return compare(case, gx, places(gx.shape, case.seed), terms)

    operands = (x, gy, gx)
    return kernel_work(
        "layernorm_backward",
        case,
        lambda: run(x, gy, gamma, mean, inv_std, gx, ggamma, gbeta),
        operands,
        verify,
    )
