"""`sprintprof run`: measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sprintprof.cli.output import note
from sprintprof.units import parse_duration_s


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("run")(run)


def _option(variable: str, help_: str, **more: Any) -> Any:
    """An option that can also be given as SPRINTPROF_<variable>."""
    return typer.Option(None, help=help_, envvar=f"SPRINTPROF_{variable}", **more)


def run(
    context: typer.Context,
    benchmarks: list[str] = typer.Argument(None, metavar="[NAME…]", help="Benchmarks or groups; wildcards allowed."),
    suite: str | None = _option("SUITE", "quick (the default), standard, full, or a TOML file of your own."),
    axis: list[str] = typer.Option([], metavar="NAME=V,…", help="Replace an axis' values: batch=1,8,32. Repeatable."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Results file. [default: results/<machine>/<UTC>-<job>.h5]"
    ),
    resume: Path | None = typer.Option(None, help="Go on with this results file or its journal: what is missing."),
    ranks: int | None = _option("RANKS", "MPI ranks; starts them unless a launcher has.", min=1),
    engine: str | None = _option("ENGINE", "auto (the default), numpy or cupy."),
    threads: int | None = _option("THREADS", "BLAS threads of the CPU engine. [default: as the BLAS likes]", min=1),
    machine: str | None = _option("MACHINE", "Machine name or machine file. [default: the host's name]"),
    target_ci: float | None = _option("TARGET_CI", "Half width of the 95 % interval of the median, a fraction."),
    min_samples: int | None = _option("MIN_SAMPLES", "Least samples of a point, never under 6."),
    min_time: str | None = _option("MIN_TIME", "Least sampling of a point, e.g. 100ms."),
    max_samples: int | None = _option("MAX_SAMPLES", "Most samples of a point."),
    timeout: str | None = _option("TIMEOUT", "Longest sampling of a point, e.g. 500ms."),
    cache: str | None = _option("CACHE", "cold or warm."),
    fill: str | None = _option("FILL", "Operands: random, zeros or ones."),
    seed: int | None = _option("SEED", "Seed of operands and order."),
    sync: str | None = _option("SYNC", "How ranks start a sample together: barrier or window."),
    launches: int | None = _option("LAUNCHES", "Repeat the whole in so many fresh processes.", min=1),
    time_limit: str | None = _option("TIME_LIMIT", "Stop between points after this time, e.g. 10m."),
    energy: bool = typer.Option(False, "--energy", help="Add a window of 2 s a point for the energy sensors."),
    scratch: Path | None = _option("SCRATCH", "Folder for the storage benchmarks. [default: beside the results]"),
    dry_run: bool = typer.Option(False, "--dry-run", help="List the points and the expected time."),
    show_config: bool = typer.Option(False, "--show-config", help="Print the settings in force and stop."),
    launch: int | None = typer.Option(None, hidden=True),
) -> None:
    """Measure this machine and write a results file.

    A kill at any moment loses no finished point: --resume goes on.
    """
    from sprintprof.bench.run.measure import MeasureOptions, measure

    options = MeasureOptions(
        benchmarks=benchmarks or [],
        suite=suite,
        axes=axis,
        output=output,
        resume=resume,
        ranks=ranks,
        engine=engine or "auto",
        threads=threads,
        machine=machine,
        settings={
            "target_ci": target_ci,
            "min_samples": min_samples,
            "min_time_s": parse_duration_s(min_time, "--min-time") if min_time else None,
            "max_samples": max_samples,
            "timeout_s": parse_duration_s(timeout, "--timeout") if timeout else None,
            "cache": cache,
            "fill": fill,
            "seed": seed,
            "sync": sync,
            "launches": launches,
        },
        time_limit_s=parse_duration_s(time_limit, "--time-limit") if time_limit else None,
        energy=energy,
        scratch=scratch,
        dry_run=dry_run,
        show_config=show_config,
        launch=launch,
        arguments=list(context.obj or []),
    )
    raise typer.Exit(measure(options, note))
