"""Kinds with several inputs, and those that only give a shape another name."""

from __future__ import annotations

import math
from typing import ClassVar

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Kind, LayerError, Shape, Step, show


class Add(Kind, frozen=True):
    """Sum of inputs of one shape, as at the end of a residual block. Its gradient is passed on without work."""

    arity: ClassVar[tuple[int, int]] = (2, 64)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        if len(set(shapes)) > 1:
            raise LayerError(f"adds inputs of different shapes: {', '.join(map(show, shapes))}", "check its inputs")
        return shapes[0]

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("add", features=math.prod(shapes[0]))] * (len(shapes) - 1)


class Flatten(Kind, frozen=True):
    """The image as a vector. Costs nothing."""

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return (math.prod(shapes[0]),)
