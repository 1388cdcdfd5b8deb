"""The cycles of each strategy from a profile: SPRINT, synchronous all-reduce, a parameter server.

The GPU's side depends on the sub-batch alone, the update's side on nodes and GPUs per node (of BSP on the sub-batch
too): a search asks for each only once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sprintprof.model.allreduce import Scheme
from sprintprof.model.collectives import Link
from sprintprof.model.cycle import (
    Collector,
    Cycles,
    LayerTime,
    Term,
    Workload,
    allreduce_time,
    compute_terms,
    weights_time,
)
from sprintprof.model.messages import nearest_time
from sprintprof.model.overlap import exchange, fuse
from sprintprof.networks import Network
from sprintprof.networks.kernels import ELEMENT_BYTES
from sprintprof.profile import Estimate, Estimator, NoFit

FUSION_BYTES = 16 << 20
"""Tensors are exchanged together up to this size where nothing else is said."""
Layers = tuple[LayerTime, ...]


def family_of(strategy: str) -> str:
    """`sprint`, `bsp` or `server`: strategies of one family have the same cycles."""
    return strategy if strategy in ("sprint", "bsp") else "server"


def cycles_of(
    strategy: str,
    estimator: Estimator,
    work: Workload,
    nodes: int,
    gpus_per_node: int,
    fusion_bytes: float = FUSION_BYTES,
) -> Cycles:
    """The GPU and the update cycle as the named strategy has them, term by term."""
    ask = Collector()
    gpu, each = gpu_side(strategy, estimator, work, ask)
    update = update_side(strategy, estimator, work, nodes, gpus_per_node, fusion_bytes, each, ask)
    return Cycles(tuple(gpu), tuple(update), each, tuple(dict.fromkeys(ask.warnings)))


def gpu_side(strategy: str, estimator: Estimator, work: Workload, ask: Collector) -> tuple[list[Term], Layers]:
    """Terms of T_g and the layers one by one: t_load and layers; in SPRINT t_read and t_push too.

    t_read is one weight copy, t_push one gradient addition.
    """
    load, whole, each = compute_terms(estimator, work, ask)
    if strategy != "sprint":
        return load + whole, each
    read = ask.ask("t_read", lambda: weights_time(estimator, work, "weight_copy"))
    push = ask.ask("t_push", lambda: weights_time(estimator, work, "gradient_add"))
    return load + read + whole + push, each


def update_side(
    strategy: str,
    estimator: Estimator,
    work: Workload,
    nodes: int,
    gpus_per_node: int,
    fusion_bytes: float,
    each: Layers,
    ask: Collector,
) -> list[Term]:
    """Terms of T_u: of the update threads, of one synchronous iteration, or of the server's service."""
    family = family_of(strategy)
    if family == "sprint":
        return _update_threads(estimator, work, nodes, gpus_per_node, ask)
    if family == "bsp":
        return _synchronous(estimator, work, nodes, gpus_per_node, fusion_bytes, each, ask)
    return _server(estimator, work, ask)


def _nothing(name: str) -> list[Term]:
    """A term that is 0 by definition."""
    return [Term(name, 0.0, 0.0, 0.0, 0.0)]


def _weights(estimator: Estimator, work: Workload, kernel: str) -> Callable[[], Estimate]:
    return lambda: weights_time(estimator, work, kernel)


def _update_threads(estimator: Estimator, work: Workload, nodes: int, gpus_per_node: int, ask: Collector) -> list[Term]:
    """t_gather is one gradient addition for each GPU of the node; t_allreduce and t_skew are 0 on one node."""
    update = ask.ask("t_gather", _weights(estimator, work, "gradient_add"), gpus_per_node)
    size, precision = work.gradient_bytes, work.gradient_precision
    update += (
        ask.ask("t_allreduce", lambda: allreduce_time(estimator, size, nodes, precision))
        if nodes > 1
        else _nothing("t_allreduce")
    )
    update += ask.ask("t_optimizer", _weights(estimator, work, f"{work.optimizer}_update"))
    update += ask.ask("t_publish", _weights(estimator, work, "weight_copy"))
    if nodes == 1:
        return update + _nothing("t_skew")
    return update + ask.ask("t_skew", lambda: nearest_time(estimator, "barrier", 0, nodes, {}))


