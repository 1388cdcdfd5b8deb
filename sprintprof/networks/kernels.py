"""The kernel catalogue: which kernels training consists of, their parameters, FLOP and bytes.

The names are benchmark names, the parameters are the axes of those benchmarks: a network is a list of kernel calls,
a benchmark suite measures kernel calls, a fit is over kernel calls. A multiply-add is 2 FLOP. Bytes are the least
traffic: each operand read or written once (no im2col buffer, no cache misses).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from sprintprof.records import InputError, Value

ELEMENT_BYTES: dict[str, int] = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
"""Bytes of one stored element by precision."""

Params = Mapping[str, Value]
Cost = Callable[[Params], float]


class KernelSpec(msgspec.Struct, frozen=True):
    """One kernel: parameter names with their types (in key order), the axis its time scales with, costs.

    `scale_axis` is "batch" for layer kernels and "parameters" for the ones over all weights.
    """

    name: str
    parameters: dict[str, type]
    scale_axis: str
    flop: Cost
    bytes: Cost


class KernelCall(msgspec.Struct, frozen=True):
    """One call of a kernel: name and full parameters (those of its KernelSpec)."""

    kernel: str
    parameters: dict[str, Value]

    @property
    def flop(self) -> float:
        """FLOP of the call."""
        return KERNELS[self.kernel].flop(self.parameters)

    @property
    def bytes(self) -> float:
        """Least bytes of the call."""
        return KERNELS[self.kernel].bytes(self.parameters)


def window_output(size: int, kernel: int, stride: int, pad: int, dilation: int = 1, rounding: str = "floor") -> int:
    """Output length of a convolution or pooling window along one axis.

    `rounding` "ceil" lets the last window hang over, but never start in the padding (the rule of Caffe and PyTorch).
    """
    span = size + 2 * pad - dilation * (kernel - 1) - 1
    if span < 0:
        what = f"is larger than its padded input of {size + 2 * pad}"
        raise InputError(f"window of {kernel}", what, "check the layer's kernel and padding")
    out = span // stride + 1
    if rounding == "ceil":
        out = -(-span // stride) + 1
        if (out - 1) * stride >= size + pad:
            out -= 1
    return out


def _i(p: Params, name: str) -> int:
    return int(p[name])


def _elem(p: Params) -> int:
    return ELEMENT_BYTES[str(p["precision"])]


def conv_output(p: Params) -> tuple[int, int]:
    """(height, width) of a convolution's output."""
    d = _i(p, "dilation")
    return (
        window_output(_i(p, "height"), _i(p, "kernel_h"), _i(p, "stride_h"), _i(p, "pad_h"), d),
        window_output(_i(p, "width"), _i(p, "kernel_w"), _i(p, "stride_w"), _i(p, "pad_w"), d),
    )


def pool_output(p: Params) -> tuple[int, int]:
    """(height, width) of a pooling's output."""
    r = str(p["rounding"])
    return (
        window_output(_i(p, "height"), _i(p, "kernel_h"), _i(p, "stride_h"), _i(p, "pad_h"), 1, r),
        window_output(_i(p, "width"), _i(p, "kernel_w"), _i(p, "stride_w"), _i(p, "pad_w"), 1, r),
    )


def _conv_flop(p: Params) -> float:
    oh, ow = conv_output(p)
    per_output = _i(p, "channels") // _i(p, "groups") * _i(p, "kernel_h") * _i(p, "kernel_w")
    return 2.0 * _i(p, "batch") * _i(p, "filters") * oh * ow * per_output


