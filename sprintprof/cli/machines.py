"""`sprintprof machines`: list, show."""

from __future__ import annotations

from typing import Any

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console
from sprintprof.units import format_flops, format_rate_Bps, format_size, format_time


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb = typer.Typer(help="Machines: facts with their sources, limits, scheduler.", no_args_is_help=True)
    app.add_typer(verb, name="machines")
    verb.command("list")(list_)
    verb.command("show")(show)


def list_(json_to: str | None = JSON_OPTION) -> None:
    """List the built-in machines."""
    from rich.table import Table

    from sprintprof.machine import list_machines, load_machine
    from sprintprof.machine.describe import summary

    found = [summary(load_machine(name)) for name in list_machines()]
    if json_to:
        emit_json(found, json_to)
    if json_to == "-":
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("machine")
    table.add_column("", overflow="fold")
    for heading in ("nodes", "GPUs a node", "fp32 peak", "fp16 peak", "memory"):
        table.add_column(heading, justify="right")
    for m in found:
        peaks = [_text("peak_FLOPps", m["peak_FLOPps"].get(p)) for p in ("fp32", "fp16")]
        counts = ["" if m[key] is None else str(m[key]) for key in ("nodes", "gpus_per_node")]
        table.add_row(m["name"], m["title"], *counts, *peaks, _text("_Bps", m["memory_bandwidth_Bps"]))
    stdout_console().print(table)


def show(
    name: str = typer.Argument(help="Built-in machine, or the path of a machine file."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Show a machine's facts, each with its source, its limits and its scheduler part."""
    from rich.table import Table

    from sprintprof.machine import load_machine
    from sprintprof.machine.describe import describe

    result = describe(load_machine(name))
    if json_to:
        emit_json(result, json_to)
    if json_to == "-":
        return
    console = stdout_console()
    console.print(": ".join(text for text in (result["name"], result["title"]) if text))
    if result["note"]:
        console.print(result["note"])
    numbers: dict[str, int] = {}
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("fact", "value", "source"):
        table.add_column(heading, overflow="fold")
    for fact in result["facts"]:
        source = fact["source"]
        known = isinstance(source, str)
        mark = f"[{numbers.setdefault(source, len(numbers) + 1)}]" if known else "–"
        table.add_row(fact["name"], _value(fact["name"], fact["value"]), mark.replace("[", r"\["))
    for section in ("limits", "scheduler"):
        for key, value in (result[section] or {}).items():
            table.add_row(f"{section}.{key}", _value(key, value), "")
    console.print(table)
    for source, number in numbers.items():
        console.print(f"[{number}] {source}", markup=False)


def _value(name: str, value: Any) -> str:
    if isinstance(value, dict):
        inner = [f"{k} {_value(f'{name}.{k}' if name.endswith('FLOPps') else k, v)}" for k, v in value.items()]
        return ", ".join(inner).replace("kind ", "").replace("bandwidth_Bps ", "")
    if isinstance(value, list):
        return ", ".join(str(v) for v in value)
    return _text(name, value)


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if "FLOPps" in name:
        return format_flops(value)
    if name.endswith("_Bps"):
        return format_rate_Bps(value)
    if name.endswith("_bytes"):
        return format_size(value)
    if name.endswith("_Hz"):
        return f"{value / 1e6:.4g} MHz"
    if name.endswith("_W"):
        return f"{value:.4g} W"
    return format_time(value) if name.endswith("_s") else str(value)
