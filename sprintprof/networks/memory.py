"""Memory that training needs on one device, as a function of the sub-batch: which b fits a GPU."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from sprintprof.networks.kernels import ELEMENT_BYTES
from sprintprof.networks.network import INPUT, Network
from sprintprof.records import InputError

Optimizer = Literal["sgd", "momentum", "lars", "adam"]
STATES: dict[str, int] = {"sgd": 0, "momentum": 1, "lars": 1, "adam": 2}
"""Numbers an optimizer keeps per weight."""
WORKSPACE_CAP_BYTES = 256 << 20
"""Default limit of the workspace: libraries take an algorithm that fits the cap they are given."""


class MemoryUse(msgspec.Struct, frozen=True):
    """Bytes on one device. Weights, gradients and optimizer do not depend on b; the others grow with it.

    `activations_bytes` is what backward reads again; `transient_bytes` what lives at once beside it where most does
    (a layer's output and inputs, as values or as gradients); `workspace_bytes` one convolution's columns, capped.
    """

    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    transient_bytes: int
    workspace_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it. The runtime's own context, allocator rounding and caches come on top."""
        return sum(msgspec.structs.astuple(self))


def kept_elements(network: Network) -> int:
    """Elements per sample that stay from forward to backward, each tensor once.

    An activation may overwrite its input where nothing else reads that again (in-place ReLU), and flattening makes
    no second tensor: what counts is which tensors some layer's backward pass reads.
    """
    root = {INPUT: INPUT}
    kept: set[int] = set()
    extra = 0
    for index, layer in enumerate(network.layers):
        root[index] = root[layer.inputs[0]] if layer.kind == "flatten" else index
        needs = layer.options.kept(layer.input_shapes)
        kept |= {root[i] for i in layer.inputs if needs.inputs}
        kept |= {root[index]} if needs.output else set()
        extra += needs.extra
    shapes = {INPUT: network.input_shape, **{i: layer.output_shape for i, layer in enumerate(network.layers)}}
    return extra + sum(math.prod(shapes[i]) for i in kept)


def memory_use(
    network: Network,
    batch: int,
    precision: str = "fp32",
    optimizer: Optimizer = "momentum",
    workspace_cap_bytes: int = WORKSPACE_CAP_BYTES,
) -> MemoryUse:
    """Memory of training on sub-batches of `batch` samples. With fp16 or bf16 the optimizer also keeps fp32 weights.

    Raises InputError for a batch under 1, an unknown precision or optimizer.
    """
    if batch < 1:
        raise InputError("sub-batch", f"{batch} samples cannot be trained on", "choose 1 or more")
    if precision not in ELEMENT_BYTES:
        raise InputError("precision", f"there is no '{precision}'", f"known are {', '.join(ELEMENT_BYTES)}")
    if optimizer not in STATES:
        raise InputError("optimizer", f"there is no '{optimizer}'", f"known are {', '.join(STATES)}")
    element = ELEMENT_BYTES[precision]
    state = max(element, 4) * (STATES[optimizer] + (element < 4))
    transient = max(math.prod(layer.output_shape) + sum(map(math.prod, layer.input_shapes)) for layer in network.layers)
    columns = max(layer.options.workspace(layer.input_shapes) for layer in network.layers)
    return MemoryUse(
        weights_bytes=network.parameters * element,
        gradients_bytes=network.parameters * element,
        optimizer_bytes=network.parameters * state,
        activations_bytes=kept_elements(network) * element * batch,
        transient_bytes=transient * element * batch,
        workspace_bytes=min(columns * element * batch, workspace_cap_bytes),
    )


def largest_batch(
    network: Network,
    memory_bytes: int,
    precision: str = "fp32",
    optimizer: Optimizer = "momentum",
    workspace_cap_bytes: int = WORKSPACE_CAP_BYTES,
) -> int:
    """The largest sub-batch whose total fits `memory_bytes`; 0 where not even one sample does."""

    def fits(batch: int) -> bool:
        return memory_use(network, batch, precision, optimizer, workspace_cap_bytes).total_bytes <= memory_bytes

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