def _conv_bytes(p: Params) -> float:
    oh, ow = conv_output(p)
    x = _i(p, "batch") * _i(p, "channels") * _i(p, "height") * _i(p, "width")
    y = _i(p, "batch") * _i(p, "filters") * oh * ow
    w = _i(p, "filters") * (_i(p, "channels") // _i(p, "groups")) * _i(p, "kernel_h") * _i(p, "kernel_w")
    return float(_elem(p)) * (x + y + w)


def _col(p: Params) -> float:
    oh, ow = conv_output(p)
    return float(_i(p, "batch") * _i(p, "channels") * _i(p, "kernel_h") * _i(p, "kernel_w") * oh * ow)


def _image(p: Params) -> float:
    return float(_i(p, "batch") * _i(p, "channels") * _i(p, "height") * _i(p, "width"))


def _pool_out(p: Params) -> float:
    oh, ow = pool_output(p)
    return float(_i(p, "batch") * _i(p, "channels") * oh * ow)


def _pool_flop(p: Params) -> float:
    return _i(p, "kernel_h") * _i(p, "kernel_w") * _pool_out(p)


def _pool_elements(p: Params) -> float:
    return _image(p) + _pool_out(p)


def _features(p: Params) -> float:
    return float(_i(p, "batch") * _i(p, "features"))


def _planes(p: Params) -> float:
    return float(_i(p, "batch") * _i(p, "channels") * _i(p, "spatial"))


def _linear_flop(p: Params) -> float:
    return 2.0 * _i(p, "batch") * _i(p, "in_features") * _i(p, "out_features")


def _linear_bytes(p: Params) -> float:
    b, n, m = _i(p, "batch"), _i(p, "in_features"), _i(p, "out_features")
    return float(_elem(p)) * (b * n + b * m + n * m)


def _scaled(base: Cost, factor: float) -> Cost:
    return lambda p: factor * base(p)


def _traffic(base: Cost, passes: float) -> Cost:
    return lambda p: passes * base(p) * _elem(p)


def _types(integers: str, **others: type) -> dict[str, type]:
    return {**dict.fromkeys(integers.split(), int), **others}


_WINDOW = "kernel_h kernel_w stride_h stride_w pad_h pad_w"
_CONV = _types(f"batch channels height width filters {_WINDOW} dilation groups", precision=str, layout=str)
_COL = {k: t for k, t in _CONV.items() if k not in ("filters", "groups", "layout")}
_POOL = _types(f"batch channels height width {_WINDOW}", kind=str, rounding=str, precision=str)
_FEATURES = _types("batch features", precision=str)
_PLANES = _types("batch channels spatial", precision=str)
_LINEAR = _types("batch in_features out_features", precision=str)
_WEIGHTS = _types("parameters", precision=str)
_CLASSES = _types("batch classes", precision=str)
_GEMM = _types("m n k", transpose=str, precision=str)
_BATCHED_GEMM = _types("batch m n k", transpose=str, precision=str)
_ACTIVATION = _types("batch features", function=str, precision=str)
_LRN = _types("batch channels spatial size", precision=str)


def _weights(p: Params) -> float:
    return float(_i(p, "parameters"))


def _logits(p: Params) -> float:
    return float(_i(p, "batch") * _i(p, "classes"))


def _gemm_flop(p: Params) -> float:
    return 2.0 * _i(p, "m") * _i(p, "n") * _i(p, "k")


def _gemm_bytes(p: Params) -> float:
    m, n, k = _i(p, "m"), _i(p, "n"), _i(p, "k")
    return float(_elem(p)) * (m * k + k * n + m * n)


def _batched(base: Cost) -> Cost:
    return lambda p: _i(p, "batch") * base(p)


_LIST: list[KernelSpec] = [
    KernelSpec("gemm", _GEMM, "m", _gemm_flop, _gemm_bytes),
    KernelSpec("im2col", _COL, "batch", lambda p: 0.0, lambda p: _elem(p) * (_image(p) + _col(p))),
    KernelSpec("col2im", _COL, "batch", _col, lambda p: _elem(p) * (_image(p) + _col(p))),
    KernelSpec("conv_forward", _CONV, "batch", _conv_flop, _conv_bytes),
    KernelSpec("conv_backward_data", _CONV, "batch", _conv_flop, _conv_bytes),
    KernelSpec("conv_backward_filter", _CONV, "batch", _conv_flop, _conv_bytes),
    KernelSpec("linear_forward", _LINEAR, "batch", _linear_flop, _linear_bytes),
    KernelSpec("linear_backward_data", _LINEAR, "batch", _linear_flop, _linear_bytes),
    KernelSpec("linear_backward_filter", _LINEAR, "batch", _linear_flop, _linear_bytes),
    KernelSpec("pool_forward", _POOL, "batch", _pool_flop, _traffic(_pool_elements, 1)),
    # backward reads input and output again to find the maximum, reads the output gradient, writes the input gradient
    KernelSpec("pool_backward", _POOL, "batch", _pool_flop, _traffic(_pool_elements, 2)),
    KernelSpec("relu_forward", _FEATURES, "batch", _features, _traffic(_features, 2)),
    KernelSpec("relu_backward", _FEATURES, "batch", _features, _traffic(_features, 3)),
    KernelSpec("bias_forward", _PLANES, "batch", _planes, _traffic(_planes, 2)),
    KernelSpec("bias_backward", _PLANES, "batch", _planes, _traffic(_planes, 1)),
    KernelSpec("softmax_xent", _CLASSES, "batch", _scaled(_logits, 5), _traffic(_logits, 2)),
    # mean, variance, normalise, scale and shift: two reads and one write
    KernelSpec("batchnorm_forward", _PLANES, "batch", _scaled(_planes, 7), _traffic(_planes, 3)),
    KernelSpec("batchnorm_backward", _PLANES, "batch", _scaled(_planes, 11), _traffic(_planes, 5)),
    KernelSpec("dropout_forward", _FEATURES, "batch", _scaled(_features, 2), _traffic(_features, 3)),
    KernelSpec("dropout_backward", _FEATURES, "batch", _features, _traffic(_features, 3)),
    KernelSpec("add", _FEATURES, "batch", _features, _traffic(_features, 3)),
    KernelSpec("batched_gemm", _BATCHED_GEMM, "batch", _batched(_gemm_flop), _batched(_gemm_bytes)),
    # by rows (batch): maximum, difference, exponential, sum, quotient
    KernelSpec("softmax_forward", _FEATURES, "batch", _scaled(_features, 5), _traffic(_features, 2)),
    KernelSpec("softmax_backward", _FEATURES, "batch", _scaled(_features, 4), _traffic(_features, 3)),
    # GELU, SiLU, sigmoid, tanh: one transcendental function and a few operations an element; backward reads x and gy
    KernelSpec("activation_forward", _ACTIVATION, "batch", _scaled(_features, 5), _traffic(_features, 2)),
    KernelSpec("activation_backward", _ACTIVATION, "batch", _scaled(_features, 8), _traffic(_features, 3)),
    # as batch normalisation, by rows
    KernelSpec("layernorm_forward", _FEATURES, "batch", _scaled(_features, 7), _traffic(_features, 3)),
    KernelSpec("layernorm_backward", _FEATURES, "batch", _scaled(_features, 11), _traffic(_features, 5)),
    # squares, their sliding sum over `size` channels, power, product; the sums are kept for backward
    KernelSpec("lrn_forward", _LRN, "batch", _scaled(_planes, 7), _traffic(_planes, 3)),
    KernelSpec("lrn_backward", _LRN, "batch", _scaled(_planes, 9), _traffic(_planes, 5)),
    # each channel of each sample times its own factor (squeeze-excite); backward gives both gradients
    KernelSpec("scale_forward", _PLANES, "batch", _planes, _traffic(_planes, 2)),
    KernelSpec("scale_backward", _PLANES, "batch", _scaled(_planes, 3), _traffic(_planes, 3)),
    # concatenation, its undoing, padding, reordering
    KernelSpec("copy", _FEATURES, "batch", lambda p: 0.0, _traffic(_features, 2)),
    # v = m·v + g + λ·w; w -= η·v: reads w, g, v, writes w, v
    KernelSpec("momentum_update", _WEIGHTS, "parameters", _scaled(_weights, 6), _traffic(_weights, 5)),
    # the same and two norms before it, which read w and g once more
    KernelSpec("lars_update", _WEIGHTS, "parameters", _scaled(_weights, 11), _traffic(_weights, 7)),
    KernelSpec("gradient_add", _WEIGHTS, "parameters", _weights, _traffic(_weights, 3)),
    KernelSpec("weight_copy", _WEIGHTS, "parameters", lambda p: 0.0, _traffic(_weights, 2)),
]

KERNELS: dict[str, KernelSpec] = {spec.name: spec for spec in _LIST}
"""Every kernel by name."""
