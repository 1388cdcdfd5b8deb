"""`sprintprof import`: logs of other benchmarks become a results file."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, note, stdout_console
from sprintprof.records.errors import InputError

if TYPE_CHECKING:
    from sprintprof.importers.report import ImportReport

AUTO = "auto"


def register(app: typer.Typer) -> None:
    """Add the verb with one command for each format; a format's file is its registration."""
    group = typer.Typer(
        help="Logs of OSU, IMB, nccl-tests, nvbandwidth, CUDA samples, STREAM … become a results file.",
        no_args_is_help=True,
    )
    for kind in (AUTO, *_formats()):
        group.command(kind, help=_HELP[kind == AUTO].format(kind=kind))(_command(kind))
    app.add_typer(group, name="import")


_HELP = (
    "Read {kind} logs. Exit code 1: some logs, or some lines, could not be read; 2: none could.",
    "Recognise logs of every format; folders are walked through. Exit code 1: some could not be read; 2: none could.",
)


def _formats() -> list[str]:
    """Names of the formats, from their files: nothing is imported for the help text."""
    spec = importlib.util.find_spec("sprintprof.importers.formats")
    folders = list(spec.submodule_search_locations or []) if spec else []
    stems = {Path(f).stem for folder in folders for f in os.listdir(folder) if f.endswith(".py")}
    return sorted(stem.replace("_", "-") for stem in stems if not stem.startswith("_"))


def _command(kind: str) -> Callable[..., None]:
    def read(
        context: typer.Context,
        logs: list[Path] = typer.Argument(..., metavar="LOG…", help="Logs, or folders of them."),
        output: Path | None = typer.Option(
            None,
            "-o",
            "--output",
            metavar="FILE",
            help="Results file to make (must not exist); without it: a look only.",
        ),
        nodes: int | None = typer.Option(None, help="Nodes, where the logs do not say."),
        ranks_per_node: int | None = typer.Option(None, "--ranks-per-node", help="Ranks on a node."),
        ranks: int | None = typer.Option(None, help="Ranks of the collectives."),
        machine: str | None = typer.Option(None, help="Name of the machine; default: the output's name."),
        only: list[str] = typer.Option([], metavar="FACT=VALUE", help="Only rows with this fact, e.g. mpi_library=…"),
        json_to: str | None = JSON_OPTION,
    ) -> None:
        from sprintprof.importers.collect import import_logs
        from sprintprof.importers.options import Options

        if output is not None and output.exists():
            raise InputError(str(output), "exists", "choose another name: nothing is overwritten")
        options = Options(ranks, nodes, ranks_per_node, machine or (output.stem if output else None), _facts(only))
        job = import_logs(kind, logs, options)
        report = job.report
        if output is not None and report.points:
            words = context.obj if isinstance(context.obj, list) else []
            report.output = str(job.write(output, ["sprintprof", *words]))
        if json_to:
            emit_json(report.to_plain(), json_to)
        if json_to != "-":
            _print(report)
        if not report.points:
            raise _nothing(report)
        if report.exit_code:
            raise typer.Exit(report.exit_code)

    return read


def _facts(only: list[str]) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(text.split("=", 1)) for text in only]
    for text, pair in zip(only, pairs, strict=True):
        if len(pair) != 2:
            raise InputError("--only", f"'{text}' is not FACT=VALUE", "e.g. --only mpi_library=openmpi-4.1.5")
    return tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2)


def _print(report: ImportReport) -> None:
    from rich.table import Table

    from sprintprof.importers.collect import lines_of

    files = [f.file for f in report.files]
    folder = os.path.commonpath([os.path.dirname(f) for f in files]) if files else ""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file", overflow="fold", max_width=56)
    for head in ("what", "rows", "points", "state"):
        table.add_column(head, justify="right" if head in ("rows", "points") else "left", overflow="fold")
    for file in report.files:
        counts = {"failed": file.failed, "skipped": file.skipped, "suspicious": file.suspicious}
        more = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        state = f"{file.state} ({more})" if more else file.state
        name = os.path.relpath(file.file, folder) if folder else file.file
        table.add_row(name, " ".join(file.tools) or file.what, str(file.rows), str(file.points), state)
    stdout_console().print(table)
    for line in lines_of(report):
        note(line)
    if report.shared:
        note(f"{report.shared} points are in several logs: they count as launches of one machine")
    where = f", wrote {report.output}" if report.output else ""
    typer.echo(f"{report.rows} rows of {len({f.file for f in report.files})} files: {report.points} points{where}")


def _nothing(report: ImportReport) -> InputError:
    names = {f.file for f in report.files}
    if len(names) > 1:
        return InputError(f"{len(names)} files", "have no results in them", "see the lines above")
    file = report.files[0]
    first = file.troubles[0] if file.troubles else None
    reason = file.notes[0] if file.notes else first.why if first else "holds no results"
    return InputError(
        file.file, f"has no results ({reason})", "give a log with results, or sprintprof import auto FOLDER"
    )
