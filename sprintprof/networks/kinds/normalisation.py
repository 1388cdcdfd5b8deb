"""Normalisations."""

from __future__ import annotations

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Kind, Shape, Step, planes


class BatchNorm(Kind, frozen=True):
    """Normalisation per channel over the sub-batch. `scale` and `shift` are trained unless switched off."""

    scale: bool = True
    shift: bool = True

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        channels, _ = planes(shapes[0])
        wanted = {"scale": self.scale, "shift": self.shift}
        return {name: channels for name, there in wanted.items() if there}

    def _call(self, kernel: str, shape: Shape, step: Step) -> KernelCall:
        channels, spatial = planes(shape)
        return step.call(kernel, channels=channels, spatial=spatial)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [self._call("batchnorm_forward", shapes[0], step)]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [self._call("batchnorm_backward", shapes[0], step)]
