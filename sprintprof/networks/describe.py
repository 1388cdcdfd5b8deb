"""A network as plain data: what `sprintprof networks show` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from sprintprof.networks.memory import Optimizer, memory_use
from sprintprof.networks.network import INPUT, Network


def summary(network: Network) -> dict[str, Any]:
    """Name, title, source, shapes, `parameters` and `multiply_adds` (one sample, forward); JSON-ready."""
    return {
        "name": network.name,
        "title": network.title,
        "source": network.source,
        "input_shape": list(network.input_shape),
        "output_shape": list(network.output_shape),
        "loss": network.loss,
        "layer_count": len(network.layers),
        "parameters": network.parameters,
        "multiply_adds": network.multiply_adds,
    }


def describe(
    network: Network, batch: int | None = None, precision: str = "fp32", optimizer: Optimizer = "momentum"
) -> dict[str, Any]:
    """`summary` and `layers`: each with name, kind, inputs (names), output_shape, parameters, multiply_adds.

    With a sub-batch also `step`: FLOP, least bytes and kernel calls of one training step, the first two by layer and
    direction too; and `memory`: the bytes of MemoryUse and `total_bytes`. Raises InputError for a batch under 1 or an
    unknown precision or optimizer.
    """
    layers: list[dict[str, Any]] = [
        {
            "name": layer.name,
            "kind": layer.kind,
            "inputs": ["input" if i == INPUT else network.layers[i].name for i in layer.inputs],
            "output_shape": list(layer.output_shape),
            "parameters": layer.parameters,
            "multiply_adds": layer.multiply_adds,
        }
        for layer in network.layers
    ]
    result = {**summary(network), "layers": layers}
    if batch is None:
        return result
    calls = network.kernel_calls(batch, precision)
    for item in calls:
        sums = layers[item.index].setdefault("step", {}).setdefault(item.direction, {"flop": 0.0, "bytes": 0.0})
        sums["flop"] += item.call.flop
        sums["bytes"] += item.call.bytes
    flop, traffic = sum(c.call.flop for c in calls), sum(c.call.bytes for c in calls)
    step = {"batch": batch, "precision": precision, "flop": flop, "bytes": traffic, "kernel_calls": len(calls)}
    use = memory_use(network, batch, precision, optimizer)
    memory = {**msgspec.structs.asdict(use), "total_bytes": use.total_bytes}
    return {**result, "step": step, "memory": memory}
