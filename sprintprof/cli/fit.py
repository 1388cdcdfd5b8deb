"""`sprintprof fit`: results to a profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, note, stdout_console
from sprintprof.units import format_share

if TYPE_CHECKING:
    from sprintprof.profile.schema import Profile


def register(app: typer.Typer) -> None:
    """Add the verb to the application."""
    app.command("fit")(fit)


def fit(
    results: list[Path] = typer.Argument(..., metavar="RESULTS.h5...", help="Results files of one machine."),
    output: Path = typer.Option(..., "-o", "--output", metavar="PROFILE.json", help="The profile to write."),
    report: bool = typer.Option(False, "--report", help="A line for every fit, not only for every kernel."),
    include_flag: list[str] = typer.Option([], "--include-flag", help="Fit points with this flag too, e.g. throttled."),
    machine: str | None = typer.Option(None, "--machine", help="Name of the machine in the profile."),
    force: bool = typer.Option(False, "--force", help="Overwrite the profile if it exists."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Fit coefficients to results and write them as a machine profile."""
    from sprintprof.fit.build import fit_profile
    from sprintprof.fit.sources import read_dataset
    from sprintprof.profile.files import check_free, save_profile

    check_free(output, overwrite=force)
    profile = fit_profile([read_dataset(path) for path in results], include_flags=include_flag, machine=machine)
    profile = save_profile(profile, output, overwrite=force)
    for warning in profile.warnings:
        note(f"warning: {warning}")
    if json_to != "-":
        _print(profile, report)
        note(f"wrote {output}")
    if json_to is not None:
        emit_json(profile, json_to)


def _print(profile: Profile, every_fit: bool) -> None:
    from rich.table import Table

    from sprintprof.fit.report import error_rows, fit_rows

    console = stdout_console()
    table = Table(
        title=f"{profile.machine}: errors on points left out of the fit (sum: bias of the sum)", title_justify="left"
    )
    for name in ("level", "benchmark", "engine"):
        table.add_column(name, no_wrap=True)
    for name in ("fits", "points", "median", "p90", "worst", "sum"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in error_rows(profile):
        shares = [format_share(x, 1 if abs(x) < 1 else 0) for x in (row.median, row.p90, row.worst, row.bias)]
        table.add_row(row.level, row.benchmark, row.engine, str(row.fits), str(row.points), *shares)
    console.print(table)
    if every_fit:
        for line in fit_rows(profile):
            console.print(line, soft_wrap=True, markup=False)
    for source in profile.sources:
        left_out = ", ".join(f"{n} {reason}" for reason, n in source.points_left_out.items())
        text = f"{source.file}: {source.points_used} points used" + (f"; left out: {left_out}" * bool(left_out))
        console.print(text, soft_wrap=True, markup=False)
