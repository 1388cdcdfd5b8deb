"""`sprintprof list`: what can be measured."""

from __future__ import annotations

from typing import Any

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list")(list_benchmarks)


def list_benchmarks(
    patterns: list[str] = typer.Argument(None, metavar="[NAME…]", help="Benchmarks or groups; wildcards allowed."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """List benchmarks with their axes, and the suites."""
    from sprintprof.bench.registry import Benchmark
    from sprintprof.bench.run.selection import select_benchmarks
    from sprintprof.bench.run.suite_files import list_suites, load_suite

    chosen = select_benchmarks(patterns or [])
    suites = [load_suite(name) for name in list_suites()]

    def plain(b: Benchmark) -> dict[str, Any]:
        axes = [{"name": a.name, "type": a.type.__name__, "default": a.default, "help": a.help} for a in b.axes]
        return {
            "name": b.name, "group": b.group, "summary": b.summary, "window": b.window, "formula": b.formula,
            "engines": list(b.engines), "parallel": b.parallel, "min_ranks": b.min_ranks, "axes": axes,
        }  # fmt: skip

    if json_to:
        listed = [{"name": s.name, "description": s.description, "rows": len(s.rows)} for s in suites]
        emit_json({"benchmarks": [plain(b) for b in chosen], "suites": listed}, json_to)
        if json_to == "-":
            return
    console = stdout_console()
    group = ""
    for b in chosen:
        if b.group != group:
            group = b.group
            console.print(f"\n[bold]{group}[/bold]")
        axes = " ".join(f"{a.name}={a.default}" for a in b.axes)
        console.print(f"  [cyan]{b.name}[/cyan]  {b.summary}", soft_wrap=True)
        if len(chosen) <= 3:
            console.print(f"      timed: {b.window}", soft_wrap=True)
            if b.formula:
                console.print(f"      rates: {b.formula}", soft_wrap=True)
            for a in b.axes:
                console.print(f"      {a.name} ({a.type.__name__}, default {a.default})  {a.help}", soft_wrap=True)
        elif axes:
            console.print(f"      [dim]{axes}[/dim]", soft_wrap=True)
    console.print("\n[bold]suites[/bold]")
    for s in suites:
        console.print(f"  [cyan]{s.name}[/cyan]  {len(s.rows)} rows: {s.description}", soft_wrap=True)
