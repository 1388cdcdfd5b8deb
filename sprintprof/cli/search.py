"""`sprintprof search`: the configuration that meets a target best."""

from __future__ import annotations

from typing import Any

import typer

from sprintprof.cli import model_options as opt
from sprintprof.cli.output import JSON_OPTION, emit_json, note

SHOWN = 12
SHARED = [o for o in opt.CYCLES if o[0] in ("distribution", "interference")]


def register(app: typer.Typer) -> None:
    """Add the verb to the application."""
    app.command("search")(opt.takes(*opt.WORKLOAD, *SHARED)(search))


def search(
    shared: dict[str, Any],
    profiles: list[str] = typer.Argument(..., metavar="PROFILE.json...", help="One machine or several."),
    nodes: str = typer.Option("1..16", "--nodes", metavar="RANGE", help="1,2,4 or 1..16 or 8..128:8 or 1..64:x2."),
    gpus_per_node: str = typer.Option("1", "--gpus-per-node", metavar="RANGE", help="As --nodes."),
    sub_batch: str = typer.Option("1..32", "--sub-batch", metavar="RANGE", help="As --nodes."),
    strategy: str = typer.Option("sprint", "--strategy", help="sprint,bsp,asp,ssp:S,dssp:LOW:HIGH,softsync:N."),
    objective: str = typer.Option("epoch-time", "--objective", help="epoch-time, gpu-hours, updates:NUMBER or energy."),
    target_batch: float | None = typer.Option(None, "--target-batch", help="Mean mini-batch wanted, in samples."),
    tolerance: float = typer.Option(0.1, "--tolerance", help="|E[B] − target| may be at most this share of it."),
    max_staleness: float | None = typer.Option(None, "--max-staleness", help="Greatest mean staleness."),
    max_staleness_quantile: str | None = typer.Option(
        None, "--max-staleness-quantile", metavar="QUANTILE:MOST", help="E.g. 0.95:12."
    ),
    memory: str | None = typer.Option(None, "--memory", metavar="SIZE", help="Memory of one GPU, e.g. 16G."),
    max_hours: float | None = typer.Option(None, "--max-hours", help="Longest epoch in hours."),
    max_gpus: int | None = typer.Option(None, "--max-gpus", help="Most GPUs."),
    gpu_power: float | None = typer.Option(None, "--gpu-power", metavar="W", help="For energy; else the profile's."),
    current: str | None = typer.Option(
        None, "--current", metavar="NODES,GPUS,SUBBATCH", help="What runs now: kept unless 5 % are to be gained."
    ),
    sweep: list[str] = typer.Option([], "--sweep", metavar="FILE", help="Write the whole grid as .csv or .h5."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Find nodes, GPUs, sub-batch and strategy that are fastest under limits."""
    from sprintprof.model.search.limits import Limits, parse_quantile
    from sprintprof.model.search.request import opened, parse_goal, parse_place
    from sprintprof.model.search.search import candidate_for, report
    from sprintprof.model.search.search import search as searched
    from sprintprof.model.search.space import Space, parse_range, parse_strategies
    from sprintprof.model.search.sweep import check_free, write_sweep
    from sprintprof.units import parse_size_bytes

    for target in sweep:
        check_free(target)
    space = Space(
        parse_range("--nodes", nodes),
        parse_range("--gpus-per-node", gpus_per_node),
        parse_range("--sub-batch", sub_batch),
        parse_strategies(strategy),
    )
    limits = Limits(
        target_batch,
        tolerance,
        max_staleness,
        parse_quantile(max_staleness_quantile) if max_staleness_quantile else None,
        parse_size_bytes(memory, "--memory") if memory else None,
        max_hours,
        max_gpus,
    )
    base = opt.request_of(profiles[0], {**shared, "strategy": space.strategies[0].name})
    machines = opened(profiles, base)
    goal = parse_goal(objective, gpu_power, [estimator for _, estimator in machines])
    now = candidate_for(parse_place(current), machines, base, space, goal) if current else None
    found = searched(machines, base, space, limits, goal)
    names = [name for name, _ in machines]
    result = report(found, space, names, now)
    for target in sweep:
        write_sweep(target, found.grid, names, [s.name for s in space.strategies], found.allowed)
    if json_to != "-":
        _print(result, objective)
    if json_to is not None:
        emit_json(result, json_to)
    if not found.finalists:
        note("no configuration is within all limits")
        raise typer.Exit(1)


def _print(result: dict[str, Any], objective: str) -> None:
    from rich.table import Table

    from sprintprof.cli.output import stdout_console
    from sprintprof.units import format_share, format_time

    for warning in result["warnings"]:
        note(f"warning: {warning}")
    console = stdout_console()
    out = ", ".join(f"{option} {count}" for option, count in result["ruled_out"].items())
    console.print(
        f"{result['configurations']} configurations, {result['allowed']} allowed" + f"; ruled out: {out}" * bool(out)
    )
    table = Table(title=f"by {objective}", title_justify="left")
    for name in ("", "machine", "strategy"):
        table.add_column(name, no_wrap=True)
    for name in ("nodes", "GPUs", "batch", "epoch", "GPU h", "E[B]", "E[S]"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = [("best", result["best"]), ("runner-up", result["runner_up"])]
    if result["kept_current"]:
        rows.insert(0, ("kept", result["choice"]))
    for title, row in rows:
        if row is not None:
            batch, stale = row["minibatch"]["mean"], row["staleness"]["mean"]
            place = [str(row[k]) for k in ("machine", "strategy", "nodes", "gpus_per_node", "sub_batch")]
            times = [format_time(row["epoch_time_s"]), f"{row['gpu_hours']:.3g}", f"{batch:.4g}", f"{stale:.4g}"]
            table.add_row(title, *place, *times)
    for row in result["pareto"][:SHOWN]:
        place = [str(row[k]) for k in ("machine", "strategy", "nodes", "gpus_per_node", "sub_batch")]
        times = [format_time(row["epoch_time_s"]), f"{row['gpu_hours']:.3g}"]
        table.add_row("Pareto", *place, *times, f"{row['minibatch_mean']:.4g}", f"{row['staleness_mean']:.4g}")
    console.print(table)
    if result["runner_up"] is not None:
        sure = format_share(result["order_is_sure"], 0)
        near = result["within_5_percent"]
        console.print(f"best before runner-up in {sure} of draws of the coefficients; within 5 %: {near} more")
