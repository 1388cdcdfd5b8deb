"""`sprintprof compare`: results files or profiles side by side, with a verdict per point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console

if TYPE_CHECKING:
    from rich.console import Console

    from sprintprof.compare.records import Comparison, PairComparison, PointComparison

_STYLE = {"faster": "green", "slower": "red", "not enough data": "dim", "not comparable": "yellow"}
_MISSING_SHOWN = 5


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(compare)


def compare(
    files: list[Path] = typer.Argument(..., help="Two or more results files (.h5) or profiles (.json)."),
    reference: str | None = typer.Option(None, metavar="NAME", help="Machine or file the others are compared with."),
    metric: str = typer.Option("time", help="time, host-time, flops or bandwidth."),
    margin: float = typer.Option(0.025, help="Relative difference under which nothing is called faster or slower."),
    across: list[str] | None = typer.Option(
        None, metavar="CONDITION", help="Compare although engine, precision, layout, fill, cache or sync differ."
    ),
    changed: bool = typer.Option(False, "--changed", help="Only points that are faster or slower."),
    all_points: bool = typer.Option(False, "--all", help="Every missing point and environment difference too."),
    fail_on_slower: bool = typer.Option(False, "--fail-on-slower", help="Exit with 1 where a point is slower."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Compare machines or runs: ratio, interval and verdict per point, what is missing, what differs around them."""
    from sprintprof.compare.compare import compare_files

    result = compare_files(files, reference=reference, metric=metric, across=across or (), margin=margin)
    if json_to:
        emit_json(result.to_plain(), json_to)
    if json_to != "-":
        _print(result, stdout_console(), changed, all_points)
    if fail_on_slower and any(pair.counts.get("slower") for pair in result.pairs):
        raise typer.Exit(1)


def _print(result: Comparison, console: Console, changed: bool, all_points: bool) -> None:
    for source in result.sources:
        role = " (reference)" if source.name == result.reference else ""
        about = f"{source.machine}  {source.created_utc}  {source.completeness}"
        console.print(f"[bold]{source.name}[/bold]{role}  {source.path}  {about}", soft_wrap=True)
    for pair in result.pairs:
        console.print()
        _print_points(result, pair, console, changed)
        _print_summary(result, pair, console, all_points)
    if len(result.pairs) > 1:
        means = ", ".join(f"{name} {mean.ratio:.3f}" for name, mean in result.common.items())
        points = next(iter(result.common.values())).points
        console.print(
            f"\nOver the {points} points that all share, geometric mean of ratios to {result.reference}: {means}"
        )


def _print_points(result: Comparison, pair: PairComparison, console: Console, changed: bool) -> None:
    from rich import box
    from rich.table import Table

    title = f"{pair.other} against {result.reference}: {result.metric}, {result.better} is better"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("point", overflow="fold")
    for head in (result.reference, pair.other, "ratio"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    rows = [p for p in pair.points if not changed or p.verdict in ("faster", "slower")]
    for point in rows:
        style = _STYLE.get(point.verdict, "")
        interval = f"{point.low:.3f}–{point.high:.3f}" if point.low == point.low else "–"
        verdict = f"[{style}]{point.verdict}[/{style}]" if style else point.verdict
        table.add_row(_label(point), *_values(result, point), f"{point.ratio:.3f}", interval, verdict)
    if rows:
        console.print(table)
    else:
        console.print(f"{title}: no such points")


def _label(point: PointComparison) -> str:
    from rich.markup import escape

    return escape(point.label)


def _values(result: Comparison, point: PointComparison) -> tuple[str, str]:
    from sprintprof.compare.metrics import METRICS

    show = METRICS[result.metric].show
    return show(point.reference), show(point.other)


def _print_summary(result: Comparison, pair: PairComparison, console: Console, all_points: bool) -> None:
    from rich.markup import escape

    counts = ", ".join(f"{count} {word}" for word, count in sorted(pair.counts.items()))
    console.print(f"{len(pair.points)} points on both sides: {counts or 'none'}")
    if pair.mean.points:
        each = ", ".join(f"{name} {mean.ratio:.3f} ({mean.points})" for name, mean in pair.mean_by_benchmark.items())
        console.print(f"Geometric mean of {pair.mean.points} ratios: [bold]{pair.mean.ratio:.3f}[/bold]; {each}")
    unsure = [p for p in pair.points if p.verdict == "not enough data"]
    reasons = {(p.remedy or p.why): p for p in unsure}
    for remedy, point in list(reasons.items())[:3]:
        console.print(f"not enough data, e.g. {escape(point.label)}: {point.why}; {remedy}", soft_wrap=True)
    for where in dict.fromkeys(m.missing_in for m in pair.missing):
        lacking = [m for m in pair.missing if m.missing_in == where]
        shown = lacking if all_points else lacking[:_MISSING_SHOWN]
        console.print(f"{len(lacking)} points missing in {where}:")
        for missing in shown:
            console.print(f"  {escape(missing.label)}: {escape(missing.why)}", soft_wrap=True)
        if len(shown) < len(lacking):
            console.print(f"  … {len(lacking) - len(shown)} more, see --all")
    if pair.neither:
        console.print(f"{pair.neither} planned points were measured on neither side")
    _print_differences(result, pair, console, all_points)
    for line in pair.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(line)}", soft_wrap=True)


def _print_differences(result: Comparison, pair: PairComparison, console: Console, all_points: bool) -> None:
    from rich.markup import escape

    differences = [*pair.settings, *pair.environment]
    shown = [change for change in differences if change.matters or all_points]
    others = len(differences) - len(shown)
    rest = f", {others} differences that do not: see --all" if others else ""
    if not shown:
        console.print(f"Nothing around them differs that matters{rest}")
        return
    console.print(f"What differs ({result.reference} | {pair.other}){rest}:")
    for change in shown:
        console.print(f"  {change.key}: {escape(change.reference)} | {escape(change.other)}", soft_wrap=True)
