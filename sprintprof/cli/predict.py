"""`sprintprof predict`: epoch time and the distributions of mini-batch and staleness."""

from __future__ import annotations

from typing import Any

import typer

from sprintprof.cli import model_options as opt
from sprintprof.cli.output import JSON_OPTION, emit_json, note


def register(app: typer.Typer) -> None:
    """Add the verb to the application."""
    app.command("predict")(predict)


def predict(
    profile: str | None = opt.PROFILE,
    network: str | None = opt.NETWORK,
    nodes: int = opt.NODES,
    gpus_per_node: int = opt.GPUS_PER_NODE,
    sub_batch: int = opt.SUB_BATCH,
    dataset_size: int = opt.DATASET_SIZE,
    strategy: str = opt.STRATEGY,
    gpu_cycle: str | None = opt.GPU_CYCLE,
    update_cycle: str | None = opt.UPDATE_CYCLE,
    distribution: str = opt.DISTRIBUTION,
    precision: str = opt.PRECISION,
    gradient_precision: str | None = opt.GRADIENT_PRECISION,
    layout: str = opt.LAYOUT,
    optimizer: str = opt.OPTIMIZER,
    interference: float = opt.INTERFERENCE,
    busy: float | None = opt.BUSY,
    slow_gpus: str = opt.SLOW_GPUS,
    engine: str | None = opt.ENGINE,
    json_to: str | None = JSON_OPTION,
) -> None:
    """Predict epoch time, mini-batch size and staleness of distributed training."""
    from sprintprof.model.inputs import Request, resolve
    from sprintprof.model.prediction import report
    from sprintprof.model.strategies import STRATEGIES

    if strategy not in STRATEGIES:
        raise opt.unknown_choice("--strategy", strategy, tuple(STRATEGIES))
    chosen = STRATEGIES[strategy]()
    names = set(Request.__dataclass_fields__)
    resolved = resolve(Request(**{k: v for k, v in locals().items() if k in names}))
    outcome = chosen.predict(resolved.setting)
    result = report(resolved.setting, strategy, outcome, resolved.terms, resolved.warnings)
    if json_to != "-":
        print_prediction(result)
    if json_to is not None:
        emit_json(result, json_to)


def print_prediction(result: dict[str, Any]) -> None:
    """The table, the terms and a small plot of both distributions on stdout; warnings on stderr."""
    from sprintprof.cli.output import stdout_console
    from sprintprof.model.text import lines_of

    for warning in result["warnings"]:
        note(f"warning: {warning}")
    console = stdout_console()
    for line in lines_of(result):
        console.print(line, markup=False, soft_wrap=True)
