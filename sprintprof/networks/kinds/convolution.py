"""Convolutions: grouped, depthwise, dilated, transposed."""

from __future__ import annotations

from sprintprof.networks.kernels import KernelCall, conv_output
from sprintprof.networks.kinds.base import (
    Count,
    Kept,
    Kind,
    LayerError,
    Padding,
    Shape,
    Step,
    Window,
    image,
    pair,
    show,
)
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

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def workspace(self, shapes: tuple[Shape, ...]) -> int:
        return columns(self.geometry(shapes[0]))

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        calls = [step.call("conv_forward", **self.geometry(shapes[0]))]
        return calls + bias_calls("bias_forward", self.bias, self.output(shapes), step)

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        geometry = self.geometry(shapes[0])
        calls = bias_calls("bias_backward", self.bias, self.output(shapes), step)
        calls.append(step.call("conv_backward_filter", **geometry))
        return [*calls, step.call("conv_backward_data", **geometry)] if data else calls


class ConvTranspose(Kind, frozen=True, kw_only=True):
    """Transposed convolution: forward is the backward pass (data) of a convolution from its output to its input.

    An axis of n becomes (n − 1)·stride − 2·pad + kernel + output_pad long.
    """

    filters: Count
    kernel: Window
    stride: Window = 1
    pad: Padding = 0
    output_pad: Padding = 0
    groups: Count = 1
    bias: bool = True

    def _conv(self, shape: Shape) -> tuple[Conv, Shape]:
        """The convolution it transposes and the input shape of that, which is the output shape of this."""
        channels, *image_ = image(shape)
        windows = zip(image_, *(pair(w) for w in (self.stride, self.pad, self.kernel, self.output_pad)), strict=True)
        sizes = [(n - 1) * stride - 2 * pad + kernel + extra for n, stride, pad, kernel, extra in windows]
        if min(sizes) < 1:
            raise LayerError(f"leaves nothing of an image of {show(shape)}", "pad less", "pad")
        if any(extra >= stride for extra, stride in zip(pair(self.output_pad), pair(self.stride), strict=True)):
            raise LayerError("is not smaller than the stride", "choose less", "output_pad")
        if self.filters % self.groups or channels % self.groups:
            what = f"is {self.groups}, which does not divide {channels} channels and {self.filters} filters"
            raise LayerError(what, "choose a divisor", "groups")
        conv = Conv(
            filters=channels, kernel=self.kernel, stride=self.stride, pad=self.pad, groups=self.groups, bias=False
        )
        return conv, (self.filters, sizes[0], sizes[1])

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return self._conv(shapes[0])[1]

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        conv, output = self._conv(shapes[0])
        found = conv.tensors((output,))
        return {**found, "bias": self.filters} if self.bias else found

    def multiply_adds(self, shapes: tuple[Shape, ...]) -> int:
        conv, output = self._conv(shapes[0])
        return conv.multiply_adds((output,))

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def workspace(self, shapes: tuple[Shape, ...]) -> int:
        conv, output = self._conv(shapes[0])
        return conv.workspace((output,))

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        conv, output = self._conv(shapes[0])
        calls = [step.call("conv_backward_data", **conv.geometry(output))]
        return calls + bias_calls("bias_forward", self.bias, output, step)

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        conv, output = self._conv(shapes[0])
        calls = bias_calls("bias_backward", self.bias, output, step)
        calls.append(step.call("conv_backward_filter", **conv.geometry(output)))
        return [*calls, step.call("conv_forward", **conv.geometry(output))] if data else calls


def bias_calls(kernel: str, wanted: bool, shape: Shape, step: Step) -> list[KernelCall]:
    """The bias kernel over an image of this shape, or nothing."""
    if not wanted:
        return []
    channels, height, width = image(shape)
    return [step.call(kernel, channels=channels, spatial=height * width)]


def columns(geometry: dict[str, Value]) -> int:
    """Elements of one sample's im2col matrix; 0 for a pointwise convolution, whose input is that matrix."""
    if all(
        geometry[f"{name}_{axis}"] == least
        for name, least in (("kernel", 1), ("stride", 1), ("pad", 0))
        for axis in "hw"
    ):
        return 0
    height, width = conv_output(geometry)
    return int(geometry["channels"]) * int(geometry["kernel_h"]) * int(geometry["kernel_w"]) * height * width
