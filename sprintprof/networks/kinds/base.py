"""What every layer kind says about itself: options, output shape, parameters, kernels."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import msgspec

from sprintprof.networks.kernels import KERNELS, KernelCall
from sprintprof.records import Value

Shape = tuple[int, ...]
"""Of one sample, without the batch: (C, H, W) of an image, (T, D) of T tokens, (F,) of a vector."""

LARGEST = 1 << 31
Count = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
Margin = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Window = Count | Annotated[list[Count], msgspec.Meta(min_length=2, max_length=2)]
"""One number for both axes, or [height, width]."""
Padding = Margin | Annotated[list[Margin], msgspec.Meta(min_length=2, max_length=2)]


class LayerError(Exception):
    """A layer that cannot be: `key` is the option at fault, "" where it is the input shape."""

    def __init__(self, what: str, remedy: str, key: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.key = key


class Step(msgspec.Struct, frozen=True):
    """How a network is run: samples in the sub-batch, precision of the operands, image layout."""

    batch: int
    precision: str = "fp32"
    layout: str = "NCHW"
    inference: bool = False

    def call(self, kernel: str, **parameters: Value) -> KernelCall:
        """A call with `parameters`; precision, layout and batch are filled in where the kernel has them."""
        common: dict[str, Value] = {"batch": self.batch, "precision": self.precision, "layout": self.layout}
        values = common | parameters
        return KernelCall(kernel, {name: values[name] for name in KERNELS[kernel].parameters})


class Kept(msgspec.Struct, frozen=True):
    """What backward reads again: all inputs, the output, and `extra` elements per sample of the layer's own."""

    inputs: bool = False
    output: bool = False
    extra: int = 0


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of one layer, as read from the file. All counts are per sample unless a Step says how many there are.

    `shapes` is always the tuple of the input shapes, as many as `arity` (least, greatest) allows.
    """

    arity: ClassVar[tuple[int, int]] = (1, 1)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        """The output shape. Raises LayerError where the inputs do not fit."""
        return shapes[0]

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        """Trained parameters: elements of each tensor, by name, in the order in which they are stored."""
        return {}

    def multiply_adds(self, shapes: tuple[Shape, ...]) -> int:
        """Multiply-adds of convolutions and matrix products of the forward pass; other arithmetic is not counted."""
        return 0

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        """Kernels of the forward pass."""
        return []

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        """What stays in memory between forward and backward."""
        return Kept()

    def workspace(self, shapes: tuple[Shape, ...]) -> int:
        """Elements per sample of the buffer a kernel of this layer may want (columns of a convolution)."""
        return 0

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        """Kernels of the backward pass; `data` says whether the gradient of the inputs is wanted."""
        return []


def pair(window: int | list[int]) -> tuple[int, int]:
    """(height, width) of a window option."""
    return (window, window) if isinstance(window, int) else (window[0], window[1])


def image(shape: Shape) -> tuple[int, int, int]:
    """The shape as (C, H, W). Raises LayerError where it is not an image."""
    if len(shape) != 3:
        raise LayerError(f"wants an image (C×H×W), its input is {show(shape)}", "check its inputs")
    return shape[0], shape[1], shape[2]


def planes(shape: Shape) -> tuple[int, int]:
    """(channels, elements of each): a vector has one element a channel, tokens have the channel last."""
    if len(shape) == 2:
        return shape[1], shape[0]
    return shape[0], math.prod(shape[1:])


def show(shape: Shape) -> str:
    """64×56×56."""
    return "×".join(str(n) for n in shape)
