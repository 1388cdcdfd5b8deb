"""T_g and T_u from a profile: every term of MODEL.md's equations (1) and (2), its jitter and its interval.

A term whose coefficients the profile lacks is absent and a warning says so: it is never a silent 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sprintprof.model.allreduce import Scheme
from sprintprof.model.jitter import Jitter as Jitter
from sprintprof.model.jitter import Kind, jitter
from sprintprof.model.messages import nearest_time
from sprintprof.networks import LayerCall, Network
from sprintprof.networks.kernels import ELEMENT_BYTES, KernelCall
from sprintprof.profile import Estimate, Estimator, NoFit
from sprintprof.records import Value


@dataclass(frozen=True)
class Term:
    """One term of a cycle: mean, standard deviation of one occurrence, 90 % interval of the mean; all in s."""

    name: str
    time_s: float
    std_s: float = 0.0
    low_s: float = math.nan
    high_s: float = math.nan
    source: str = "definition"

    def report(self) -> dict[str, Any]:
        """Plain data for the `terms` of a prediction."""
        return {
            "time_s": self.time_s,
            "cv": self.std_s / self.time_s if self.time_s > 0 else 0.0,
            "source": self.source,
        }


@dataclass(frozen=True)
class Workload:
    """What is trained: network, precision of compute and of gradients, layout, optimizer kernel.

    `scheme` models the all-reduce of synchronous training from α and β; None takes the measured one.
    """

    network: Network
    sub_batch: int
    precision: str = "fp32"
    gradient_precision: str = "fp32"
    layout: str = "NCHW"
    optimizer: str = "momentum"
    sample_bytes: int | None = None
    scheme: Scheme | None = None

    @property
    def gradient_bytes(self) -> int:
        """Bytes of one gradient on the wire."""
        return self.network.parameters * ELEMENT_BYTES[self.gradient_precision]


@dataclass(frozen=True)
class LayerTime:
    """Forward and backward time of one layer on a sub-batch, in s."""

    layer: str
    forward_s: float
    backward_s: float
    source: str


@dataclass(frozen=True)
class Cycles:
    """All terms of both cycles. T_g and T_u are their sums; jitters of independent terms add in variance."""

    gpu: tuple[Term, ...]
    update: tuple[Term, ...]
    layers: tuple[LayerTime, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def gpu_cycle_s(self) -> float:
        """T_g in s."""
        return sum(t.time_s for t in self.gpu)

    @property
    def update_cycle_s(self) -> float:
        """T_u in s."""
        return sum(t.time_s for t in self.update)

    @property
    def gpu_only_s(self) -> float:
        """The part of T_g that one GPU alone needs too: load and layers, in s."""
        return sum(t.time_s for t in self.gpu if t.name in ("t_load", "layers"))

    def jitters(self, kind: Kind = "normal") -> tuple[Jitter, Jitter]:
        """The distributions of T_g and T_u with the terms' mean and variance."""
        return _whole(self.gpu, kind), _whole(self.update, kind)

    def report(self) -> dict[str, Any]:
        """Plain data: terms by cycle and name; the layers one by one."""
        gpu = {t.name: t.report() for t in self.gpu}
        if "layers" in gpu:
            gpu["layers"]["each"] = [
                {"layer": x.layer, "forward_s": x.forward_s, "backward_s": x.backward_s, "source": x.source}
                for x in self.layers
            ]
        return {"gpu_cycle": gpu, "update_cycle": {t.name: t.report() for t in self.update}}


def _whole(terms: Iterable[Term], kind: Kind) -> Jitter:
    terms = tuple(terms)
    total = sum(t.time_s for t in terms)
    return jitter(total, min(math.sqrt(sum(t.std_s**2 for t in terms)) / total, 0.9) if total else 0.0, kind)


def term(name: str, estimate: Estimate, times: float = 1.0) -> Term:
    """A term from one estimate, `times` occurrences of it one after the other."""
    cv = 0.0 if math.isnan(estimate.jitter_cv) else estimate.jitter_cv
    return Term(
        name,
        estimate.time_s * times,
        estimate.time_s * cv * math.sqrt(times),
        estimate.low_s * times,
        estimate.high_s * times,
        estimate.source,
    )


@dataclass
class Collector:
    """Asks the estimator and keeps what it could not answer or had to extrapolate."""

    warnings: list[str] = field(default_factory=list)

    def ask(self, name: str, question: Callable[[], Estimate], times: float = 1.0) -> list[Term]:
        """The term of that name, `times` occurrences long; nothing but a warning where there is no fit."""
        try:
            estimate = question()
        except NoFit as missing:
            self.warnings.append(f"{name} is left out: {missing}")
            return []
        self.warnings += [f"{name}: {line}" for line in estimate.extrapolated if not line.startswith("nearest")]
        if math.isnan(estimate.jitter_cv):
            self.warnings.append(f"{name}: its jitter was not measured and counts as none")
        return [term(name, estimate, times)]


