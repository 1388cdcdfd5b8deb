"""Across channels: a factor per channel (squeeze-excite), local response normalisation; and plain copies."""

from __future__ import annotations

from sprintprof.bench.case import Case, Work
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, double, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_PLANES: dict[str, Value] = {"batch": 8, "channels": 64, "spatial": 56 * 56, "precision": "fp32"}
_LRN: dict[str, Value] = {"batch": 8, "channels": 96, "spatial": 55 * 55, "size": 5, "precision": "fp32"}
"""The first normalisation of AlexNet."""
_ALPHA, _BETA, _K = 1e-4, 0.75, 1.0


def _shape(case: Case) -> tuple[int, int, int]:
    return case.int("batch"), case.int("channels"), case.int("spatial")


@benchmark(
    "copy",
    group="kernels",
    axes=kernel_axes("copy", batch=8, features=64 * 56 * 56, precision="fp32"),
    summary="copy of an activation (concatenation, padding, reordering)",
    window="y = x into an existing array",
    formula="bytes = x read, y written",
)
def copy(case: Case) -> Work:
    """y = x."""
    shape = case.int("batch"), case.int("features")
    run, x, y = operation(case, "memory_copy"), operand(case, shape, 0), empty(case, shape)

    def verify() -> str:
        (hx,) = hosted(case, x)
        return compare(case, y, places(shape, case.seed), lambda *p: [float(hx[p])])

    return kernel_work("copy", case, lambda: run(x, y), (x, y), verify)


@benchmark(
    "scale_forward",
    group="kernels",
    axes=kernel_axes("scale_forward", **_PLANES),
    summary="each channel of each image times its factor (squeeze-excite), forward",
    window="y = x·factor into an existing array",
    formula="bytes = x read, y written",
)
def scale_forward(case: Case) -> Work:
    """y = x·factor."""
    run, shape = operation(case, "scale_forward"), _shape(case)
    x, factors, y = operand(case, shape, 0), operand(case, shape[:2], 1), empty(case, shape)

    def verify() -> str:
        hx, hf = hosted(case, x, factors)
        return compare(case, y, places(shape, case.seed), lambda n, c, s: [float(hx[n, c, s]) * float(hf[n, c])])

    return kernel_work("scale_forward", case, lambda: run(x, factors, y), (x, y), verify)


@benchmark(
    "scale_backward",
    group="kernels",
    axes=kernel_axes("scale_backward", **_PLANES),
    summary="each channel of each image times its factor (squeeze-excite), backward",
    window="gradients of the image and of the factors into existing arrays",
    formula="bytes = x and gy read, gx written; 3 FLOP an element",
)
def scale_backward(case: Case) -> Work:
    """gx = gy·factor, gfactor = sum of gy·x."""
    run, shape = operation(case, "scale_backward"), _shape(case)
    x, factors, gy = operand(case, shape, 0), operand(case, shape[:2], 1), operand(case, shape, 2)
    gx, gfactors = empty(case, shape), empty(case, shape[:2])

    def verify() -> str:
        hx, hf, hg = hosted(case, x, factors, gy)
        at = places(shape, case.seed)
        wrong = compare(case, gx, at, lambda n, c, s: [float(hg[n, c, s]) * float(hf[n, c])])
        of_factors = places(shape[:2], case.seed)
        return wrong or compare(case, gfactors, of_factors, lambda n, c: double(hg[n, c]) * double(hx[n, c]))

    return kernel_work("scale_backward", case, lambda: run(x, factors, gy, gx, gfactors), (x, gy, gx), verify)


@benchmark(
    "lrn_forward",
    group="kernels",
    axes=kernel_axes("lrn_forward", **_LRN),
    summary="local response normalisation across channels, forward",
    window="y and the sums that backward needs into existing arrays",
    formula="bytes = x read, sums and y written; 7 FLOP an element by convention",
)
def lrn_forward(case: Case) -> Work:
    """y = x·(k + alpha/size·sum of squares)^−beta."""
    run, shape, size = operation(case, "lrn_forward"), _shape(case), case.int("size")
    x, y, sums = operand(case, shape, 0), empty(case, shape), empty(case, shape)

    def verify() -> str:
        (hx,) = hosted(case, x)

        def terms(n: int, c: int, s: int) -> list[float]:
            near = double(hx[n, max(0, c - (size - 1) // 2) : c + size // 2 + 1, s])
            return [float(hx[n, c, s]) * float(_K + _ALPHA / size * (near**2).sum()) ** -_BETA]

        return compare(case, y, places(shape, case.seed), terms)

    return kernel_work("lrn_forward", case, lambda: run(x, y, sums, size, _ALPHA, _BETA, _K), (x, sums, y), verify)


@benchmark(
    "lrn_backward",
    group="kernels",
    axes=kernel_axes("lrn_backward", **_LRN),
    summary="local response normalisation across channels, backward",
    window="gx into an existing array; the sums are those of forward",
    formula="bytes = x, y, gy and sums read, gx written; 9 FLOP an element by convention",
)
def lrn_backward(case: Case) -> Work:
    """gx = gy·sums^−beta − 2·alpha·beta/size·x·(sum of gy·y/sums)."""
    run, shape, size = operation(case, "lrn_backward"), _shape(case), case.int("size")
    x, gy = operand(case, shape, 0), operand(case, shape, 1)
    y, sums, gx = empty(case, shape), empty(case, shape), empty(case, shape)
    operation(case, "lrn_forward")(x, y, sums, size, _ALPHA, _BETA, _K)

    def verify() -> str:
        hx, hy, hg, hs = hosted(case, x, y, gy, sums)

        def terms(n: int, c: int, s: int) -> list[float]:
            near = slice(max(0, c - size // 2), c + (size - 1) // 2 + 1)
            spread = double(hg[n, near, s]) * double(hy[n, near, s]) / double(hs[n, near, s])
            own = float(hg[n, c, s]) * float(hs[n, c, s]) ** -_BETA
            return [own, *(-2 * _ALPHA * _BETA / size * float(hx[n, c, s]) * spread)]

        return compare(case, gx, places(shape, case.seed), terms)

    operands = (x, y, gy, sums, gx)
    return kernel_work("lrn_backward", case, lambda: run(x, y, gy, sums, gx, size, _ALPHA, _BETA), operands, verify)
