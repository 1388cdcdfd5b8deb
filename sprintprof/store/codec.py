"""Measurements and sessions as journal records: JSON text that any tool can read, and raw float64 arrays behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from sprintprof.records import Measurement, Point, RunHeader, SampleSet
from sprintprof.store.schema import SCHEMA_VERSION, SUMMARY_FIELDS
from sprintprof.store.stored import SampleShape, Stored, prepare
from sprintprof.store.text import from_json, to_json

_SUMMARY = (*SUMMARY_FIELDS, "first_s")
_FLOAT = np.dtype("<f8")
_VALUES = frozenset((bool, int, float, str))


def session_id(header: RunHeader) -> str:
    """16 hex digits over everything a launch says about itself except its plan: the same in every copy of its file."""
    body = to_json([header.run_id, header.created_utc, header.machine, header.command, header.tool_version])
    body += to_json([header.settings, header.environments, header.rank_environment])
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def leading(sessions: Iterable[RunHeader]) -> RunHeader:
    """The launch that describes a file: the first whose header was not lost. There is at least one."""
    known = list(sessions)
    return next((header for header in known if header.machine), known[0])


def point_to_json(point: Point) -> list[Any]:
    """[benchmark, engine, parameters, ranks, launch]."""
    return [point.benchmark, point.engine, point.parameters, point.ranks, point.launch]


def point_from_json(value: Any) -> Point:
    """The point. Raises ValueError where the list is not one."""
    match value:
        case [str(benchmark), str(engine), dict(parameters), int(ranks), int(launch)]:
            if _VALUES.issuperset(map(type, parameters.values())):
                return Point(benchmark, engine, parameters, ranks, launch)
    raise ValueError("not a point")


def session_to_json(header: RunHeader) -> dict[str, Any]:
    """A launch's header without its plan."""
    fields: dict[str, Any] = msgspec.structs.asdict(header)
    del fields["plan"]
    return fields


def session_from_json(value: Any, plan: list[Point]) -> RunHeader:
    """The header. Raises ValueError where a field is missing or of another type."""
    try:
        header = msgspec.convert(value | {"plan": []}, RunHeader)
    except (TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"not a session: {error}") from None
    return msgspec.structs.replace(header, plan=plan)


def encode_session(header: RunHeader) -> bytes:
    """The record that opens a launch, with the whole plan as it then is."""
    plan = [point_to_json(point) for point in header.plan]
    record = {"type": "session", "version": SCHEMA_VERSION, "id": session_id(header), "plan": plan}
    return to_json(record | {"header": session_to_json(header)}).encode()


def encode_measurement(measurement: Measurement, session: str) -> tuple[bytes, bytes, Measurement, SampleShape]:
    """Text and arrays of a record, and what `Stored` keeps of it. Raises ValueError on samples that do not fit."""
    row, shape, arrays = prepare(measurement)
    record = {
        "type": "point", "session": session, "point": point_to_json(row.point), "status": row.status,
        "reason": row.reason, "flags": row.flags, "stop_reason": row.stop_reason, "extra": row.extra,
        "columns": shape.columns, "count": shape.length, "ranks": shape.ranks, "missing": shape.missing,
    }  # fmt: skip
    summary = np.array([getattr(row, name) for name in _SUMMARY], _FLOAT)
    return to_json(record).encode(), b"".join(array.data for array in (summary, *arrays)), row, shape


def split_arrays(raw: bytes, shape: SampleShape) -> SampleSet:
    """Samples from the bytes behind the summary: (n,) columns, then the (n, ranks) rank times."""
    values = np.frombuffer(raw, _FLOAT).copy()
    n, width = shape.length, len(shape.columns)
    columns = {name: values[i * n : (i + 1) * n] for i, name in enumerate(shape.columns)}
    rank_times = None if shape.ranks is None else values[width * n :].reshape(n, shape.ranks)
    return SampleSet(columns, rank_times, shape.missing)


def _count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("not a count")


def row_from_json(fields: dict[str, Any], point: Point, summary: dict[str, float]) -> Measurement:
    """A measurement without samples from plain fields. Raises ValueError on another type or an unknown status."""
    match fields:
        case {"status": "ok" | "failed" | "skipped" as status, "reason": str(reason), "stop_reason": str(stop_reason)}:
            flags, extra = tuple(fields["flags"]), fields["extra"]
            typed = isinstance(extra, dict) and _VALUES.issuperset(map(type, extra.values()))
            if typed and all(isinstance(flag, str) for flag in flags):
                row = Measurement(point, status, reason, flags, stop_reason=stop_reason, extra=extra)
                return msgspec.structs.replace(row, **summary)
    raise ValueError("not a measurement")


def decode_measurement(record: dict[str, Any], arrays_bytes: int, read: Callable[[int, int], bytes]) -> Stored:
    """A point record. `read(offset, length)` gives bytes of its arrays. Raises ValueError where it does not fit."""
    columns = tuple(str(name) for name in record["columns"])
    ranks = None if record["ranks"] is None else _count(record["ranks"])
    shape = SampleShape(columns, _count(record["count"]), ranks, dict(record["missing"]))
    head = len(_SUMMARY) * 8
    body = 8 * shape.length * (len(columns) + (ranks or 0))
    if "time_s" not in columns or head + body != arrays_bytes:
        raise ValueError(f"{arrays_bytes} bytes of samples do not fit {shape.length} × {columns}, ranks {ranks}")
    summary = dict(zip(_SUMMARY, np.frombuffer(read(0, head), _FLOAT).tolist(), strict=True))
    row = row_from_json(record, point_from_json(record["point"]), summary)
    return Stored(row, str(record["session"]), row.key, shape, lambda: split_arrays(read(head, body), shape))


def decode_record(text: bytes) -> dict[str, Any]:
    """The JSON object of a record. Raises ValueError."""
    record = from_json(text)
    if not isinstance(record, dict) or record.get("type") not in ("session", "point"):
        raise ValueError("not a record of this format")
    return record
