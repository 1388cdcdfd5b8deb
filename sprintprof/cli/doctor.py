"""`sprintprof doctor`: before a run."""

from __future__ import annotations

from pathlib import Path

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("doctor")(doctor)


def doctor(
    ranks: int | None = typer.Option(None, min=1, help="Ranks the run will have."),
    gpus: int | None = typer.Option(None, min=0, help="GPUs this node must have."),
    engine: str = typer.Option("auto", help="auto, numpy or cupy."),
    output: Path = typer.Option(Path("results"), "-o", "--output", help="Where the results will go."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Say what is here and what is wrong with it, before a run; exit 1 where something blocks one."""
    from rich.markup import escape

    from sprintprof.workflows.doctor import Wanted, examine

    findings = examine(Wanted(ranks, gpus, engine, output))
    blocked = any(f.level == "blocker" for f in findings)
    if json_to:
        emit_json({"findings": findings, "blocked": blocked}, json_to)
    if json_to != "-":
        console = stdout_console()
        colours = {"blocker": "bold red", "warning": "yellow", "note": "cyan", "ok": "green"}
        for f in findings:
            remedy = f"; {f.remedy}" if f.remedy else ""
            line = f"[{colours[f.level]}]{f.level:8}[/] [bold]{f.subject}[/bold]: {escape(f.what + remedy)}"
            console.print(line, soft_wrap=True)
    raise typer.Exit(1 if blocked else 0)
