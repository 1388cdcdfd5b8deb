"""The operations every engine offers, with their signatures: one table for NumPy and CuPy.

`engine.op(name)` gives a callable with the parameters of the method of that name below. Arrays are C-contiguous and
of one precision (what batch normalisation keeps per channel may be single beside half). Outputs come after inputs,
exist before the call and are overwritten; nothing of the size of an operand is allocated inside. Where an operation
needs a workspace, a plan made once per shape holds it; two threads never share one: make one per layer and thread.
"""

from __future__ import annotations

from typing import Protocol

from sprintprof.bench.engines.base import Array
from sprintprof.bench.engines.shapes import ConvShape, PoolShape, Window

RandomState = object
"""State of a generator of random numbers, made by `random_state`."""


class Plan(Protocol):
    """What an operation prepares for one shape. `use` gives it a workspace, else its first call makes its own."""

    @property
    def workspace_bytes(self) -> int:
        """Bytes of workspace it wants; 0 where it needs none."""
        ...

    def use(self, workspace: Array) -> None:
        """Work in this array of at least `workspace_bytes` bytes; plans that never run at once may share one."""
        ...


class Operations(Protocol):
    """Names and signatures. A test holds every engine to them."""

    def gemm(self, a: Array, b: Array, out: Array, transpose: str = "nn") -> None:
        """out (m, n) = A·B, A = a (m, k) or aᵀ (k, m) by the first letter of `transpose`, B = b (k, n) or bᵀ likewise.

        With a leading axis each, it is a strided batch of products.
        """
        ...

    def im2col(self, x: Array, col: Array, window: Window) -> None:
        """col (N, C·R·S, OH·OW) = the windows of x (N, C, H, W), zero where they lie in the padding."""
        ...

    def col2im(self, col: Array, x: Array, window: Window) -> None:
        """x (N, C, H, W) = sum of the columns (N, C·R·S, OH·OW) at the places im2col took them from."""
        ...

    def conv_plan(self, shape: ConvShape, precision: str, direction: str) -> Plan:
        """Plan of one direction: "forward", "backward_data" or "backward_filter"."""
        ...

    def conv_forward(self, x: Array, w: Array, y: Array, plan: Plan) -> None:
        """y = x ∗ w (cross-correlation, as deep learning means it), shapes as ConvShape says."""
        ...

    def conv_backward_data(self, gy: Array, w: Array, gx: Array, plan: Plan) -> None:
        """gx = gradient of the input from that of the output."""
        ...

    def conv_backward_filter(self, x: Array, gy: Array, gw: Array, plan: Plan) -> None:
        """gw = gradient of the filters, summed over the batch."""
        ...

    def linear_forward(self, x: Array, w: Array, y: Array) -> None:
        """y (N, M) = x (N, K) · wᵀ, w (M, K). The bias is an operation of its own."""
        ...

    def linear_backward_data(self, gy: Array, w: Array, gx: Array) -> None:
        """gx (N, K) = gy (N, M) · w (M, K)."""
        ...

    def linear_backward_filter(self, x: Array, gy: Array, gw: Array) -> None:
        """gw (M, K) = gyᵀ · x, summed over the batch."""
        ...

    def pool_plan(self, shape: PoolShape, precision: str) -> Plan:
        """Plan of a pooling, both directions."""
        ...

    def pool_forward(self, x: Array, y: Array, plan: Plan) -> None:
        """y = maximum or average of each window of x."""
        ...

    def pool_backward(self, x: Array, y: Array, gy: Array, gx: Array, plan: Plan) -> None:
        """gx = gradient of the input; a maximum sends it to the first place that holds it."""
        ...

    def relu_forward(self, x: Array, y: Array) -> None:
        """y = max(x, 0); y may be x."""
        ...

    def relu_backward(self, y: Array, gy: Array, gx: Array) -> None:
        """gx = gy where y > 0, else 0; y is the output of forward (or its input: the sign is the same)."""
        ...

    def bias_forward(self, x: Array, bias: Array, y: Array) -> None:
        """y (N, C, S) = x + bias (C,) per channel; y may be x."""
        ...

    def bias_backward(self, gy: Array, gbias: Array) -> None:
        """gbias (C,) = sum of gy (N, C, S) over N and S."""
        ...

    def add(self, a: Array, b: Array, y: Array) -> None:
        """y = a + b (a residual connection); y may be a or b."""
        ...

    def random_state(self, seed: int) -> RandomState:
        """A generator for dropout."""
        ...

    def dropout_forward(self, x: Array, mask: Array, y: Array, keep: float, state: RandomState) -> None:
        """mask = 1/keep with probability `keep`, else 0, drawn anew; y = x·mask."""
        ...

    def dropout_backward(self, gy: Array, mask: Array, gx: Array) -> None:
        """gx = gy·mask, the mask of forward."""
        ...

    def softmax_xent(self, logits: Array, labels: Array, loss: Array, grad: Array) -> None:
        """loss (N,) = cross entropy of softmax(logits (N, K)) with int64 labels (N,); grad (N, K) of their mean."""
        ...

    def batchnorm_forward(
        self, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, inv_std: Array, epsilon: float = 1e-5
    ) -> None:
        """y = gamma·(x − mean)·inv_std + beta per channel of x (N, C, S); mean and inv_std (C,) of the batch are kept.

        inv_std = 1/√(variance + epsilon), variance with divisor N·S.
        """
        ...

    def batchnorm_backward(
        self, x: Array, gy: Array, gamma: Array, mean: Array, inv_std: Array, gx: Array, ggamma: Array, gbeta: Array
    ) -> None:
        """Gradients of input, gamma and beta, through the batch's mean and variance."""
        ...

    def softmax_forward(self, x: Array, y: Array) -> None:
        """y (N, F) = softmax of each row of x."""
        ...

    def softmax_backward(self, y: Array, gy: Array, gx: Array) -> None:
        """gx = y·(gy − sum of y·gy) by rows; y is the output of forward."""
        ...

    def layernorm_forward(
        self, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, inv_std: Array, epsilon: float = 1e-5
    ) -> None:
        """y = gamma·(x − mean)·inv_std + beta by rows of x (N, F); mean and inv_std (N,) are kept, gamma and beta (F,).

        inv_std = 1/√(variance + epsilon), variance with divisor F.
        """
        ...

    def layernorm_backward(
        self, x: Array, gy: Array, gamma: Array, mean: Array, inv_std: Array, gx: Array, ggamma: Array, gbeta: Array
    ) -> None:
        """Gradients of input, gamma and beta, through each row's mean and variance."""
        ...

    def activation_forward(self, x: Array, y: Array, function: str) -> None:
        """y = f(x): "gelu" (by the error function), "silu", "sigmoid", "tanh"."""
        ...

    def activation_backward(self, x: Array, gy: Array, gx: Array, function: str) -> None:
        """gx = gy·f′(x); x is the input of forward."""
        ...

    def scale_forward(self, x: Array, factors: Array, y: Array) -> None:
        """y (N, C, S) = x · factors (N, C)."""
        ...

    def scale_backward(self, x: Array, factors: Array, gy: Array, gx: Array, gfactors: Array) -> None:
        """gx = gy · factors; gfactors (N, C) = sum of gy·x over S."""
        ...

    def lrn_forward(
        self, x: Array, y: Array, sums: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        """sums = k + alpha/size·(sum of squares of `size` channels around); y = x·sums^−beta. All (N, C, S).

        The window of channel c is c − (size − 1)//2 to c + size//2. Krizhevsky et al. 2012, with Caffe's alpha/size.
        """
        ...

    def lrn_backward(
        self, x: Array, y: Array, gy: Array, sums: Array, gx: Array, size: int, alpha: float = 1e-4, beta: float = 0.75
    ) -> None:
        """gx = gy·sums^−beta − 2·alpha·beta/size·x·(sum of gy·y/sums over the channels whose window holds this one)."""
        ...

    def momentum_update(
        self, w: Array, g: Array, v: Array, rate: float, momentum: float = 0.9, decay: float = 0.0
    ) -> None:
        """v = momentum·v + g + decay·w; w = w − rate·v, in place. All (P,)."""
        ...

    def lars_update(
        self,
        w: Array,
        g: Array,
        v: Array,
        rate: float,
        momentum: float = 0.9,
        decay: float = 0.0,
        trust: float = 0.001,
        epsilon: float = 1e-9,
    ) -> None:
        """As momentum, with g + decay·w scaled by trust·‖w‖ / (‖g‖ + decay·‖w‖ + epsilon); by 1 where a norm is 0.

        You, Gitman and Ginsburg 2017 (arXiv 1708.03888); one call is one layer.
        """
        ...

    def gradient_add(self, g: Array, total: Array) -> None:
        """total = total + g, in place. Both (P,)."""
        ...

    def weight_copy(self, source: Array, target: Array) -> None:
        """target = source, both (P,)."""
        ...

    def memory_copy(self, source: Array, target: Array) -> None:
        """target = source."""
        ...

    def triad(self, b: Array, c: Array, a: Array, scalar: float) -> None:
        """a = b + scalar·c (McCalpin's STREAM)."""
        ...


NAMES: tuple[str, ...] = tuple(name for name in vars(Operations) if not name.startswith("_"))
"""Every operation's name, in the order of the table."""
