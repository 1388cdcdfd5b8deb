"""DeepBench's published workbooks of training kernels: matrix products, convolutions, all-reduce.

Columns go by the text of their headings, which differ between workbooks (the filter's height and width, the paddings
and the strides come in either order). Times are in ms. The recurrent layers have no benchmark here and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sprintprof.importers.measure import Numbering
from sprintprof.importers.names import parameters_of
from sprintprof.importers.rows import Trouble
from sprintprof.importers.xlsx import Sheet, read_workbook
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import InputError, Measurement, Point, SampleSet, Value

ENGINE = "vendor"
"""The vendor's library, whichever it was."""
SOURCE = "baidu-research/DeepBench (Apache-2.0)"
PRECISIONS = {"float": "fp32", "16 bit inputs, 16 bit multiplication, 32 bit addition": "fp16"}
_PASSES = {
    "conv_forward": "forward (msec)",
    "conv_backward_data": "wrt inputs (msec)",
    "conv_backward_filter": "wrt parameters (msec)",
}
Cells = Mapping[str, str]
Found = tuple[str, dict[str, Value], int, float]
"""Benchmark, parameters, ranks and time in s of one result."""


class Workbook(NamedTuple):
    """What a workbook holds: device, its facts as the workbook's last sheet has them, measurements, bad rows."""

    device: str
    facts: dict[str, str]
    measurements: list[Measurement]
    troubles: list[Trouble]


def read_deepbench(path: Path) -> Workbook:
    """Read a workbook. Raises InputError where it is no DeepBench workbook."""
    device = path.stem.removeprefix("DeepBench_")
    measurements: list[Measurement] = []
    troubles: list[Trouble] = []
    facts: dict[str, str] = {}
    numbering = Numbering()
    for sheet in read_workbook(path):
        precision = _precision(sheet)
        if precision is None:
            facts |= {row["A"]: row["B"] for _, row in sheet.rows if "A" in row and "B" in row}
            continue
        for number, item in _results(sheet, precision):
            if isinstance(item, Trouble):
                troubles.append(item)
            else:
                measurements.append(_measurement(path, sheet, number, item, numbering))
    if not measurements:
        raise InputError(str(path), "has none of DeepBench's tables", "give a workbook of its training results")
    return Workbook(device, facts, measurements, troubles)


def _precision(sheet: Sheet) -> str | None:
    """The precision of a sheet of results; None for other sheets."""
    named = next((row["B"] for _, row in sheet.rows[:3] if row.get("A") == "Precision" and "B" in row), None)
    return None if named is None else PRECISIONS.get(named.lower(), named)


def _results(sheet: Sheet, precision: str) -> Iterator[tuple[int, Found | Trouble]]:
    """(row, result) of every cell with a time, table by table."""
    columns: dict[str, str] = {}
    reader: Callable[[Cells, str], Iterator[Found]] | None = None
    for number, row in sheet.rows:
        headings = {" ".join(text.lower().split()): letter for letter, text in row.items()}
        found = _reader(headings)
        if found or "A" in row:
            columns, reader = headings, found
        elif reader and row:
            cells = {name: row[letter] for name, letter in columns.items() if letter in row}
            if reader is _all_reduce and "E" in row:  # without a heading, from two nodes on
                cells["nodes"] = row["E"]
            try:
                for item in reader(cells, precision):
                    yield number, item
            except KeyError:
                continue  # notes and separators between the rows
            except ValueError as error:
                yield number, Trouble(number, str(row)[:60], str(error)[:160])


def _reader(headings: Mapping[str, str]) -> Callable[[Cells, str], Iterator[Found]] | None:
    if {"m", "n", "k", "a transpose", "time (msec)"} <= set(headings):
        return _product
    if {"w", "h", "c", "n", "k", "forward (msec)"} <= set(headings):
        return _convolution
    return _all_reduce if "size # floats" in headings else None


def _product(cells: Cells, precision: str) -> Iterator[Found]:
    transpose = (cells["a transpose"] + cells["b transpose"]).lower()
    sizes: dict[str, Value] = {name: _whole(cells[name]) for name in ("m", "n", "k")}
    if time_s := _time_s(cells.get("time (msec)", "")):
        yield "gemm", {**sizes, "transpose": transpose, "precision": precision}, 1, time_s


def _convolution(cells: Cells, precision: str) -> Iterator[Found]:
    def named(heading: str) -> int:
        return _whole(_under(cells, heading, f"{heading} ("))  # "s" or "s (filter width)"

    parameters: dict[str, Value] = {
        "batch": named("n"), "channels": named("c"), "height": named("h"), "width": named("w"), "filters": named("k"),
        "kernel_h": named("r"), "kernel_w": named("s"), "stride_h": named("vertical stride"),
        "stride_w": named("horizontal stride"), "pad_h": named("pad_h"), "pad_w": named("pad_w"), "dilation": 1,
        "groups": 1, "precision": precision, "layout": "NCHW",
    }  # fmt: skip
    for benchmark, heading in _PASSES.items():
        if time_s := _time_s(cells.get(heading, "")):
            yield benchmark, parameters, 1, time_s


def _all_reduce(cells: Cells, precision: str) -> Iterator[Found]:
    floats = _whole(cells["size # floats"])
    ranks = _whole(_under(cells, "", "# chips", "# nodes"))
    spread = any(name.startswith("# nodes") for name in cells) or "nodes" in cells
    given: dict[str, Value] = {"size_bytes": 4 * floats, "precision": precision}
    parameters = parameters_of("allreduce", {**given, "placement": "spread" if spread else "packed"})
    if time_s := _time_s(cells.get("mean all reduce time (msec)", "")):
        yield "allreduce", parameters, ranks, time_s


def _under(cells: Cells, heading: str, *starts: str) -> str:
    """The cell under a heading of that name, or of one that starts so. Raises KeyError where there is none."""
    for name, text in cells.items():
        if name == heading or name.startswith(starts):
            return text
    raise KeyError(heading)


def _whole(text: str) -> int:
    number = float(text)
    if number != int(number):
        raise ValueError(f"{text} is not a whole number")
    return int(number)


def _time_s(text: str) -> float:
    """Seconds; 0 where there is no time (empty, or N/A for the first layer's input gradient)."""
    if not text or text.upper().startswith("N/A"):
        return 0.0
    time_s = float(text) * 1e-3
    if not (math.isfinite(time_s) and time_s > 0):
        raise ValueError(f"the time {text} ms is not above 0")
    return time_s


def _measurement(path: Path, sheet: Sheet, row: int, found: Found, numbering: Numbering) -> Measurement:
    benchmark, parameters, ranks, time_s = found
    spec = KERNELS.get(benchmark)
    flop = spec.flop(parameters) if spec else math.nan
    size = spec.bytes(parameters) if spec else float(parameters["size_bytes"])
    key = (benchmark, tuple(parameters.items()), ranks)
    return Measurement(
        Point(benchmark, ENGINE, parameters, ranks, numbering.next(*key)), "ok", flop=flop, bytes=size,
        median_s=time_s, stop_reason="imported: as published",
        extra={"table": path.name, "sheet": sheet.name, "line": row, "source": SOURCE},
        samples=SampleSet({"time_s": np.array([time_s])}),
    )  # fmt: skip
