"""`sprintprof predict`: epoch time and the distributions of mini-batch and staleness."""

from __future__ import annotations

from typing import Any

import typer

from sprintprof.cli import model_options as opt
from sprintprof.cli.output import JSON_OPTION, emit_json, note


def register(app: typer.Typer) -> None:
    """Add the verb to the application."""
    app.command("predict")(opt.takes(*opt.SIZE, *opt.STRATEGY, *opt.WORKLOAD, *opt.CYCLES)(predict))


def predict(
    shared: dict[str, Any],
    profile: str | None = opt.PROFILE,
    intervals: bool = typer.Option(False, "--intervals", help="Carry the coefficients' uncertainty through (90 %)."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Predict epoch time, mini-batch size and staleness of distributed training."""
    from sprintprof.model.inputs import resolve
    from sprintprof.model.isgd import parse_isgd
    from sprintprof.model.prediction import report, with_intervals
    from sprintprof.records.errors import InputError

    strategy = opt.strategy_of(shared)
    isgd = parse_isgd(shared["isgd"]) if shared["isgd"] is not None else None
    resolved = resolve(opt.request_of(profile, shared))
    if intervals and resolved.cycles is None:
        raise InputError("--intervals", "needs a profile", "cycles given by hand have no known error")
    outcome = strategy.predict(resolved.setting)
    result = report(resolved.setting, strategy.name, outcome, resolved.terms, resolved.warnings, isgd)
    if intervals:
        result = with_intervals(result, resolved)
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
