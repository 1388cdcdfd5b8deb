"""CSV tables of published timings by a column map: which column is which parameter, its unit, which benchmark.

The map is TOML:

    device = "Tesla T4"              # or { column = "gpu" }: one set of measurements a device
    engine = "cudnn"
    source = "where the table is from, and its licence"
    statistic = "mean of the 5 fastest of 25"
    [where]                          # rows that count; without it all
    framework = ["caffe", "native"]
    [parameters]                     # of the benchmark: a column, a value, or a part of a column
    batch = "N"
    height = { column = "in_shape", part = 2 }
    precision = { column = "dtype", values = { Float = "fp32" } }
    dilation = 1
    layout = { value = "NCHW" }
    [[series]]                       # one for each column of times
    benchmark = "conv_forward"
    time = "fwd_ms"
    unit = "ms"
    skip_values = ["0"]              # cells that are no times, beside empty ones

A number, or a table with `value`, is the same in every row; text is a column's name.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from sprintprof.importers.measure import Numbering
from sprintprof.importers.rows import Trouble
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import InputError, Measurement, Point, SampleSet, Value

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
MOST_BYTES = 64 << 20


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a value is from: `column`, or `value` for all rows. `part` takes a word of the cell, `values` translates.

    `default` stands for an empty cell; without it such a row is skipped and reported.
    """

    column: str | None = None
    value: bool | int | float | str | None = None
    part: int | None = None
    values: dict[str, bool | int | float | str] = {}
    default: bool | int | float | str | None = None


Place = str | int | float | bool | Cell


