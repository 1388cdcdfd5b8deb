"""Shapes of convolutions and poolings as engines see them. Pairs are (vertical, horizontal)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sprintprof.networks.kernels import window_output
from sprintprof.records import InputError, Value

Pair = tuple[int, int]


def _pair(p: Mapping[str, Value], name: str) -> Pair:
    return int(p[f"{name}_h"]), int(p[f"{name}_w"])


class Window(msgspec.Struct, frozen=True):
    """A sliding window: kernel, stride, zero padding on each side, dilation (the same along both axes)."""

    kernel: Pair
    stride: Pair = (1, 1)
    pad: Pair = (0, 0)
    dilation: int = 1

    def __post_init__(self) -> None:
        sizes = {"kernel": self.kernel, "stride": self.stride, "dilation": (self.dilation, self.dilation)}
        for name, pair in sizes.items():
            if min(pair) < 1:
                raise InputError("window", f"{name} {min(pair)} is not positive", "sizes start at 1")
        if min(self.pad) < 0:
            raise InputError("window", f"padding {min(self.pad)} is negative", "paddings start at 0")

    @classmethod
    def of(cls, p: Mapping[str, Value]) -> Window:
        """The window of a kernel's parameters (`kernel_h`, `stride_h`, `pad_h` … and `dilation` where it has one)."""
        return cls(_pair(p, "kernel"), _pair(p, "stride"), _pair(p, "pad"), int(p.get("dilation", 1)))

    def output(self, image: Pair, rounding: str = "floor") -> Pair:
        """(height, width) of the output for an image of (height, width). Raises InputError where it does not fit."""
        if rounding not in ("floor", "ceil"):
            raise InputError("rounding", f"'{rounding}' is unknown", "floor or ceil")
        height, width = (
            window_output(image[a], self.kernel[a], self.stride[a], self.pad[a], self.dilation, rounding)
            for a in (0, 1)
        )
        return height, width


def _positive(where: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise InputError(where, f"{name} {size} is not positive", "sizes start at 1")


class ConvShape(msgspec.Struct, frozen=True):
    """A convolution: x (batch, channels, image), w (filters, channels/groups, kernel), y (batch, filters, output).

    With layout "NHWC" channels come last in all three: x (N, H, W, C), w (K, R, S, C/groups), y (N, OH, OW, K).
    """

    batch: int
    channels: int
    image: Pair
    filters: int
    window: Window
    groups: int = 1
    layout: str = "NCHW"

    def __post_init__(self) -> None:
        _positive("convolution", batch=self.batch, channels=self.channels, filters=self.filters, groups=self.groups)
        if self.channels % self.groups or self.filters % self.groups:
            what = f"{self.groups} groups do not divide {self.channels} channels and {self.filters} filters"
            raise InputError("convolution", what, "choose groups that divide both")
        if self.layout not in ("NCHW", "NHWC"):
            raise InputError("convolution", f"layout '{self.layout}' is unknown", "NCHW or NHWC")
        self.window.output(self.image)

    @classmethod
    def of(cls, p: Mapping[str, Value]) -> ConvShape:
        """The shape of a convolution kernel's parameters (see `sprintprof.networks.kernels`)."""
        image = int(p["height"]), int(p["width"])
        sizes = int(p["batch"]), int(p["channels"]), image, int(p["filters"])
        return cls(*sizes, Window.of(p), int(p["groups"]), str(p["layout"]))

    @property
    def output(self) -> Pair:
        """(height, width) of the output."""
        return self.window.output(self.image)

    def _ordered(self, first: int, channels: int, plane: Pair) -> tuple[int, int, int, int]:
        return (first, channels, *plane) if self.layout == "NCHW" else (first, *plane, channels)

    @property
    def x_shape(self) -> tuple[int, int, int, int]:
        """Shape of the input in its layout."""
        return self._ordered(self.batch, self.channels, self.image)

    @property
    def w_shape(self) -> tuple[int, int, int, int]:
        """Shape of the filters in their layout."""
        return self._ordered(self.filters, self.channels // self.groups, self.window.kernel)

    @property
    def y_shape(self) -> tuple[int, int, int, int]:
        """Shape of the output in its layout."""
        return self._ordered(self.batch, self.filters, self.output)

    @property
    def pointwise(self) -> bool:
        """True for 1×1, stride 1, no padding: the input is its own column matrix."""
        w = self.window
        return w.kernel == (1, 1) and w.stride == (1, 1) and w.pad == (0, 0)


class PoolShape(msgspec.Struct, frozen=True):
    """A pooling over x (batch, channels, *image) to y (batch, channels, *output), NCHW.

    `kind` "max" ignores the padding; "average" divides by the window's area inside the padded image (as PyTorch's
    default does). `rounding` "ceil" lets the last window hang over.
    """

    batch: int
    channels: int
    image: Pair
    window: Window
    kind: str = "max"
    rounding: str = "floor"

    def __post_init__(self) -> None:
        _positive("pooling", batch=self.batch, channels=self.channels)
        if self.kind not in ("max", "average"):
            raise InputError("pooling", f"kind '{self.kind}' is unknown", "max or average")
        if any(2 * p > k for p, k in zip(self.window.pad, self.window.kernel, strict=True)):
            what = f"padding {self.window.pad} is over half the window {self.window.kernel}"
            raise InputError("pooling", what, "such windows would see nothing but padding")
        self.window.output(self.image, self.rounding)

    @classmethod
    def of(cls, p: Mapping[str, Value]) -> PoolShape:
        """The shape of a pooling kernel's parameters."""
        image = int(p["height"]), int(p["width"])
        return cls(int(p["batch"]), int(p["channels"]), image, Window.of(p), str(p["kind"]), str(p["rounding"]))

    @property
    def output(self) -> Pair:
        """(height, width) of the output."""
        return self.window.output(self.image, self.rounding)

    @property
    def x_shape(self) -> tuple[int, int, int, int]:
        """Shape of the input."""
        return self.batch, self.channels, *self.image

    @property
    def y_shape(self) -> tuple[int, int, int, int]:
        """Shape of the output."""
        return self.batch, self.channels, *self.output
