"""Kinds that act on each element: ReLU, dropout."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Kind, Shape, Step


class Relu(Kind, frozen=True):
    """max(x, 0). ReLU6 costs the same."""

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("relu_forward", features=math.prod(shapes[0]))]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [step.call("relu_backward", features=math.prod(shapes[0]))] if data else []


class Dropout(Kind, frozen=True):
    """Zeroes a share `rate` of the elements in training; does nothing in inference."""

    rate: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.5

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [] if step.inference else [step.call("dropout_forward", features=math.prod(shapes[0]))]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [step.call("dropout_backward", features=math.prod(shapes[0]))] if data else []
