"""`sprintprof show`: look into a results file or a profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console
from sprintprof.records.errors import InputError
from sprintprof.units import format_flops, format_rate_Bps, format_share, format_time

if TYPE_CHECKING:
    from sprintprof.store import Results


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("show")(show)


def show(
    file: Path = typer.Argument(..., help="Results file (.h5) or profile (.json)."),
    benchmark: str | None = typer.Option(None, help="All points of one benchmark."),
    point: str | None = typer.Option(None, metavar="KEY", help="One point with its samples; the key may be cut short."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Show a results file or a profile: overview, one benchmark, one point."""
    if not file.exists():
        raise InputError(str(file), "does not exist", "give a results file or a profile")
    if file.suffix == ".json":
        if benchmark or point:
            raise InputError(str(file), "is a profile, which has no points", "leave --benchmark and --point out")
        _show_profile(file, json_to)
        return
    from sprintprof.store import load_results

    results = load_results(file)
    if point:
        _show_point(results, point, json_to)
    elif benchmark:
        _show_benchmark(results, benchmark, json_to)
    else:
        _show_overview(results, json_to)


def _show_overview(results: Results, json_to: str | None) -> None:
    from sprintprof.environment.collect import from_plain
    from sprintprof.environment.registry import show as show_value
    from sprintprof.report.results_view import overview

    seen = overview(results)
    if json_to:
        emit_json(seen, json_to)
        if json_to == "-":
            return
    console = stdout_console()
    sessions = f", {seen['sessions']} sessions" if seen["sessions"] > 1 else ""
    console.print(f"[bold]{seen['machine']}[/bold]  {seen['created_utc']}  sprintprof {seen['tool_version']}")
    console.print(f"{seen['done']} of {seen['planned']} points, {seen['ranks']} ranks{sessions}")
    for key, value in from_plain(seen["environment"]).items():
        console.print(f"  [dim]{key}[/dim] {show_value(key, value)}", soft_wrap=True, no_wrap=True, overflow="ellipsis")
    table = _table("benchmark", ">points", ">ok", ">failed", ">skipped", ">fastest", ">slowest", "flags")
    for line in seen["benchmarks"]:
        times = [format_time(line[k]) if line[k] is not None else "–" for k in ("fastest_s", "slowest_s")]
        flags = " ".join(f"{name}:{count}" for name, count in line["flags"].items())
        counts = [str(line[k]) for k in ("points", "ok", "failed", "skipped")]
        table.add_row(line["benchmark"], *counts, *times, flags)
    console.print(table)
    reasons = {(line["benchmark"], r): n for line in seen["benchmarks"] for r, n in line["reasons"].items()}
    for (name, reason), count in reasons.items():
        console.print(f"{count} × {name}: {reason}", soft_wrap=True)


def _show_benchmark(results: Results, benchmark: str, json_to: str | None) -> None:
    from sprintprof.report.results_view import benchmark_rows, measured_peaks, point_row, share_of_peak, varying

    if json_to:
        emit_json(benchmark_rows(results, benchmark), json_to)
        if json_to == "-":
            return
    measurements = results.measurements_of(benchmark)
    names = varying([m.point for m in measurements])
    ranked = len({m.point.ranks for m in measurements}) > 1
    launched = len({m.point.launch for m in measurements}) > 1
    heads = ["key", *names, *(["ranks"] if ranked else []), *(["launch"] if launched else [])]
    table = _table(*heads, ">median", ">± 95 %", ">rate", ">of peak", ">n", "flags or reason")
    peaks = measured_peaks(results)
    own = False
    for m in sorted(
        measurements, key=lambda m: ([str(type(v)) + f"{v:>20}" for v in m.point.parameters.values()], m.point.ranks)
    ):
        row = point_row(m)
        half = (m.high_s - m.low_s) / 2 / m.median_s if m.status == "ok" else float("nan")
        cells = [m.key[:8], *(str(m.point.parameters.get(n, "")) for n in names)]
        cells += [str(m.point.ranks)] if ranked else []
        cells += [str(m.point.launch)] if launched else []
        spread = f"{100 * half:.1f} %" if half == half else "–"
        trouble = " ".join(m.flags) if m.status == "ok" else f"{m.status}: {m.reason}"
        share, declared = share_of_peak(m, peaks)
        own |= share == share and not declared
        told = format_share(share, 0) + ("" if declared or share != share else " *")
        table.add_row(*cells, format_time(m.median_s), spread, _rates(row), told, str(len(m.samples)), trouble)
    console = stdout_console()
    console.print(table)
    if own:
        console.print("* of the highest rate measured in this file; run with --machine FILE.toml for the machine's own")


