"""`sprintprof check`: is a results file stable, and what to do if not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console

if TYPE_CHECKING:
    from rich.console import Console

    from sprintprof.compare.findings import CheckReport

_WORST_SHOWN = 3


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check)


def check(
    file: Path = typer.Argument(..., help="Results file (.h5)."),
    all_findings: bool = typer.Option(False, "--all", help="Every finding, not the worst three of a kind."),
    tolerate: float = typer.Option(
        0.0, metavar="SHARE", help="Stable in spite of this share of points with a problem."
    ),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Say whether a results file is stable, why not, how sure that is, and what to do. Exit code 1 if it is not."""
    from sprintprof.compare.check import check_file

    report = check_file(file, tolerate)
    if json_to:
        emit_json(report.to_plain(), json_to)
    if json_to != "-":
        _print(report, stdout_console(), all_findings)
    if not report.stable:
        raise typer.Exit(1)


def _print(report: CheckReport, console: Console, all_findings: bool) -> None:
    from rich.markup import escape

    from sprintprof.compare.findings import KINDS

    for kind, count in report.counts.items():
        about = KINDS[kind]
        colour = "red" if about.level == "problem" else "yellow"
        found = [finding for finding in report.findings if finding.kind == kind]
        console.print(
            f"[{colour}]{about.level}[/{colour}] [bold]{about.title}[/bold] ({kind}, {count})", soft_wrap=True
        )
        shown = found if all_findings else found[:_WORST_SHOWN]
        for finding in shown:
            label = f"{finding.label}: " if finding.label else ""
            console.print(
                f"    {escape(label)}{escape(finding.what)}  [dim]{escape(finding.sure)}[/dim]", soft_wrap=True
            )
        if len(shown) < len(found):
            console.print(f"    … {len(found) - len(shown)} more, see --all")
        console.print(f"    cause: {about.cause}", soft_wrap=True)
        console.print(f"    what to do: {escape(report.remedy(kind))}", soft_wrap=True)
    for line in report.around:
        console.print(f"[yellow]note[/yellow] {escape(line)}", soft_wrap=True)
    noise = "" if report.noise is None else f"; half of them are known to ±{100 * report.noise:.2g} % or better"
    skipped = f", {report.skipped} skipped" if report.skipped else ""
    console.print(f"{report.done} of {report.planned} points done{skipped}")
    console.print(f"{report.sound} of {report.measured} measured points are sound{noise}")
    if report.stable:
        console.print("[green]stable[/green]" + (", in spite of the above" if report.counts else ""))
    else:
        console.print("[red]not stable[/red]")
