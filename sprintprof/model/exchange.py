"""Cycles of the other strategies from a profile: synchronous all-reduce, and a parameter server."""

from __future__ import annotations

from sprintprof.model.cycle import (
    Collector,
    Cycles,
    LayerTime,
    Term,
    Workload,
    allreduce_time,
    compute_terms,
    cycles,
    weights_time,
)
from sprintprof.model.messages import nearest_time
from sprintprof.model.overlap import exchange, fuse
from sprintprof.networks import Network
from sprintprof.networks.kernels import ELEMENT_BYTES
from sprintprof.profile import Estimate, Estimator

FUSION_BYTES = 16 << 20
"""Tensors are exchanged together up to this size where nothing else is said."""


def cycles_of(
    strategy: str, estimator: Estimator, work: Workload, nodes: int, gpus_per_node: int, fusion_bytes: float
) -> Cycles:
    """The GPU and the update cycle as the named strategy has them, term by term."""
    if strategy == "sprint":
        return cycles(estimator, work, nodes, gpus_per_node)
    if strategy == "bsp":
        return _synchronous(estimator, work, nodes, gpus_per_node, fusion_bytes)
    return _server(estimator, work)


def _synchronous(estimator: Estimator, work: Workload, nodes: int, gpus_per_node: int, fusion_bytes: float) -> Cycles:
    """t_node: gradients of a node's GPUs added up; t_exposed: all-reduce that backward does not hide; t_optimizer.

    Skew is not a term here: the strategy has it from the order statistics of the GPU cycle.
    """
    ask = Collector()
    load, whole, each = compute_terms(estimator, work, ask)
    update: list[Term] = [Term("t_node", 0.0, 0.0, 0.0, 0.0)]
    if gpus_per_node > 1:
        update = ask.ask("t_node", lambda: weights_time(estimator, work, "gradient_add"), gpus_per_node - 1)
    if nodes > 1:
        update += _exposed(estimator, work, nodes, fusion_bytes, each, ask)
    else:
        update.append(Term("t_exposed", 0.0, 0.0, 0.0, 0.0))
    update += ask.ask("t_optimizer", lambda: weights_time(estimator, work, f"{work.optimizer}_update"))
    return Cycles(tuple(load + whole), tuple(update), each, tuple(dict.fromkeys(ask.warnings)))


def _exposed(
    estimator: Estimator, work: Workload, nodes: int, fusion_bytes: float, each: tuple[LayerTime, ...], ask: Collector
) -> list[Term]:
    precision = work.gradient_precision
    found = ask.ask("t_allreduce", lambda: allreduce_time(estimator, work.gradient_bytes, nodes, precision))
    if not found:
        return []
    at_once = found[0]
    backward_s = {layer.layer: layer.backward_s for layer in each}
    order = [layer.name for layer in reversed(work.network.layers)]
    sizes = layer_bytes(work.network, precision)
    took = [backward_s.get(name, 0.0) for name in order]
    buckets = fuse(took, [sizes[name] for name in order], fusion_bytes)

    def cost_s(size_bytes: float) -> float:
        return allreduce_time(estimator, size_bytes, nodes, precision).time_s

    done = exchange(buckets, cost_s, sum(took))
    share = done.exposed_s / at_once.time_s
    source = f"{at_once.source}, {done.hidden_fraction:.0%} of {len(buckets)} all-reduces hidden"
    return [
        Term("t_exposed", done.exposed_s, at_once.std_s * share, at_once.low_s * share, at_once.high_s * share, source)
    ]


def layer_bytes(network: Network, precision: str) -> dict[str, float]:
    """Gradient bytes of each layer."""
    each = ELEMENT_BYTES[precision]
    return {layer.name: float(layer.parameters * each) for layer in network.layers}


def _server(estimator: Estimator, work: Workload) -> Cycles:
    """The server's service: receive the gradient, apply it, send the weights."""
    ask = Collector()
    load, whole, each = compute_terms(estimator, work, ask)

    def wire() -> Estimate:
        return nearest_time(estimator, "pingpong", work.gradient_bytes, 2, {})

    update = ask.ask("t_receive", wire)
    update += ask.ask("t_optimizer", lambda: weights_time(estimator, work, f"{work.optimizer}_update"))
    update += ask.ask("t_answer", wire)
    return Cycles(tuple(load + whole), tuple(update), each, tuple(dict.fromkeys(ask.warnings)))