def _rates(row: dict[str, Any]) -> str:
    if row["flop_per_s"] and row["flop"] and row["bytes"] and row["flop"] > 4 * row["bytes"]:
        return format_flops(row["flop_per_s"])
    return format_rate_Bps(row["bytes_per_s"]) if row["bytes_per_s"] else "–"


def _show_point(results: Results, which: str, json_to: str | None) -> None:
    from sprintprof.report.results_view import find_point, histogram_line, point_detail

    m = find_point(results, which)
    detail = point_detail(results, m)
    if json_to:
        emit_json(detail, json_to)
        if json_to == "-":
            return
    console = stdout_console()
    console.print(f"[bold]{m.point.label()}[/bold]  engine {m.point.engine}  launch {m.point.launch}  key {m.key}")
    if m.status != "ok":
        console.print(f"{m.status}: {m.reason}")
        return
    low, high = format_time(m.low_s), format_time(m.high_s)
    console.print(f"median {format_time(m.median_s)}  (95 % interval {low} to {high})  least {format_time(m.min_s)}")
    console.print(f"first call {format_time(m.first_s)}  {_rates(detail)}  {m.stop_reason}")
    if m.flags:
        from sprintprof.records import FLAGS

        for flag in m.flags:
            console.print(f"[yellow]{flag}[/yellow]: {FLAGS.get(flag, '')}")
    times = m.samples.time_s
    if len(times):
        console.print(
            f"{format_time(times.min())} {histogram_line(times)} {format_time(times.max())}  {len(times)} samples"
        )
    for name, value in detail["extra"].items():
        console.print(f"  [dim]{name}[/dim] {value}")
    for name, reason in m.samples.missing.items():
        console.print(f"  [dim]{name}[/dim] missing({reason})")
    columns = list(m.samples.columns)
    table = _table(">#", *(f">{c}" for c in columns))
    for i in range(len(times)):
        table.add_row(str(i), *(_cell(c, float(m.samples.columns[c][i])) for c in columns))
    console.print(table)


def _cell(column: str, value: float) -> str:
    return format_time(value) if column.endswith("_s") else f"{value:g}"


def _show_profile(file: Path, json_to: str | None) -> None:
    from sprintprof.profile import load_profile

    profile = load_profile(file)
    if json_to:
        emit_json(profile, json_to)
        if json_to == "-":
            return
    console = stdout_console()
    console.print(f"[bold]{profile.machine}[/bold]  {profile.created_utc}  sprintprof {profile.tool_version}")
    for source in profile.sources:
        console.print(f"  from {source.file}: {source.points_used} points used")
    table = _table("level", "benchmark", "engine", "family", ">fits", ">points", ">median error", ">worst")
    groups: dict[tuple[str, str, str, str], list[Any]] = {}
    for fit in profile.fits:
        groups.setdefault((fit.level, fit.benchmark, fit.engine, fit.family), []).append(fit)
    for key, fits in groups.items():
        errors = [f.error.median for f in fits if f.error.median == f.error.median]
        worst = [f.error.worst for f in fits if f.error.worst == f.error.worst]
        middle = f"{100 * sorted(errors)[len(errors) // 2]:.1f} %" if errors else "–"
        top = f"{100 * max(worst):.1f} %" if worst else "–"
        table.add_row(*key, str(len(fits)), str(sum(f.points for f in fits)), middle, top)
    console.print(table)
    for warning in profile.warnings:
        console.print(f"[yellow]warning[/yellow] {warning}", soft_wrap=True)


def _table(*heads: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head.lstrip(">"), justify="right" if head.startswith(">") else "left")
    return table
