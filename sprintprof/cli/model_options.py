"""Options that predict, simulate and search share: what is trained on what, at what speed."""

from __future__ import annotations

from typing import Any

import typer

PROFILE = typer.Argument(
    None, metavar="[PROFILE.json]", help="Machine profile; or give --gpu-cycle and --update-cycle."
)
NETWORK = typer.Option(None, "--network", help="Network by name (sprintprof networks list) or a TOML file.")
NODES = typer.Option(1, "--nodes", help="Nodes, each with one update thread.")
GPUS_PER_NODE = typer.Option(1, "--gpus-per-node", help="GPUs of one node.")
SUB_BATCH = typer.Option(1, "--sub-batch", help="Samples that one GPU processes at once.")
DATASET_SIZE = typer.Option(1281167, "--dataset-size", help="Samples of one epoch.")
STRATEGY = typer.Option("sprint", "--strategy", help="How the GPUs work together.")
GPU_CYCLE = typer.Option(
    None, "--gpu-cycle", metavar="MEAN:CV", help="Cycle of a GPU thread in s, instead of a profile."
)
UPDATE_CYCLE = typer.Option(
    None, "--update-cycle", metavar="MEAN:CV", help="Cycle of the update thread (or service time of the server) in s."
)
DISTRIBUTION = typer.Option(
    "normal", "--distribution", help="Of the cycles: normal (cut at 5 % of the mean), lognormal, gamma."
)
PRECISION = typer.Option("fp32", "--precision", help="Of the compute kernels.")
GRADIENT_PRECISION = typer.Option(None, "--gradient-precision", help="Of gradients on the wire; default: --precision.")
LAYOUT = typer.Option("NCHW", "--layout", help="Of the convolutions: NCHW or NHWC.")
OPTIMIZER = typer.Option("momentum", "--optimizer", help="momentum or lars.")
INTERFERENCE = typer.Option(
    0.0, "--interference", help="κ: slowdown of compute while the update thread works, a fraction."
)
BUSY = typer.Option(None, "--busy", help="Share of T_u in which the update thread works on the GPU's device or bus.")
SLOW_GPUS = typer.Option("", "--slow-gpus", metavar="NUMBER:FACTOR,...", help="GPUs slower by a factor, e.g. 2:1.5.")
ENGINE = typer.Option(None, "--engine", help="Engine of the profile's fits, where it has several.")


def unknown_choice(option: str, given: str, known: tuple[str, ...]) -> Any:
    """The error for a name that is none of `known`."""
    from sprintprof.records.errors import InputError

    return InputError(option, f"there is no '{given}'", f"choose {', '.join(known)}")
