"""Kinds that act on each element: activations, dropout, a factor per channel."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import msgspec

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Kept, Kind, LayerError, Shape, Step, image, show


class Relu(Kind, frozen=True):
    """max(x, 0). ReLU6 costs the same."""

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(output=True)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("relu_forward", features=math.prod(shapes[0]))]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [step.call("relu_backward", features=math.prod(shapes[0]))] if data else []


class _Smooth(Kind, frozen=True):
    """An activation by a smooth function. Backward reads the input again."""

    function: ClassVar[str]

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("activation_forward", features=math.prod(shapes[0]), function=self.function)]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        call = step.call("activation_backward", features=math.prod(shapes[0]), function=self.function)
        return [call] if data else []


class Gelu(_Smooth, frozen=True):
    """x·Φ(x), Φ the normal distribution."""

    function = "gelu"


class Silu(_Smooth, frozen=True):
    """x·sigmoid(x), also called swish."""

    function = "silu"


class Sigmoid(_Smooth, frozen=True):
    """1/(1 + e^−x)."""

    function = "sigmoid"


class Tanh(_Smooth, frozen=True):
    """The hyperbolic tangent."""

    function = "tanh"


class Dropout(Kind, frozen=True):
    """Zeroes a share `rate` of the elements in training; does nothing in inference."""

    rate: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.5

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(extra=math.prod(shapes[0]))

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [] if step.inference else [step.call("dropout_forward", features=math.prod(shapes[0]))]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [step.call("dropout_backward", features=math.prod(shapes[0]))] if data else []


class Scale(Kind, frozen=True):
    """The first input, an image, with each channel times the second's number for it (squeeze-excite)."""

    arity: ClassVar[tuple[int, int]] = (2, 2)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        channels, _, _ = image(shapes[0])
        if shapes[1] not in ((channels,), (channels, 1, 1)):
            what = f"wants {channels} numbers as its second input, not {show(shapes[1])}"
            raise LayerError(what, "read the gates after their global pooling")
        return shapes[0]

    def _call(self, kernel: str, shape: Shape, step: Step) -> list[KernelCall]:
        return [step.call(kernel, channels=shape[0], spatial=shape[1] * shape[2])]

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return self._call("scale_forward", shapes[0], step)

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return self._call("scale_backward", shapes[0], step) if data else []
