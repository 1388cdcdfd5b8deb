"""The `points` table: one row a measurement, one typed column a parameter, and back again without loss.

Points of one benchmark may have different parameters, and one parameter different types. A column takes the widest
type (bool < int < float < text) that holds every value exactly; a *layout* says which names a row has and of which
type, so that a column's fill is never read as a value. What finds no room in a row (HDF5 limits its description to
64 KiB) goes as JSON into the column `row_more`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sprintprof.records import Value
from sprintprof.store.schema import (
    BOOL_MEMBERS,
    FIXED_COLUMNS,
    MISSING_INT,
    SUMMARY_FIELDS,
)
from sprintprof.store.stored import Stored
from sprintprof.store.text import ESCAPE, escape, to_json, unescape

ORIGINS = ("parameters", "extra")
_ROOM_BYTES = 40_000
_EXACT = 2**53


class Column(NamedTuple):
    """Where a name of `parameters` or `extra` is kept: its column (empty: in `row_more`) and the column's kind."""

    origin: str
    name: str
    column: str
    kind: str


_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}


def type_name(value: Value) -> str:
    """bool, int, float or str; a subclass (NumPy's float64, say) counts as its base."""
    exact = _TYPES.get(type(value))
    return exact or next(name for base, name in _TYPES.items() if isinstance(value, base))


def _kind(typed: set[tuple[str, Value]]) -> str:
    """The narrowest of bool, int, float, text that holds all values exactly."""
    types = {t for t, _ in typed}
    if types == {"bool"}:
        return "bool"
    if "str" in types:
        return "text"
    whole = [int(v) for t, v in typed if t != "float"]
    if "float" not in types:
        return "int" if all(MISSING_INT < v < 2**63 for v in whole) else "text"
    return "float" if all(abs(v) <= _EXACT for v in whole) else "text"


def _fields(item: Stored, origin: str) -> dict[str, Value]:
    return item.row.point.parameters if origin == "parameters" else item.row.extra


def plan_columns(stored: Sequence[Stored]) -> list[Column]:
    """A column for every name the rows have, parameters first."""
    columns: list[Column] = []
    taken = set(FIXED_COLUMNS)
    room = _ROOM_BYTES
    for origin in ORIGINS:
        seen: dict[str, set[tuple[str, Value]]] = {}
        for item in stored:
            for name, value in _fields(item, origin).items():
                seen.setdefault(name, set()).add((type_name(value), value))
        for name, typed in seen.items():
            column = escape(name) or ESCAPE
            while column in taken:
                column = f"{origin}.{column}"
            room -= len(column.encode()) + 64
            if room < 0:
                columns.append(Column(origin, name, "", "more"))
                continue
            taken.add(column)
            columns.append(Column(origin, name, column, _kind(typed)))
    return columns


def points_dtype(columns: Sequence[Column]) -> np.dtype[np.void]:
    """Type of a row: parameters, fixed columns, then what the benchmark adds."""
    import h5py

    text = h5py.string_dtype()
    kinds = {"bool": h5py.enum_dtype(BOOL_MEMBERS, "i1"), "int": "<i8", "float": "<f8", "text": text}
    fixed = dict.fromkeys(FIXED_COLUMNS, "<i8") | dict.fromkeys((*SUMMARY_FIELDS, "first_s"), "<f8")
    fixed |= dict.fromkeys(("engine", "reason", "flags", "stop_reason", "row_more"), text)
    fixed |= {"status": h5py.string_dtype("utf-8", 8), "key": h5py.string_dtype("utf-8", 16)}
    fixed["origin"] = fixed["key"]
    by_origin = {
        origin: [(c.column, kinds[c.kind]) for c in columns if c.origin == origin and c.column] for origin in ORIGINS
    }
    return np.dtype([*by_origin["parameters"], *((n, fixed[n]) for n in FIXED_COLUMNS), *by_origin["extra"]])


def check_columns(found: np.dtype[Any]) -> None:
    """Raise ValueError unless a table has all fixed columns, each of its type, and the others of types we write."""
    import h5py

    expected = points_dtype([])
    for name in expected.names or ():
        if name not in (found.names or ()) or found[name] != expected[name]:
            raise ValueError(f"column {name} is missing or of another type")
    for name in found.names or ():
        column = found[name]
        if column.kind == "O" and h5py.check_string_dtype(column) is None:
            raise ValueError(f"column {name} is not text")
        if column.kind not in "OS" and column not in (np.dtype("i1"), np.dtype("<i8"), np.dtype("<f8")):
            raise ValueError(f"column {name} is of type {column}")