def _synchronous(
    estimator: Estimator,
    work: Workload,
    nodes: int,
    gpus_per_node: int,
    fusion_bytes: float,
    each: Layers,
    ask: Collector,
) -> list[Term]:
    """t_node: gradients of a node's GPUs added up; t_exposed: all-reduce that backward does not hide; t_optimizer.

    Skew is not a term here: the strategy has it from the order statistics of the GPU cycle.
    """
    update = _nothing("t_node")
    if gpus_per_node > 1:
        update = ask.ask("t_node", _weights(estimator, work, "gradient_add"), gpus_per_node - 1)
    update += _exposed(estimator, work, nodes, fusion_bytes, each, ask) if nodes > 1 else _nothing("t_exposed")
    return update + ask.ask("t_optimizer", _weights(estimator, work, f"{work.optimizer}_update"))


def _exposed(
    estimator: Estimator, work: Workload, nodes: int, fusion_bytes: float, each: Layers, ask: Collector
) -> list[Term]:
    precision = work.gradient_precision
    found = ask.ask("t_exposed", lambda: allreduce_time(estimator, work.gradient_bytes, nodes, precision))
    if not found:
        return []
    at_once = found[0]
    backward_s = {layer.layer: layer.backward_s for layer in each}
    order = [layer.name for layer in reversed(work.network.layers)]
    sizes = layer_bytes(work.network, precision)
    took = [backward_s.get(name, 0.0) for name in order]
    buckets = fuse(took, [sizes[name] for name in order], fusion_bytes)

    def measured_s(size_bytes: float) -> float:
        return allreduce_time(estimator, size_bytes, nodes, precision).time_s

    cost_s = measured_s
    if work.scheme is not None:
        scheme, link = work.scheme, measured_link(estimator)
        if link is None:
            ask.warnings.append(
                "t_exposed: α and β of --allreduce are unknown (no pingpong fit); measured times are used"
            )
        else:
            cost_s = partial(_modelled_s, scheme, link, nodes)
    done = exchange(buckets, cost_s, sum(took))
    share = done.exposed_s / at_once.time_s
    source = f"{at_once.source}, {done.hidden_fraction:.0%} of {len(buckets)} all-reduces hidden"
    spread = (at_once.std_s * share, at_once.low_s * share, at_once.high_s * share)
    return [Term("t_exposed", done.exposed_s, *spread, source)]


def _modelled_s(scheme: Scheme, link: Link, ranks: int, size_bytes: float) -> float:
    return scheme.cost_s(size_bytes, ranks, link)


def measured_link(estimator: Estimator) -> Link | None:
    """α and β of the profile's ping-pong between empty and 16 MiB messages; None where there is none."""
    large = 16 << 20
    try:
        empty, full = (nearest_time(estimator, "pingpong", size, 2, {}).time_s for size in (0, large))
    except NoFit:
        return None
    return Link(empty, max(full - empty, 0.0) / large)


def layer_bytes(network: Network, precision: str) -> dict[str, float]:
    """Gradient bytes of each layer."""
    each = ELEMENT_BYTES[precision]
    return {layer.name: float(layer.parameters * each) for layer in network.layers}


def _server(estimator: Estimator, work: Workload, ask: Collector) -> list[Term]:
    """The server's service: receive the gradient, apply it, send the weights."""

    def wire() -> Estimate:
        return nearest_time(estimator, "pingpong", work.gradient_bytes, 2, {})

    receive = ask.ask("t_receive", wire)
    apply = ask.ask("t_optimizer", _weights(estimator, work, f"{work.optimizer}_update"))
    return receive + apply + ask.ask("t_answer", wire)
