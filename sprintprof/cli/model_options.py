"""Options that predict, simulate and search share, declared once: what is trained on what, at what speed, how."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer

Declared = tuple[str, Any, Any]
"""Name, type and typer's declaration of one option."""

SIZE: list[Declared] = [
    ("nodes", int, typer.Option(1, "--nodes", help="Nodes, each with one update thread.")),
    ("gpus_per_node", int, typer.Option(1, "--gpus-per-node", help="GPUs of one node.")),
    ("sub_batch", int, typer.Option(1, "--sub-batch", help="Samples that one GPU processes at once.")),
]
WORKLOAD: list[Declared] = [
    ("network", str | None, typer.Option(None, "--network", help="Network by name (networks list) or a TOML file.")),
    ("dataset_size", int, typer.Option(1281167, "--dataset-size", help="Samples of one epoch.")),
    ("precision", str, typer.Option("fp32", "--precision", help="Of the compute kernels.")),
    (
        "gradient_precision",
        str | None,
        typer.Option(None, "--gradient-precision", help="Of gradients on the wire; default: --precision."),
    ),
    ("layout", str, typer.Option("NCHW", "--layout", help="Of the convolutions: NCHW or NHWC.")),
    ("optimizer", str, typer.Option("momentum", "--optimizer", help="momentum or lars.")),
    (
        "fusion",
        str,
        typer.Option(
            "16M", "--fusion", metavar="SIZE", help="bsp: gradients are all-reduced together up to this size."
        ),
    ),
    (
        "allreduce",
        str,
        typer.Option("measured", "--allreduce", help="bsp: measured, or from α and β: ring, hierarchical, hybrid."),
    ),
    ("group", int, typer.Option(8, "--group", help="bsp, hierarchical and hybrid: ranks that share a master.")),
    (
        "ring_above",
        str,
        typer.Option("4M", "--ring-above", metavar="SIZE", help="bsp, hybrid: larger buckets go by ring."),
    ),
    ("engine", str | None, typer.Option(None, "--engine", help="Engine of the profile's fits, where it has several.")),
    (
        "scale",
        list[str],
        typer.Option(
            [],
            "--scale",
            metavar="WHAT=FACTOR",
            help="What if: network-bandwidth, network-latency, gpu-flops, memory-bandwidth, storage-bandwidth, "
            "gpus-per-node, nodes. Several times, or several in one, divided by spaces.",
        ),
    ),
]
CYCLES: list[Declared] = [
    (
        "gpu_cycle",
        str | None,
        typer.Option(None, "--gpu-cycle", metavar="MEAN:CV", help="Cycle of a GPU thread in s, instead of a profile."),
    ),
    (
        "update_cycle",
        str | None,
        typer.Option(
            None, "--update-cycle", metavar="MEAN:CV", help="Cycle of the update thread, or the server's service, in s."
        ),
    ),
    (
        "distribution",
        str,
        typer.Option("normal", "--distribution", help="Of cycles: normal (cut at 5 % of the mean), lognormal, gamma."),
    ),
    (
        "interference",
        float,
        typer.Option(0.0, "--interference", help="κ: slowdown of compute by a busy update thread, a fraction."),
    ),
    (
        "busy",
        float | None,
        typer.Option(None, "--busy", help="Share of T_u in which the update thread works on the GPU's device or bus."),
    ),
    (
        "slow_gpus",
        str,
        typer.Option("", "--slow-gpus", metavar="NUMBER:FACTOR,...", help="GPUs slower by a factor, e.g. 2:1.5."),
    ),
]
STRATEGY: list[Declared] = [
    ("strategy", str, typer.Option("sprint", "--strategy", help="sprint, bsp, asp, ssp, dssp or softsync.")),
    (
        "staleness_bound",
        int | None,
        typer.Option(None, "--staleness-bound", help="ssp: lead over the slowest, in iterations (default 3)."),
    ),
    ("lower", int | None, typer.Option(None, "--lower", help="dssp: lower bound on the lead (default 3).")),
    ("upper", int | None, typer.Option(None, "--upper", help="dssp: upper bound on the lead (default 15).")),
    ("variant", str | None, typer.Option(None, "--variant", help="dssp: literal (default) or capped.")),
    ("groups", int | None, typer.Option(None, "--groups", help="softsync: n, an update for each N/n gradients.")),
    (
        "backup_workers",
        int | None,
        typer.Option(None, "--backup-workers", help="bsp: so many of the slowest are not waited for."),
    ),
    (
        "hidden_fraction",
        float | None,
        typer.Option(None, "--hidden-fraction", help="bsp: share of the update cycle hidden behind compute."),
    ),
    (
        "isgd",
        str | None,
        typer.Option(None, "--isgd", metavar="SHARE:STOPS", help="ISGD: share of batches trained again, times each."),
    ),
]
STRATEGY_PARAMETERS = ("staleness_bound", "lower", "upper", "variant", "groups", "backup_workers", "hidden_fraction")
PROFILE = typer.Argument(
    None, metavar="[PROFILE.json]", help="Machine profile; or give --gpu-cycle and --update-cycle."
)


def takes(*declared: Declared) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options to a verb: its first parameter `shared` gets them as a dict by name."""

    def add(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb, eval_str=True)
        extra = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind)
            for name, kind, option in declared
        ]
        parameters = [
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for n, p in own.parameters.items() if n != "shared"
        ]
        positional = [p for p in parameters if isinstance(p.default, typer.models.ArgumentInfo)]
        rest = [p for p in parameters if p not in positional]

        @functools.wraps(verb)
        def called(**given: Any) -> None:
            names = {name for name, _, _ in declared}
            shared = {k: v for k, v in given.items() if k in names}
            verb(shared, **{k: v for k, v in given.items() if k not in names})

        signature = own.replace(parameters=[*positional, *extra, *rest])
        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return called

    return add


def strategy_of(shared: dict[str, Any]) -> Any:
    """The strategy that the options name. Raises InputError."""
    from sprintprof.model.strategies import make_strategy

    return make_strategy(shared["strategy"], **{k: shared[k] for k in STRATEGY_PARAMETERS})


def request_of(profile: str | None, shared: dict[str, Any]) -> Any:
    """The model's request from the options. Raises InputError."""
    from sprintprof.model.inputs import Request
    from sprintprof.units import parse_size_bytes

    known = {k: v for k, v in shared.items() if k in Request.__dataclass_fields__ and k != "scale"}
    scale = tuple(part for text in shared["scale"] for part in text.split())
    known["fusion_bytes"] = parse_size_bytes(shared["fusion"], "--fusion")
    known["ring_above_bytes"] = parse_size_bytes(shared["ring_above"], "--ring-above")
    return Request(profile=profile, scale=scale, **known)
