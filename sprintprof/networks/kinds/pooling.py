"""Pooling over windows and over whole images."""

from __future__ import annotations

from typing import Literal

from sprintprof.networks.kernels import KernelCall, pool_output
from sprintprof.networks.kinds.base import Kept, Kind, LayerError, Padding, Shape, Step, Window, image, pair
from sprintprof.records import Value


class Pool(Kind, frozen=True, kw_only=True):
    """Maximum or average over a window. The stride defaults to the window; `rounding` decides the last window."""

    mode: Literal["max", "average"] = "max"
    kernel: Window
    stride: Window | None = None
    pad: Padding = 0
    rounding: Literal["floor", "ceil"] = "floor"

    def geometry(self, shape: Shape) -> dict[str, Value]:
        """Parameters of the pooling kernels, without batch and precision."""
        channels, height, width = image(shape)
        kernel, pad = pair(self.kernel), pair(self.pad)
        stride = kernel if self.stride is None else pair(self.stride)
        if any(2 * p > k for p, k in zip(pad, kernel, strict=True)):
            raise LayerError(f"is more than half of the window of {kernel[0]}×{kernel[1]}", "pad less", "pad")
        windows = {"kernel": kernel, "stride": stride, "pad": pad}
        sizes = {f"{name}_{axis}": n for name, w in windows.items() for axis, n in zip("hw", w, strict=True)}
        common: dict[str, Value] = {"channels": channels, "height": height, "width": width}
        return {**common, **sizes, "kind": self.mode, "rounding": self.rounding}

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return (shapes[0][0], *pool_output(self.geometry(shapes[0])))

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=self.mode == "max", output=self.mode == "max")

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("pool_forward", **self.geometry(shapes[0]))]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [step.call("pool_backward", **self.geometry(shapes[0]))] if data else []


class GlobalPool(Kind, frozen=True):
    """Maximum or average over each whole channel: an image C×H×W becomes C×1×1."""

    mode: Literal["max", "average"] = "average"

    def _window(self, shape: Shape) -> Pool:
        _, height, width = image(shape)
        return Pool(mode=self.mode, kernel=[height, width], stride=1)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return (image(shapes[0])[0], 1, 1)

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=self.mode == "max", output=self.mode == "max")

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return self._window(shapes[0]).forward(shapes, step)

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return self._window(shapes[0]).backward(shapes, step, data)
