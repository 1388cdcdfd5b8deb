"""`sprintprof recover`: a results file from the journal of a run that did not end."""

from __future__ import annotations

from pathlib import Path

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, note


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("recover")(recover)


def recover(
    journal: Path = typer.Argument(..., metavar="JOURNAL", help="FILE.h5.journal, as a killed run left it."),
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="Write here and keep the journal.",
    ),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Make a results file from the journal of a killed run.

    Without -o the run's own file is written and its journal removed, as at the end of the run.

    Exit code 1: the journal was damaged; what could be read was saved, the damaged places are listed.
    """
    from sprintprof.store import recover_journal

    recovered = recover_journal(journal, output)
    for damage in recovered.damages:
        note(f"{journal}: {damage}")
    if json_to:
        done, planned = recovered.completeness
        summary = {"path": str(recovered.path), "done": done, "planned": planned, "damages": recovered.damages}
        emit_json(summary, json_to)
    if json_to != "-":
        typer.echo(f"{recovered.path}: {recovered.completeness}")
        done, planned = recovered.completeness
        if done < planned:
            note(f"measure the others with: sprintprof run --resume {recovered.path}")
    if recovered.damages:
        raise typer.Exit(1)