class Series(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column of times. `parameters` add to those of the map, or replace them; `ranks` for collectives."""

    benchmark: str
    time: str
    unit: str = "s"
    parameters: dict[str, Place] = {}
    ranks: Place = 1
    skip_values: list[str] = []


class TableMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The map; see the module's text."""

    device: Place
    series: list[Series]
    engine: str = "imported"
    source: str = ""
    statistic: str = "as published"
    where: dict[str, list[str] | str] = {}
    parameters: dict[str, Place] = {}


class Imported(NamedTuple):
    """Measurements by device, in order of the table, and the rows that could not be read."""

    devices: dict[str, list[Measurement]]
    troubles: list[Trouble]


def load_map(path: Path) -> TableMap:
    """Read a column map. Raises InputError naming what is wrong."""
    try:
        table_map = msgspec.toml.decode(path.read_bytes(), type=TableMap)
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", "give a column map in TOML") from None
    except (msgspec.ValidationError, msgspec.DecodeError, ValueError) as error:
        raise InputError(str(path), f"is no column map: {str(error)[:200]}", "see docs/formats-profile.md") from None
    if not table_map.series:
        raise InputError(str(path), "has no [[series]]", "name the benchmark and the column of its times")
    for series in table_map.series:
        _check_series(str(path), table_map, series)
    return table_map


def _check_series(where: str, table_map: TableMap, series: Series) -> None:
    if series.unit not in UNITS:
        raise InputError(where, f"'{series.unit}' is not a unit of time", f"units are {', '.join(UNITS)}")
    spec = KERNELS.get(series.benchmark)
    given = table_map.parameters | series.parameters
    missing = [name for name in spec.parameters if name not in given] if spec else []
    unknown = [name for name in given if name not in spec.parameters] if spec else []
    if missing or unknown:
        what = f"lacks the parameter {missing[0]}" if missing else f"has no parameter {unknown[0]}"
        raise InputError(
            where, f"{series.benchmark} {what}", f"its parameters are {', '.join(spec.parameters)}" if spec else ""
        )


def read_table(path: Path, table_map: TableMap) -> Imported:
    """Read a CSV table by its map.

    Rows without a time (an empty cell, or one of `skip_values`) are passed over; rows that cannot be read are
    reported in `troubles`. Raises InputError where the file cannot be read or lacks a column of the map.
    """
    devices: dict[str, list[Measurement]] = {}
    troubles: list[Trouble] = []
    numbering = Numbering()
    for line, row in _rows(path, _columns_of(table_map)):
        if any(row[name] not in _listed(wanted) for name, wanted in table_map.where.items()):
            continue
        for series in table_map.series:
            text = row[series.time].strip()
            if text in ("", *series.skip_values):
                continue
            try:
                device, measurement = _measurement(path, line, row, table_map, series, numbering)
            except (ValueError, InputError, ArithmeticError) as error:
                troubles.append(Trouble(line, text[:40], f"{series.benchmark}: {str(error)[:160]}"))
                continue
            devices.setdefault(device, []).append(measurement)
    return Imported(devices, troubles)


def _rows(path: Path, needed: set[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, cells by column) of each row."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(str(path), "is too large for a table of timings", "import it in parts")
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            lacking = sorted(needed - set(reader.fieldnames or []))
            if lacking:
                known = ", ".join(reader.fieldnames or [])[:200]
                raise InputError(str(path), f"has no column '{lacking[0]}'", f"its columns are {known}")
            for row in reader:
                yield reader.line_num, {k: v or "" for k, v in row.items() if isinstance(k, str)}
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", "give a CSV table") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(str(path), f"is not a CSV table ({str(error)[:80]})", "save it as UTF-8 text") from None


def _columns_of(table_map: TableMap) -> set[str]:
    places: list[Place] = [table_map.device, *table_map.parameters.values()]
    needed = set(table_map.where)
    for series in table_map.series:
        places += [*series.parameters.values(), series.ranks]
        needed.add(series.time)
    for place in places:
        column = place.column if isinstance(place, Cell) else place if isinstance(place, str) else None
        if column is not None:
            needed.add(column)
    device = table_map.device
    return needed - {device} if isinstance(device, str) else needed


def _listed(wanted: list[str] | str) -> list[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def _measurement(
    path: Path, line: int, row: Mapping[str, str], table_map: TableMap, series: Series, numbering: Numbering
) -> tuple[str, Measurement]:
    time_s = float(row[series.time]) * UNITS[series.unit]
    if not (math.isfinite(time_s) and time_s > 0):
        raise ValueError("the time is not above 0")
    spec = KERNELS.get(series.benchmark)
    places = table_map.parameters | series.parameters
    names = list(spec.parameters) if spec else list(places)
    parameters: dict[str, Value] = {}
    for name in names:
        parameters[name] = _typed(name, _value(name, places[name], row), spec.parameters[name] if spec else None)
    ranks = int(_typed("ranks", _value("ranks", series.ranks, row), int))
    key = (series.benchmark, tuple(parameters.items()), ranks)
    device = table_map.device if isinstance(table_map.device, str) else str(_value("device", table_map.device, row))
    point = Point(series.benchmark, table_map.engine, parameters, ranks, numbering.next(device, *key))
    extra: dict[str, Value] = {"table": path.name, "line": line, "statistic": table_map.statistic}
    if table_map.source:
        extra["source"] = table_map.source
    flop, size = (spec.flop(parameters), spec.bytes(parameters)) if spec else (math.nan, math.nan)
    return device, Measurement(
        point, "ok", flop=flop, bytes=size, median_s=time_s, stop_reason=f"imported: {table_map.statistic}",
        extra=extra, samples=SampleSet({"time_s": np.array([time_s])}),
    )  # fmt: skip


def _value(name: str, place: Place, row: Mapping[str, str]) -> Value:
    if isinstance(place, int | float):
        return place
    cell = Cell(column=place) if isinstance(place, str) else place
    if cell.value is not None:
        return cell.value
    if cell.column is None:
        raise ValueError(f"the map says neither column nor value of {name}")
    text = row[cell.column].strip()
    if cell.part is not None and text:
        words = text.split()
        if not -len(words) <= cell.part < len(words):
            raise ValueError(f"{name}: '{text[:40]}' has no part {cell.part}")
        text = words[cell.part]
    if text == "":
        if cell.default is None:
            raise ValueError(f"{name}: column {cell.column} is empty")
        return cell.default
    if cell.values:
        if text not in cell.values:
            raise ValueError(f"{name}: the map does not say what '{text[:40]}' means")
        return cell.values[text]
    return text


def _typed(name: str, value: Value, wanted: type | None) -> Any:
    """The value as the parameter's type; without one, text that reads as a number is one."""
    if wanted is str:
        return str(value)
    if wanted is int:
        number = float(value)
        if number != int(number):
            raise ValueError(f"{name}: {value} is not a whole number")
        return int(number)
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
