"""Kernels, strides and paddings of ONNX nodes, whose padding may differ from side to side."""

from __future__ import annotations

from typing import Any

import msgspec

from sprintprof.networks.from_onnx.graph import Node
from sprintprof.networks.kinds import LayerError, Shape


class Sliding(msgspec.Struct, frozen=True):
    """Options of a windowed layer, and the zeros that are to be put around the image before it."""

    options: dict[str, Any]
    before: dict[str, int]


def sliding(node: Node, shape: Shape, kernel: list[int], *, dilated: bool) -> Sliding:
    """Kernel, stride, pad (and dilation) of a node over an image (C, H, W).

    Where padding differs from side to side, the difference becomes a layer of its own: `before` holds its options.
    Raises LayerError for windows that are not two-dimensional and for dilations that differ by axis.
    """
    if len(shape) != 3 or len(kernel) != 2:
        raise LayerError("is not a window over an image", "only two-dimensional networks can be imported")
    stride, dilation = node.integers("strides", [1, 1]), node.integers("dilations", [1, 1])
    if len(stride) != 2 or len(dilation) != 2 or dilation[0] != dilation[1]:
        raise LayerError(f"has strides {stride} and dilations {dilation}", "this form is not supported")
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    begin, end = _paddings(node, shape, span, stride)
    common = [min(b, e) for b, e in zip(begin, end, strict=True)]
    extra = [b - c for b, c in zip(begin, common, strict=True)] + [e - c for e, c in zip(end, common, strict=True)]
    options: dict[str, Any] = {"kernel": _short(kernel), "stride": _short(stride), "pad": _short(common)}
    if dilated and dilation[0] != 1:
        options["dilation"] = dilation[0]
    sides = {"top": extra[0], "left": extra[1], "bottom": extra[2], "right": extra[3]}
    return Sliding(options, {side: zeros for side, zeros in sides.items() if zeros})


def _paddings(node: Node, shape: Shape, span: list[int], stride: list[int]) -> tuple[list[int], list[int]]:
    """Zeros before and after each axis, by `pads` or `auto_pad`."""
    how = node.attributes.get("auto_pad", "NOTSET")
    if how in ("SAME_UPPER", "SAME_LOWER"):
        sizes = zip(shape[1:], span, stride, strict=True)
        totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in sizes]
        small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
        return (small, large) if how == "SAME_UPPER" else (large, small)
    pads = [0] * 4 if how == "VALID" else node.integers("pads", [0] * 4)
    if len(pads) != 4 or min(pads) < 0:
        raise LayerError(f"has paddings {pads}", "this form is not supported")
    return pads[:2], pads[2:]


def _short(window: list[int]) -> int | list[int]:
    """One number where both axes agree."""
    return window[0] if window[0] == window[1] else window
