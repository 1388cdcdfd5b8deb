"""Kinds with several inputs, and those that move elements or only give a shape another name."""

from __future__ import annotations

import math
from typing import ClassVar

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Count, Kind, LayerError, Margin, Shape, Step, image, show


class Add(Kind, frozen=True):
    """Sum of inputs of one shape, as at the end of a residual block. Its gradient is passed on without work."""

    arity: ClassVar[tuple[int, int]] = (2, 64)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        if len(set(shapes)) > 1:
            raise LayerError(f"adds inputs of different shapes: {', '.join(map(show, shapes))}", "check its inputs")
        return shapes[0]

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("add", features=math.prod(shapes[0]))] * (len(shapes) - 1)


class _Copied(Kind, frozen=True):
    """A kind whose output is its inputs' elements in another place: one copy of the output, one back."""

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("copy", features=math.prod(self.output(shapes)))]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return self.forward(shapes, step) if data else []


class Concat(_Copied, frozen=True):
    """The inputs' channels one after the other (of vectors their features, of tokens the tokens)."""

    arity: ClassVar[tuple[int, int]] = (2, 1024)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        if len({shape[1:] for shape in shapes}) > 1:
            what = f"joins inputs that differ in more than channels: {', '.join(map(show, shapes))}"
            raise LayerError(what, "check its inputs")
        return (sum(shape[0] for shape in shapes), *shapes[0][1:])


class Pad(_Copied, frozen=True):
    """Zeros around the image, and `channels` more channels of zeros (the shortcut of the CIFAR ResNets)."""

    top: Margin = 0
    bottom: Margin = 0
    left: Margin = 0
    right: Margin = 0
    channels: Margin = 0

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        channels, height, width = image(shapes[0])
        return channels + self.channels, height + self.top + self.bottom, width + self.left + self.right


class Shuffle(_Copied, frozen=True):
    """The channels of `groups` groups interleaved (ShuffleNet)."""

    groups: Count

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        channels, _, _ = image(shapes[0])
        if channels % self.groups:
            raise LayerError(
                f"is {self.groups}, which does not divide {channels} channels", "choose a divisor", "groups"
            )
        return shapes[0]


class Flatten(Kind, frozen=True):
    """The image or the tokens as a vector. Costs nothing."""

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return (math.prod(shapes[0]),)
