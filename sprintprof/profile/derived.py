"""Columns that follow from a kernel's parameters: the matrix product behind it, its operands, Winograd work.

A convolution is the implicit matrix product that computes it (Chetlur et al. 2014): forward (N·P·Q) x K x (C·R·S).
Winograd F(m x m, 3 x 3) does (m+2)²/m² multiply-adds an output instead of 9 (Lavin and Gray 2016) and moves
transformed tiles of both images.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sprintprof.profile.features import Array, Columns

Derived = dict[str, Array]


def derive(benchmark: str, columns: Columns) -> Columns:
    """The columns with those that `benchmark` adds; unchanged where it adds none or its parameters are missing."""
    rule = _RULES.get(benchmark)
    if rule is None or "gemm_m" in columns:
        return columns
    try:
        return {**columns, **rule(columns)}
    except KeyError:  # a layer fit needs its scale axis alone
        return columns


def _outputs(size: Array, kernel: Array, stride: Array, pad: Array, dilation: Array) -> Array:
    return np.floor((size + 2 * pad - dilation * (kernel - 1) - 1) / stride) + 1


def _convolution(direction: str) -> Callable[[Columns], Derived]:
    def rule(c: Columns) -> Derived:
        n, k, g = c["batch"], c["filters"] / c["groups"], c["groups"]
        channels, window = c["channels"] / g, c["kernel_h"] * c["kernel_w"]
        out_h = _outputs(c["height"], c["kernel_h"], c["stride_h"], c["pad_h"], c["dilation"])
        out_w = _outputs(c["width"], c["kernel_w"], c["stride_w"], c["pad_w"], c["dilation"])
        outputs, inputs = n * out_h * out_w, n * c["height"] * c["width"]
        sizes = {
            "forward": (outputs, k, channels * window),
            "backward_data": (inputs, channels, k * window),
            "backward_filter": (k, channels * window, outputs),
        }[direction]
        macs = outputs * k * channels * window * g
        fits = (c["kernel_h"] == 3) & (c["kernel_w"] == 3) & (c["stride_h"] == 1) & (c["stride_w"] == 1)
        fits &= c["dilation"] == 1
        out: Derived = {"output_pixels": out_h * out_w, "inputs": inputs * channels * g, "outputs": outputs * k * g}
        out |= {"weights": k * channels * window * g, "im2col": outputs * channels * window * g}
        for tile, points in ((2, 16), (4, 36)):
            tiles = n * np.ceil(out_h / tile) * np.ceil(out_w / tile) * points
            out[f"winograd{tile}"] = np.where(fits, tiles * channels * k * g, macs)
            out[f"winograd{tile}_tiles"] = np.where(fits, tiles * (channels + k) * g, outputs * (channels + k) * g)
        return {**out, **_product(*sizes, g)}

    return rule


def _product(m: Array, n: Array, k: Array, count: Array) -> Derived:
    return {"gemm_m": m, "gemm_n": n, "gemm_k": k, "gemm_count": count, "macs": m * n * k * count}


def _gemm(c: Columns) -> Derived:
    return _product(c["m"], c["n"], c["k"], c.get("batch", np.ones_like(c["m"])))


def _linear(m: str, n: str, k: str) -> Callable[[Columns], Derived]:
    return lambda c: _product(c[m], c[n], c[k], np.ones_like(c[m]))


_RULES: dict[str, Callable[[Columns], Derived]] = {
    "conv_forward": _convolution("forward"),
    "conv_backward_data": _convolution("backward_data"),
    "conv_backward_filter": _convolution("backward_filter"),
    "linear_forward": _linear("batch", "out_features", "in_features"),
    "linear_backward_data": _linear("batch", "in_features", "out_features"),
    "linear_backward_filter": _linear("out_features", "in_features", "batch"),
    "gemm": _gemm,
    "batched_gemm": _gemm,
}
