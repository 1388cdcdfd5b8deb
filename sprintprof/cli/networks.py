"""`sprintprof networks`: list, show, import."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from sprintprof.cli.output import JSON_OPTION, emit_json, stdout_console
from sprintprof.records.errors import InputError
from sprintprof.units import format_size, parse_size_bytes


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb = typer.Typer(help="Networks: layers, shapes, parameters, multiply-adds.", no_args_is_help=True)
    app.add_typer(verb, name="networks")
    verb.command("list")(list_)
    verb.command("show")(show)
    verb.command("import")(import_)


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
    batch: int | None = typer.Option(None, "--batch", help="Add FLOP, bytes and memory of training on a sub-batch."),
    precision: str = typer.Option("fp32", "--precision", help="Of that training: fp64, fp32, tf32, fp16, bf16."),
    optimizer: str = typer.Option("momentum", "--optimizer", help="Of that training: sgd, momentum, lars, adam."),
    memory: str | None = typer.Option(None, "--memory", metavar="SIZE", help="Name the largest sub-batch that fits."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Show a network's layers with output shapes, parameters and multiply-adds."""
    from typing import cast

    from sprintprof.networks import load_network
    from sprintprof.networks.describe import describe
    from sprintprof.networks.memory import Optimizer, largest_batch

    network, kind = load_network(name, _parse_shape(input_)), cast("Optimizer", optimizer)
    result = describe(network, batch, precision, kind)
    if memory is not None:
        result["largest_batch"] = largest_batch(network, parse_size_bytes(memory, "--memory"), precision, kind)
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
        parts = [f"{key.removesuffix('_bytes')} {format_size(size)}" for key, size in result["memory"].items()]
        console.print(f"memory ({optimizer}): {', '.join(parts)}")
    if memory is not None:
        console.print(f"largest sub-batch in {memory}: {result['largest_batch']}")


def import_(
    model: str = typer.Argument(help="ONNX file."),
    output: str = typer.Option(..., "--output", "-o", metavar="FILE", help="Network file to write; not overwritten."),
    input_: str | None = typer.Option(None, "--input", metavar="CxHxW", help="For models that leave it open."),
    tensor: str | None = typer.Option(None, "--tensor", help="Which of several outputs is the network's."),
    json_to: str | None = JSON_OPTION,
) -> None:
    """Turn an ONNX model into a network file. Weights are not read, only shapes."""
    from sprintprof.networks import load_network
    from sprintprof.networks.describe import summary
    from sprintprof.networks.from_onnx import import_onnx
    from sprintprof.networks.writer import save_network

    save_network(import_onnx(model, _parse_shape(input_), tensor), output)
    result = summary(load_network(Path(output)))
    if json_to:
        emit_json(result, json_to)
    if json_to != "-":
        counts = f"{result['parameters']:,} parameters, {result['multiply_adds']:,} multiply-adds a sample"
        stdout_console().print(f"{output}: {result['layer_count']} layers, {counts}")


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
