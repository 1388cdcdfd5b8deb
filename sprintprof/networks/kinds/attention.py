"""Kinds of vision transformers: patches as tokens, multi-head attention, the class token."""

from __future__ import annotations

import math

from sprintprof.networks.kernels import KernelCall
from sprintprof.networks.kinds.base import Count, Kept, Kind, LayerError, Shape, Step, image, show
from sprintprof.networks.kinds.convolution import Conv
from sprintprof.networks.kinds.dense import Linear


def tokens(shape: Shape) -> tuple[int, int]:
    """The shape as (tokens, features). Raises LayerError where it is not one of tokens."""
    if len(shape) != 2:
        raise LayerError(f"wants tokens (T×D), its input is {show(shape)}", "make tokens of the image by 'patches'")
    return shape[0], shape[1]


class Patches(Kind, frozen=True, kw_only=True):
    """Square patches of the image, each multiplied to one token; with a class token in front and trained positions.

    Dosovitskiy et al. 2021. Costs a convolution whose stride is its kernel, the copy to tokens and one addition.
    """

    size: Count
    features: Count
    class_token: bool = True
    positions: bool = True

    def _conv(self) -> Conv:
        return Conv(filters=self.features, kernel=self.size, stride=self.size)

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        _, height, width = image(shapes[0])
        if height % self.size or width % self.size:
            raise LayerError(f"is {self.size}, which does not divide {height}×{width}", "choose a divisor", "size")
        return (height // self.size) * (width // self.size) + self.class_token, self.features

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        found = self._conv().tensors(shapes)
        if self.class_token:
            found["class_token"] = self.features
        return {**found, "positions": math.prod(self.output(shapes))} if self.positions else found

    def multiply_adds(self, shapes: tuple[Shape, ...]) -> int:
        return self._conv().multiply_adds(shapes)

    def _moved(self, shapes: tuple[Shape, ...], step: Step, positions: str) -> list[KernelCall]:
        elements = math.prod(self.output(shapes))
        calls = [step.call("copy", features=elements)]
        return [*calls, step.call(positions, channels=elements, spatial=1)] if self.positions else calls

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return self._conv().forward(shapes, step) + self._moved(shapes, step, "bias_forward")

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return self._moved(shapes, step, "bias_backward")[::-1] + self._conv().backward(shapes, step, data)


class Attention(Kind, frozen=True, kw_only=True):
    """Multi-head self-attention: query, key and value in one product, scores, softmax, weighted sum, output product.

    Vaswani et al. 2017. The scaling of the scores is taken into the products; moving heads to their places costs
    nothing here (batched products with strides do it).
    """

    heads: Count
    bias: bool = True

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        _, features = tokens(shapes[0])
        if features % self.heads:
            raise LayerError(
                f"are {self.heads}, which does not divide {features} features", "choose a divisor", "heads"
            )
        return shapes[0]

    def _products(self, shapes: tuple[Shape, ...]) -> tuple[Linear, Linear]:
        _, features = tokens(shapes[0])
        return Linear(features=3 * features, bias=self.bias), Linear(features=features, bias=self.bias)

    def tensors(self, shapes: tuple[Shape, ...]) -> dict[str, int]:
        first, last = (product.tensors(shapes) for product in self._products(shapes))
        return {f"in_{k}": v for k, v in first.items()} | {f"out_{k}": v for k, v in last.items()}

    def multiply_adds(self, shapes: tuple[Shape, ...]) -> int:
        count, features = tokens(shapes[0])
        return sum(p.multiply_adds(shapes) for p in self._products(shapes)) + 2 * count * count * features

    def _batched(self, shape: Shape, step: Step, m_n_k: str, transpose: str) -> KernelCall:
        """One product of each head; t stands for the tokens, d for the features of a head."""
        sizes = {"t": shape[0], "d": shape[1] // self.heads}
        m, n, k = (sizes[letter] for letter in m_n_k)
        return step.call("batched_gemm", batch=step.batch * self.heads, m=m, n=n, k=k, transpose=transpose)

    def _softmax(self, kernel: str, shape: Shape, step: Step) -> KernelCall:
        return step.call(kernel, batch=step.batch * self.heads * shape[0], features=shape[0])

    def kept(self, shapes: tuple[Shape, ...]) -> Kept:
        return Kept(inputs=True, extra=4 * math.prod(shapes[0]) + self.heads * shapes[0][0] ** 2)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        first, last = self._products(shapes)
        inner = [
            self._batched(shapes[0], step, "ttd", "nt"),
            self._softmax("softmax_forward", shapes[0], step),
            self._batched(shapes[0], step, "tdt", "nn"),
        ]
        return first.forward(shapes, step) + inner + last.forward(shapes, step)

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        first, last = self._products(shapes)
        inner = [
            self._batched(shapes[0], step, "ttd", "nt"),  # of the weights
            self._batched(shapes[0], step, "tdt", "tn"),  # of the values
            self._softmax("softmax_backward", shapes[0], step),
            self._batched(shapes[0], step, "tdt", "nn"),  # of the queries
            self._batched(shapes[0], step, "tdt", "tn"),  # of the keys
        ]
        return last.backward(shapes, step, True) + inner + first.backward(shapes, step, data)


class ClassToken(Kind, frozen=True):
    """The first token as a vector. Its gradient is a copy into zeros."""

    def output(self, shapes: tuple[Shape, ...]) -> Shape:
        return (tokens(shapes[0])[1],)

    def forward(self, shapes: tuple[Shape, ...], step: Step) -> list[KernelCall]:
        return [step.call("copy", features=shapes[0][1])]

    def backward(self, shapes: tuple[Shape, ...], step: Step, data: bool) -> list[KernelCall]:
        return [step.call("copy", features=math.prod(shapes[0]))] if data else []
