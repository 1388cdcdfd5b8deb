"""Convolutions: grouped, depthwise, dilated."""

from __future__ import annotations

from sprintprof.networks.kernels import KernelCall, conv_output
from sprintprof.networks.kinds.base import Count, Kind, LayerError, Padding, Shape, Step, Window, image, pair
from sprintprof.records import Value


class Conv(Kind, frozen=True, kw_only=True):
    """Convolution. `depthwise` gives each channel its own filters: groups = channels; filters default to channels."""

    filters: Count | None = None
    kernel: Window
    stride: Window = 1
    pad: Padding = 0
    dilation: Count = 1
    groups: Count = 1
    depthwise: bool = False
    bias: bool = True

    def geometry(self, shape: Shape) -> dict[str, Value]:
        """Parameters of the convolution kernels, without batch, precision and layout."""
        channels, height, width = image(shape)
        groups = channels if self.depthwise else self.groups
        filters = self.filters or (channels if self.depthwise else None)
        if filters is None:
            raise LayerError("is missing", "add the number of output channels", "filters")
        if self.depthwise and self.groups != 1:
            raise LayerError("does not go with depthwise", "leave one of them out", "groups")
        for key, count in (("input channels", channels), ("filters", filters)):
            if count % groups:
                what = f"is {groups}, which does not divide the {count} {key}"
                raise LayerError(what, "choose a divisor", "groups" if not self.depthwise else "filters")
        windows = {"kernel": self.kernel, "stride": self.stride, "pad": self.pad}
        sizes = {f"{name}_{axis}": n for name, w in windows.items() for axis, n in zip("hw", pair(w), strict=True)}
        common = {"channels": channels, "height": height, "width": width, "filters": filters}
        return {**common, **sizes, "dilation": self.dilation, "groups": groups}

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        g = self.geometry(shapes[0])
        return (int(g["filters"]), *conv_output(g))

    def _weights(self, shape: Shape) -> int:
        g = {k: int(v) for k, v in self.geometry(shape).items()}
        return g["filters"] * (g["channels"] // g["groups"]) * g["kernel_h"] * g["kernel_w"]

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        found = {"weight": self._weights(shapes[0])}
        return {**found, "bias": self.output(shapes)[0]} if self.bias else found

    def multiply_adds(self, shapes: tuple[Shape, ...]) -> int:
        _, height, width = self.output(shapes)
        return self._weights(shapes[0]) * height * width

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        calls = [step.call("conv_forward", **self.geometry(shapes[0]))]
        return calls + bias_calls("bias_forward", self.bias, self.output(shapes), step)

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        geometry = self.geometry(shapes[0])
        calls = bias_calls("bias_backward", self.bias, self.output(shapes), step)
        calls.append(step.call("conv_backward_filter", **geometry))
        return [*calls, step.call("conv_backward_data", **geometry)] if data else calls


def bias_calls(kernel: str, wanted: bool, shape: Shape, step: Step) -> list[KernelCall]:
    """The bias kernel over an image of this shape, or nothing."""
    if not wanted:
        return []
    channels, height, width = image(shape)
    return [step.call(kernel, channels=channels, spatial=height * width)]
