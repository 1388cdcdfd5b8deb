"""Matrix products: plain, and the three of a fully connected layer."""

from __future__ import annotations

from sprintprof.bench.case import Case, Work
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import InputError, Value

_FORMULA = "FLOP = 2·m·n·k; bytes = each matrix once"
_WINDOW = "one product into an existing matrix"
_LINEAR: dict[str, Value] = {"batch": 64, "in_features": 2048, "out_features": 1000, "precision": "fp32"}


@benchmark(
    "gemm",
    group="kernels",
    axes=kernel_axes("gemm", m=1024, n=1024, k=1024, transpose="nn", precision="fp32"),
    summary="matrix product C (m, n) = A·B through the engine's BLAS",
    window=_WINDOW,
    formula=_FORMULA,
)
def gemm(case: Case) -> Work:
    """C = A·B, either operand stored transposed."""
    m, n, k, transpose = case.int("m"), case.int("n"), case.int("k"), case.str("transpose")
    if transpose not in ("nn", "nt", "tn", "tt"):
        raise InputError("gemm axis transpose", f"'{transpose}' is unknown", "nn, nt, tn or tt")
    multiply = operation(case, "gemm")
    a = operand(case, (m, k) if transpose[0] == "n" else (k, m), 0)
    b = operand(case, (k, n) if transpose[1] == "n" else (n, k), 1)
    c = empty(case, (m, n))

    def verify() -> str:
        left, right = hosted(case, a, b)
        left, right = (left if transpose[0] == "n" else left.T), (right if transpose[1] == "n" else right.T)
        at = places(c.shape, case.seed)
        return compare(case, c, at, lambda i, j: double(left[i]) * double(right[:, j]))

    return kernel_work("gemm", case, lambda: multiply(a, b, c, transpose), (a, b, c), verify)


def _sizes(case: Case) -> tuple[int, int, int]:
    return case.int("batch"), case.int("in_features"), case.int("out_features")


@benchmark(
    "linear_forward",
    group="kernels",
    axes=kernel_axes("linear_forward", **_LINEAR),
    summary="fully connected layer, forward: y = x·wᵀ",
    window=_WINDOW,
    formula=_FORMULA,
)
def linear_forward(case: Case) -> Work:
    """y (batch, out) = x (batch, in) · wᵀ."""
    batch, inputs, outputs = _sizes(case)
    run = operation(case, "linear_forward")
    x, w, y = operand(case, (batch, inputs), 0), operand(case, (outputs, inputs), 1), empty(case, (batch, outputs))

    def verify() -> str:
        hx, hw = hosted(case, x, w)
        return compare(case, y, places(y.shape, case.seed), lambda i, j: double(hx[i]) * double(hw[j]))

    return kernel_work("linear_forward", case, lambda: run(x, w, y), (x, w, y), verify)


@benchmark(
    "linear_backward_data",
    group="kernels",
    axes=kernel_axes("linear_backward_data", **_LINEAR),
    summary="fully connected layer, gradient of the input: gx = gy·w",
    window=_WINDOW,
    formula=_FORMULA,
)
def linear_backward_data(case: Case) -> Work:
    """gx (batch, in) = gy (batch, out) · w."""
    batch, inputs, outputs = _sizes(case)
    run = operation(case, "linear_backward_data")
    gy, w, gx = operand(case, (batch, outputs), 0), operand(case, (outputs, inputs), 1), empty(case, (batch, inputs))

    def verify() -> str:
        hg, hw = hosted(case, gy, w)
        return compare(case, gx, places(gx.shape, case.seed), lambda i, j: double(hg[i]) * double(hw[:, j]))

    return kernel_work("linear_backward_data", case, lambda: run(gy, w, gx), (gy, w, gx), verify)


@benchmark(
    "linear_backward_filter",
    group="kernels",
    axes=kernel_axes("linear_backward_filter", **_LINEAR),
    summary="fully connected layer, gradient of the weights: gw = gyᵀ·x",
    window=_WINDOW,
    formula=_FORMULA,
)
def linear_backward_filter(case: Case) -> Work:
    """gw (out, in) = gyᵀ · x, summed over the batch."""
    batch, inputs, outputs = _sizes(case)
    run = operation(case, "linear_backward_filter")
    x, gy, gw = operand(case, (batch, inputs), 0), operand(case, (batch, outputs), 1), empty(case, (outputs, inputs))

    def verify() -> str:
        hx, hg = hosted(case, x, gy)
        return compare(case, gw, places(gw.shape, case.seed), lambda i, j: double(hg[:, i]) * double(hx[:, j]))

    return kernel_work("linear_backward_filter", case, lambda: run(x, gy, gw), (x, gy, gw), verify)
