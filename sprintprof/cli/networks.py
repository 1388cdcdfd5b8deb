"""`sprintprof networks`: list, show."""

from __future__ import annotations

import re
from typing import Any

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console
from sprintprof.records.errors import InputError
from sprintprof.units import format_size


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb = typer.Typer(help="Networks: layers, shapes, parameters, multiply-adds.", no_args_is_help=True)
    app.add_typer(verb, name="networks")
    verb.command("list")(list_)
    verb.command("show")(show)


def list_(json_to: str | None = JSON_OPTION) -> None:
    """List the built-in networks with parameters and multiply-adds."""
    from sprintprof.networks import list_networks, load_network
    from sprintprof.networks.describe import summary

    found = [summary(load_network(name)) for name in list_networks()]
    if json_to:
        emit_json(found, json_to)
    if json_to == "-":
        return
    table = _table("network", "input", "layers", "parameters", "multiply-adds")
    for n in found:
        counts = [str(n["layer_count"]), f"{n['parameters']:,}", f"{n['multiply_adds']:,}"]
        table.add_row(n["name"], _shape(n["input_shape"]), *counts)
    stdout_console().print(table)


def show(
    name: str = typer.Argument(help="Built-in network, or the path of a network file."),
    input_: str | None = typer.Option(None, "--input", metavar="CxHxW", help="Input in place of the file's."),
    batch: int | None = typer.Option(None, "--batch", help="Add FLOP and bytes of a training step on a sub-batch."),
    precision: str = typer.Option("fp32", "--precision", help="Of that step: fp64, fp32, tf32, fp16, bf16."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Show a network's layers with output shapes, parameters and multiply-adds."""
    from sprintprof.networks import load_network
    from sprintprof.networks.describe import describe

    result = describe(load_network(name, _parse_shape(input_)), batch, precision)
    if json_to:
        emit_json(result, json_to)
    if json_to == "-":
        return
    console = stdout_console()
    console.print(f"{result['name']}: {result['title']}" if result["title"] else result["name"])
    console.print(_layers(result, batch is not None))
    console.print(f"parameters {result['parameters']:,}, multiply-adds {result['multiply_adds']:,} a sample")
    if batch is not None:
        step = result["step"]
        least = f"{step['flop']:.4g} FLOP, at least {format_size(step['bytes'])} moved, {step['kernel_calls']} kernels"
        console.print(f"one training step on {batch} samples in {precision}: {least}")


def _parse_shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}([x×,]\d{1,9}){0,2}", text):
        raise InputError("--input", f"'{text}' is not a shape", "write channels, height, width, e.g. 3x224x224")
    return tuple(int(part) for part in re.split("[x×,]", text))


def _shape(sizes: list[int]) -> str:
    return "×".join(map(str, sizes))


def _table(first: str, *numbers: str) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(first, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _layers(result: dict[str, Any], with_step: bool) -> Any:
    headings = ["kind", "output", "parameters", "multiply-adds"]
    table = _table("layer", *headings, *(["GFLOP forward", "GFLOP backward"] if with_step else []))
    for layer in result["layers"]:
        cells = [layer["kind"], _shape(layer["output_shape"])]
        cells += [f"{layer[key]:,}" if layer[key] else "" for key in ("parameters", "multiply_adds")]
        if with_step:
            sums = layer.get("step", {})
            cells += [f"{sums[d]['flop'] / 1e9:.4g}" if d in sums else "" for d in ("forward", "backward")]
        table.add_row(layer["name"], *cells)
    return table
