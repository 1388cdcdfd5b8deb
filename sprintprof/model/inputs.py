"""From what a user names (a profile and a network, or two cycles) to a Setting with its terms and warnings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sprintprof.model.allreduce import ALGORITHMS, Scheme
from sprintprof.model.cycle import Cycles, Workload, with_extra
from sprintprof.model.exchange import FUSION_BYTES, cycles_of
from sprintprof.model.jitter import KINDS, Constant, Jitter, Kind, parse_cycle
from sprintprof.model.lock import lock_wait_s
from sprintprof.model.setting import IMAGENET, Setting, check_count, check_share, parse_slow_gpus
from sprintprof.model.whatif import MACHINE, SHAPE, parse_scale, scaled_profile
from sprintprof.networks import load_network
from sprintprof.networks.kernels import ELEMENT_BYTES
from sprintprof.profile import Estimator, load_profile
from sprintprof.records import InputError


@dataclass(frozen=True)
class Request:
    """The options that predict, simulate and search share, as given. None: not given."""

    profile: str | None = None
    network: str | None = None
    gpu_cycle: str | None = None
    update_cycle: str | None = None
    nodes: int = 1
    gpus_per_node: int = 1
    sub_batch: int = 1
    dataset_size: int = IMAGENET
    distribution: Kind = "normal"
    precision: str = "fp32"
    gradient_precision: str | None = None
    layout: str = "NCHW"
    optimizer: str = "momentum"
    interference: float = 0.0
    busy: float | None = None
    slow_gpus: str = ""
    engine: str | None = None
    strategy: str = "sprint"
    fusion_bytes: float = FUSION_BYTES
    scale: tuple[str, ...] = ()
    allreduce: str = "measured"
    group: int = 8
    ring_above_bytes: float = 4 << 20


@dataclass(frozen=True)
class Resolved:
    """A setting, the terms it was made of (plain data), warnings; the cycles where it came from a profile."""

    setting: Setting
    terms: dict[str, Any]
    warnings: list[str]
    cycles: Cycles | None = None


def resolve(request: Request) -> Resolved:
    """Check the options and make the setting. Raises InputError that names the option."""
    factors = parse_scale(request.scale)
    nodes, gpus = (int(factors.get(name, given)) for name, given in zip(SHAPE, _shape(request), strict=True))
    request = replace(request, nodes=nodes, gpus_per_node=gpus)
    check_count("--nodes", request.nodes)
    check_count("--gpus-per-node", request.gpus_per_node)
    check_count("--sub-batch", request.sub_batch)
    check_count("--dataset-size", request.dataset_size)
    if request.distribution not in KINDS:
        raise InputError("--distribution", f"there is no '{request.distribution}'", f"choose {', '.join(KINDS)}")
    if request.gpu_cycle is not None or request.update_cycle is not None:
        return _from_cycles(request)
    if request.profile is None:
        raise InputError("predict", "needs a profile or cycles", "name PROFILE, or --gpu-cycle and --update-cycle")
    if request.network is None:
        raise InputError("--network", "is missing", "name one (sprintprof networks list) or a TOML file")
    if request.optimizer not in ("momentum", "lars"):
        raise InputError("--optimizer", f"there is no '{request.optimizer}'", "choose momentum or lars")
    profile = scaled_profile(load_profile(request.profile), factors)
    return from_estimator(request, Estimator(profile, request.engine))


def _shape(request: Request) -> tuple[int, int]:
    return request.nodes, request.gpus_per_node


def _from_cycles(request: Request) -> Resolved:
    if request.profile is not None:
        raise InputError("--gpu-cycle", "and a profile exclude each other", "leave one out")
    if any(name in MACHINE for name in parse_scale(request.scale)):
        raise InputError("--scale", "needs a profile to scale", "give other cycles instead")
    given = (("--gpu-cycle", request.gpu_cycle), ("--update-cycle", request.update_cycle))
    for option, text in given:
        if text is None:
            raise InputError(option, "is missing", "give both --gpu-cycle and --update-cycle as MEAN:CV in s")
    gpu, update = (_cycle(str(text), option, request.distribution) for option, text in given)
    if request.strategy == "sprint" and update.mean_s == 0:
        raise InputError("--update-cycle", "0 s is not possible for sprint", "give the update thread's cycle")
    setting = _setting(request, gpu_cycle=gpu, update_cycle=update, busy=1.0 if request.busy is None else request.busy)
    terms: dict[str, Any] = {
        "gpu_cycle": {"given": {"time_s": gpu.mean_s, "cv": gpu.cv, "source": "--gpu-cycle"}},
        "update_cycle": {"given": {"time_s": update.mean_s, "cv": update.cv, "source": "--update-cycle"}},
    }
    if setting.slowdown > 1:
        slower = gpu.mean_s * (setting.slowdown - 1)
        terms["gpu_cycle"]["t_interference"] = {"time_s": slower, "cv": 0.0, "source": "--interference"}
    return Resolved(setting, terms, [])


def _cycle(text: str, option: str, kind: Kind) -> Jitter:
    """As parse_cycle; an update cycle of 0 is a server that takes no time."""
    if option == "--update-cycle" and text.partition(":")[0] in ("0", "0.0"):
        return Constant(0.0)
    return parse_cycle(text, option, kind)


def workload(request: Request) -> Workload:
    """Network and precisions of a request. Raises InputError."""
    for precision in (request.precision, request.gradient_precision):
        if precision is not None and precision not in ELEMENT_BYTES:
            known = ", ".join(ELEMENT_BYTES)
            raise InputError("--precision", f"there is no '{precision}'", f"choose {known}")
    return Workload(
        load_network(str(request.network)),
        request.sub_batch,
        request.precision,
        request.gradient_precision or request.precision,
        request.layout,
        request.optimizer,
        scheme=_scheme(request),
    )


def _scheme(request: Request) -> Scheme | None:
    if request.allreduce == "measured":
        return None
    if request.allreduce not in ALGORITHMS:
        known = ", ".join(("measured", *ALGORITHMS))
        raise InputError("--allreduce", f"there is no '{request.allreduce}'", f"choose {known}")
    check_count("--group", request.group)
    algorithm = next(a for a in ALGORITHMS if a == request.allreduce)
    return Scheme(algorithm, request.fusion_bytes, ring_above_bytes=request.ring_above_bytes, group=request.group)


def from_estimator(request: Request, estimator: Estimator) -> Resolved:
    """The setting of a request whose shape and scaling are settled, from an opened profile."""
    work = workload(request)
    shape = (request.nodes, request.gpus_per_node, request.fusion_bytes)
    found = cycles_of(request.strategy, estimator, work, *shape)
    return from_terms(request, found, estimator.profile.warnings)


def from_terms(request: Request, found: Cycles, profile_warnings: list[str]) -> Resolved:
    """The setting of cycles that were found term by term, with lock and interference added to T_g."""
    warnings = [*(f"profile: {w}" for w in profile_warnings), *found.warnings]
    for cycle_s, name in ((found.gpu_cycle_s, "GPU"), (found.update_cycle_s, "update")):
        if cycle_s <= 0:
            what = f"has no coefficients for any term of the {name} cycle"
            raise InputError(str(request.profile), what, "measure the kernels it lists as warnings and fit again")
    push = next((t for t in found.gpu if t.name == "t_push"), None)
    lock = 0.0
    if push is not None:
        cv = push.std_s / push.time_s
        lock = lock_wait_s(request.gpus_per_node, found.gpu_cycle_s - push.time_s, push.time_s, cv)
    busy = busy_share(found) if request.busy is None else request.busy
    waiting = with_extra(found, lock_s=lock)
    gpu, update = waiting.jitters(request.distribution)
    setting = _setting(request, gpu_cycle=gpu, update_cycle=update, busy=busy, gpu_only_s=found.gpu_only_s or None)
    whole = with_extra(waiting, interference_s=gpu.mean_s * (setting.slowdown - 1))
    return Resolved(setting, whole.report(), warnings, whole)


def busy_share(found: Cycles) -> float:
    """Share of T_u in which the update thread works on the node itself: all but all-reduce and skew."""
    away = sum(t.time_s for t in found.update if t.name in ("t_allreduce", "t_skew"))
    return 1 - away / found.update_cycle_s


def _setting(request: Request, **measured: Any) -> Setting:
    check_share("--interference", request.interference, most=100.0)
    check_share("--busy", measured["busy"], most=1.0)
    return Setting(
        nodes=request.nodes,
        gpus_per_node=request.gpus_per_node,
        sub_batch=request.sub_batch,
        dataset_size=request.dataset_size,
        interference=request.interference,
        slow_gpus=parse_slow_gpus(request.slow_gpus),
        **measured,
    )
