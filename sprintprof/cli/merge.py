"""`sprintprof merge`: several results files of one machine become one."""

from __future__ import annotations

from pathlib import Path

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, note


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("merge")(merge)


def merge(
    files: list[Path] = typer.Argument(..., metavar="FILE…", help="Results files, or folders of them."),
    output: Path = typer.Option(..., "-o", "--output", metavar="FILE", help="The file to make; it must not exist."),
    force: bool = typer.Option(False, "--force", help="Join files of different machines all the same."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Join results files into one.

    A measurement in several files is kept once; a point that several runs measured, from each, as launches of its own.

    Exit code 1: files that cannot be read were left out, each named with the reason.
    """
    from sprintprof.store import merge_results

    report = merge_results(files, output, force)
    for name, reason in report.quarantined.items():
        note(f"left out {name}: {reason}")
    if json_to:
        emit_json(report, json_to)
    if json_to != "-":
        typer.echo(f"{report.path}: {report}; {report.done} of {report.planned} points")
        details = {
            "found again in another file": report.duplicates,
            "replaced by a better one": report.superseded,
            "given another launch number": report.renumbered,
        }
        for what, count in details.items():
            if count:
                typer.echo(f"  records {what}: {count}")
    if report.quarantined:
        raise typer.Exit(1)