def weights_time(estimator: Estimator, work: Workload, kernel: str) -> Estimate:
    """Time of a kernel over all weights of the network. Raises NoFit."""
    elements: dict[str, Value] = {"parameters": work.network.parameters, "precision": work.gradient_precision}
    return estimator.layer_time(KernelCall(kernel, elements))


def compute_terms(
    estimator: Estimator, work: Workload, ask: Collector
) -> tuple[list[Term], list[Term], tuple[LayerTime, ...]]:
    """t_load, layers (each as a list of at most one term) and the layers one by one."""
    sample_bytes = work.sample_bytes or math.prod(work.network.input_shape)
    load = ask.ask("t_load", lambda: storage_time(estimator, sample_bytes), work.sub_batch)
    calls = work.network.kernel_calls(work.sub_batch, work.precision, work.layout)
    whole, each, notes = layer_times(estimator, calls)
    ask.warnings[:0] = notes
    return load, whole, each


def storage_time(estimator: Estimator, sample_bytes: int) -> Estimate:
    """Time to read and decode one sample by one reader. Raises NoFit."""
    preferred: dict[str, Value] = {"layout": "hdf5", "readers": 1, "cache": "warm", "sample_bytes": sample_bytes}
    return nearest_time(estimator, "storage_read", sample_bytes, 1, preferred)


def allreduce_time(estimator: Estimator, size_bytes: float, ranks: int, precision: str) -> Estimate:
    """Time of an all-reduce of `size_bytes` among `ranks` ranks by the library. Raises NoFit."""
    preferred: dict[str, Value] = {"algorithm": "library", "precision": precision}
    return nearest_time(estimator, "allreduce", size_bytes, ranks, preferred)


def layer_times(estimator: Estimator, calls: list[LayerCall]) -> tuple[list[Term], tuple[LayerTime, ...], list[str]]:
    """The `layers` term, forward and backward time of each layer in order of the network, and warnings.

    The loss counts as forward of its layer. Layers without any fit are left out by name.
    """
    forward: dict[str, float] = {}
    backward: dict[str, float] = {}
    estimated: set[str] = set()
    missing: dict[str, str] = {}
    outside: set[str] = set()
    variance, low, high, unknown_jitter = 0.0, 0.0, 0.0, 0
    for item in calls:
        side = backward if item.direction == "backward" else forward
        try:
            estimate = estimator.layer_time(item.call)
        except NoFit as error:
            missing.setdefault(item.call.kernel, str(error))
            continue
        side[item.layer] = side.get(item.layer, 0.0) + estimate.time_s
        low, high = low + estimate.low_s, high + estimate.high_s
        unknown_jitter += math.isnan(estimate.jitter_cv)
        variance += 0.0 if math.isnan(estimate.jitter_cv) else (estimate.jitter_cv * estimate.time_s) ** 2
        if estimate.source == "generic":
            estimated.add(item.layer)
        if estimate.extrapolated:
            outside.add(item.layer)
    names = list(dict.fromkeys(item.layer for item in calls))
    each = tuple(
        LayerTime(n, forward.get(n, 0.0), backward.get(n, 0.0), "generic" if n in estimated else "layer")
        for n in names
        if n in forward or n in backward
    )
    notes = [f"layers: kernel left out: {text}" for text in missing.values()]
    if estimated:
        notes.append(f"{len(estimated)} of {len(names)} layers estimated")
    if outside:
        notes.append(f"{len(outside)} of {len(names)} layers are outside what was measured")
    if unknown_jitter:
        notes.append(f"layers: the jitter of {unknown_jitter} kernel calls was not measured and counts as none")
    if not each:
        return [], (), notes
    total = sum(x.forward_s + x.backward_s for x in each)
    source = "layer" if not estimated else "generic" if len(estimated) == len(names) else "layer and generic"
    return [Term("layers", total, math.sqrt(variance), low, high, source)], each, notes


def with_extra(whole: Cycles, lock_s: float = 0.0, interference_s: float = 0.0) -> Cycles:
    """The same cycles with waiting for the node's lock and interference as terms of T_g, so that terms still sum."""
    extra = [Term("t_lock", lock_s), Term("t_interference", interference_s)]
    return replace(whole, gpu=whole.gpu + tuple(t for t in extra if t.time_s > 0))
