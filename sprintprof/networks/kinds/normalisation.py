"""Normalisations: batch, layer, local response."""

from __future__ import annotations

import math

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Count, Kept, Kind, Shape, Step, planes


class _Trained(Kind, frozen=True):
    """A normalisation with a scale and a shift that are trained unless switched off."""

    scale: bool = True
    shift: bool = True

    def _numbers(self, shape: Shape) -> int:
        """How many numbers the scale has."""
        return planes(shape)[0]

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        wanted = {"scale": self.scale, "shift": self.shift}
        return {name: self._numbers(shapes[0]) for name, there in wanted.items() if there}


class BatchNorm(_Trained, frozen=True):
    """Normalisation per channel over the sub-batch."""

    def _call(self, kernel: str, shape: Shape, step: Step) -> KernelCall:
        channels, spatial = planes(shape)
        return step.call(kernel, channels=channels, spatial=spatial)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [self._call("batchnorm_forward", shapes[0], step)]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [self._call("batchnorm_backward", shapes[0], step)]


class LayerNorm(_Trained, frozen=True):
    """Normalisation over each token's features; of an image or a vector over the whole sample."""

    def _numbers(self, shape: Shape) -> int:
        return shape[1] if len(shape) == 2 else math.prod(shape)

    def _call(self, kernel: str, shape: Shape, step: Step) -> KernelCall:
        features = self._numbers(shape)
        return step.call(kernel, batch=step.batch * math.prod(shape) // features, features=features)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [self._call("layernorm_forward", shapes[0], step)]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [self._call("layernorm_backward", shapes[0], step)]


class Lrn(Kind, frozen=True):
    """Local response normalisation over `size` channels (AlexNet, GoogLeNet)."""

    size: Count = 5

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True, output=True, extra=math.prod(shapes[0]))

    def _call(self, kernel: str, shape: Shape, step: Step) -> KernelCall:
        channels, spatial = planes(shape)
        return step.call(kernel, channels=channels, spatial=spatial, size=self.size)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [self._call("lrn_forward", shapes[0], step)]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [self._call("lrn_backward", shapes[0], step)] if data else []