_FILL: dict[str, Any] = {"bool": BOOL_MEMBERS["MISSING"], "int": MISSING_INT, "float": np.nan, "text": ""}


def _to_cell(kind: str, value: Value) -> Any:
    if kind == "text":
        return escape(value) if isinstance(value, str) else str(value)
    return {"bool": int, "int": int, "float": float}[kind](value)


def from_cell(kind: str, cell: Any) -> Value:
    """The value of the type a layout names, from a cell of whatever kind the column has."""
    if kind == "bool":
        return cell == "True" if isinstance(cell, str) else bool(cell)
    if kind == "int":
        return int(cell)
    return float(cell) if kind == "float" else unescape(str(cell))


class Table(NamedTuple):
    """Rows of `points` and the layouts they refer to."""

    rows: npt.NDArray[np.void]
    layouts: list[str]


def build_table(stored: Sequence[Stored], sessions: dict[str, int]) -> Table:
    """The rows in the order given; `sessions` maps ids to row numbers of `/sessions`."""
    columns = plan_columns(stored)
    rows = np.empty(len(stored), points_dtype(columns))
    measured, shapes = [item.row for item in stored], [item.shape for item in stored]
    rows["ranks"] = [row.point.ranks for row in measured]
    rows["launch"] = [row.point.launch for row in measured]
    rows["engine"] = [escape(row.point.engine) for row in measured]
    for name in ("status", *SUMMARY_FIELDS, "first_s"):
        rows[name] = [getattr(row, name) for row in measured]
    rows["reason"] = [escape(row.reason) for row in measured]
    rows["stop_reason"] = [escape(row.stop_reason) for row in measured]
    rows["flags"] = [escape(" ".join(row.flags)) for row in measured]
    rows["key"] = [row.key for row in measured]
    rows["origin"] = [item.origin for item in stored]
    rows["session"] = [sessions[item.session] for item in stored]
    rows["sample_count"] = [shape.length for shape in shapes]
    rows["rank_count"] = [shape.ranks or 0 for shape in shapes]
    rows["sample_offset"] = _offsets(rows["sample_count"])
    rows["rank_offset"] = _offsets(rows["sample_count"] * rows["rank_count"])
    layouts = _layouts(stored, columns)
    numbers = {text: i for i, text in enumerate(dict.fromkeys(layouts))}
    rows["row_layout"] = [numbers[text] for text in layouts]
    rows["row_more"] = _more(stored, columns)
    for c in columns:
        if c.column:
            fields = (_fields(item, c.origin) for item in stored)
            rows[c.column] = [_to_cell(c.kind, f[c.name]) if c.name in f else _FILL[c.kind] for f in fields]
    return Table(rows, list(numbers))


def _offsets(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each block starts when blocks of `counts` rows follow one another."""
    return np.cumsum(counts) - counts


def _more(stored: Sequence[Stored], columns: Sequence[Column]) -> list[str]:
    """JSON of the values that have no column, by origin; empty text where there are none."""
    overflow = {(c.origin, c.name) for c in columns if not c.column}
    if not overflow:
        return [""] * len(stored)
    kept = ({o: {n: v for n, v in _fields(i, o).items() if (o, n) in overflow} for o in ORIGINS} for i in stored)
    return [to_json(more) if any(more.values()) else "" for more in kept]


def _layouts(stored: Sequence[Stored], columns: Sequence[Column]) -> list[str]:
    """The layout of each row as JSON; rows of one shape share the text."""
    place = {(c.origin, c.name): c.column for c in columns}
    known: dict[Any, str] = {}
    texts = []
    for item in stored:
        shape = item.shape
        types = [(o, n, type_name(v)) for o in ORIGINS for n, v in _fields(item, o).items()]
        signature = (*types, shape.columns, tuple(shape.missing.items()), shape.ranks is None)
        if signature not in known:
            known[signature] = to_json(_layout(item, place))
        texts.append(known[signature])
    return texts


def _layout(item: Stored, place: dict[tuple[str, str], str]) -> dict[str, Any]:
    """What a row has: [name, type, column] of each value in order, sample columns, missing fields, rank times."""
    named = {o: [[n, type_name(v), place[o, n]] for n, v in _fields(item, o).items()] for o in ORIGINS}
    shape = item.shape
    return named | {"samples": shape.columns, "missing": shape.missing, "rank_times": shape.ranks is not None}
