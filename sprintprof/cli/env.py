"""`sprintprof env`: environments and their differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console

if TYPE_CHECKING:
    from sprintprof.environment.registry import Record


def register(app: typer.Typer) -> None:
    """Add the verb."""
    group = typer.Typer(help="Environments: what a run knew about its machine, and what differs.", no_args_is_help=True)
    group.command("show")(show)
    group.command("diff")(diff)
    app.add_typer(group, name="env")


def show(
    file: Path | None = typer.Argument(None, help="Results file; without it this process is shown."),
    rank: int = typer.Option(0, min=0, help="Rank whose environment is shown."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Show the environment of a run's rank, or of this machine."""
    from sprintprof.environment.collect import to_plain
    from sprintprof.environment.registry import lookup
    from sprintprof.environment.registry import show as show_value

    record = _record(file, rank)
    if json_to:
        emit_json(to_plain(record), json_to)
        if json_to == "-":
            return
    console = stdout_console()
    for key, value in record.items():
        entry = lookup(key)
        text = f"[cyan]{key}[/cyan]  {_escape(show_value(key, value))}"
        console.print(text + (f"  [dim]{entry.help}[/dim]" if entry and "*" not in key else ""), soft_wrap=True)


def diff(
    first: Path = typer.Argument(..., help="Results file."),
    second: Path = typer.Argument(..., help="Results file."),
    rank: int = typer.Option(0, min=0, help="Rank whose environments are compared."),
    every: bool = typer.Option(False, "--all", help="Also what cannot explain a difference of results."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Show what differs between the environments of two runs."""
    from sprintprof.environment.collect import to_plain
    from sprintprof.environment.diff import diff as differences
    from sprintprof.environment.registry import show as show_value

    found = [d for d in differences(_record(first, rank), _record(second, rank)) if every or d.matters]
    if json_to:
        sides = [to_plain({"first": d.first, "second": d.second}) for d in found]
        emit_json([{"key": d.key, "matters": d.matters, **s} for d, s in zip(found, sides, strict=True)], json_to)
        if json_to == "-":
            return
    console = stdout_console()
    if not found:
        console.print("nothing differs" + ("" if every else " that could explain a difference of results"))
    for d in found:
        mark = "" if d.matters else "  [dim]no influence on results[/dim]"
        console.print(f"[cyan]{d.key}[/cyan]{mark}", soft_wrap=True)
        for value in (d.first, d.second):
            console.print(f"    {_escape(show_value(d.key, value))}", soft_wrap=True)


def _record(file: Path | None, rank: int) -> Record:
    import sys

    if file is None:
        from sprintprof.environment.collect import collect

        return collect(sys.argv, results=Path("results"))
    from sprintprof.environment.of_run import of_rank
    from sprintprof.store import load_results

    return of_rank(load_results(file).sessions, rank, str(file))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
