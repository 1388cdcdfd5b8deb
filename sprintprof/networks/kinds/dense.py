"""Fully connected layers."""

from __future__ import annotations

import math

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Count, Kept, Kind, Shape, Step


class Linear(Kind, frozen=True):
    """Matrix product with the weights. An image is flattened first; of tokens each is multiplied."""

    features: Count
    bias: bool = True

    def _sizes(self, shape: Shape) -> tuple[int, int]:
        """(rows per sample, features of a row)."""
        return (shape[0], shape[1]) if len(shape) == 2 else (1, math.prod(shape))

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return (shapes[0][0], self.features) if len(shapes[0]) == 2 else (self.features,)

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        found = {"weight": self._sizes(shapes[0])[1] * self.features}
        return {**found, "bias": self.features} if self.bias else found

    def multiply_adds(self, shapes: tuple[Shape, ...]) -> int:
        rows, features = self._sizes(shapes[0])
        return rows * features * self.features

    def _call(self, kernel: str, shape: Shape, step: Step) -> KernelCall:
        rows, features = self._sizes(shape)
        if kernel.startswith("bias"):
            return step.call(kernel, batch=step.batch * rows, channels=self.features, spatial=1)
        return step.call(kernel, batch=step.batch * rows, in_features=features, out_features=self.features)

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        names = ["linear_forward"] + ["bias_forward"] * self.bias
        return [self._call(name, shapes[0], step) for name in names]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        names = ["bias_backward"] * self.bias + ["linear_backward_filter"] + ["linear_backward_data"] * data
        return [self._call(name, shapes[0], step) for name in names]
