"""Memory that training needs on one GPU: which sub-batch fits."""

from __future__ import annotations

import math

from sprintprof.networks import Network
from sprintprof.networks.kernels import ELEMENT_BYTES

WORKSPACE_BYTES = 256 << 20
"""Room for the workspace of convolution algorithms and the runtime."""


def training_bytes(
    network: Network, sub_batch: int, precision: str = "fp32", workspace_bytes: int = WORKSPACE_BYTES
) -> int:
    """Bytes for weights, gradients, momentum (fp32), all activations of a sub-batch and two gradients of the largest.

    Every layer's output is kept for backward: frameworks that work in place or recompute need less.
    """
    each = ELEMENT_BYTES[precision]
    outputs = [math.prod(layer.output_shape) for layer in network.layers]
    weights = network.parameters * (2 * each + ELEMENT_BYTES["fp32"])
    per_sample = (math.prod(network.input_shape) + sum(outputs) + 2 * max(outputs)) * each
    return weights + sub_batch * per_sample + workspace_bytes
