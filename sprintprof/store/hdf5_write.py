"""Write a results file: HDF5 under a temporary name, sealed, synced, then renamed. It is whole or it is not there."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sprintprof.records import SampleSet
from sprintprof.records.measurement import SAMPLE_FIELDS
from sprintprof.store.codec import leading, point_to_json, session_to_json
from sprintprof.store.columns import build_table
from sprintprof.store.paths import sync_folder
from sprintprof.store.schema import HISTORY, SCHEMA_VERSION, unit_of
from sprintprof.store.seal import BLOCK_BYTES, write_seal
from sprintprof.store.state import RunState
from sprintprof.store.stored import Stored
from sprintprof.store.text import ESCAPE, escape, group_name, to_json

if TYPE_CHECKING:
    import h5py

_BLOCK_ROWS = 1 << 16


class _Outlet(io.RawIOBase):
    """The file HDF5 writes into. It keeps the first error of the system and from then on works in memory, since HDF5
    can neither let go of a file whose last bytes it failed to write nor read back what was lost: both end in a crash
    of the process. `write_file` raises the error afterwards."""

    def __init__(self, raw: io.FileIO) -> None:
        self._file: io.FileIO | io.BytesIO = raw
        self.error: OSError | None = None

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        return self._file.readinto(buffer)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        start, done = self._file.tell(), 0
        while done < len(view):
            try:
                done += self._file.write(view[done:]) or 0
            except OSError as error:
                self._go_on_in_memory(error)
                self._file.seek(start)
                done = 0
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        try:
            return self._file.truncate(size)
        except OSError as error:
            self._go_on_in_memory(error)
            return self._file.truncate(size)

    def _go_on_in_memory(self, error: OSError) -> None:
        self.error = self.error or error
        at = self._file.tell()
        self._file.seek(0)
        self._file = io.BytesIO(self._file.read() or b"")
        self._file.seek(at)

    def flush(self) -> None:
        """Nothing is buffered here."""


def part_prefix(path: Path) -> str:
    """How the temporary names for a file begin; process number and `.part` follow. Long names are cut to fit."""
    return f".{path.name[:100]}."


def write_file(path: Path, state: RunState, replace: bool) -> None:
    """Write what a run has as the results file `path`. Raises OSError, with `path` as it was before.

    Without `replace` a file of that name, even one that came meanwhile, is FileExistsError. Every measurement's
    session is in `state.sessions`, the first of which describes the file.
    """
    temporary = path.with_name(f"{part_prefix(path)}{os.getpid()}.part")
    try:
        with io.FileIO(temporary, "w+b") as raw:
            _write_hdf5(raw, state)
            write_seal(raw.fileno())
            os.fsync(raw.fileno())
        if replace:
            temporary.replace(path)
        else:
            _link(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    sync_folder(path.parent)


def _link(temporary: Path, path: Path) -> None:
    """Give the finished file its name unless somebody took it meanwhile."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # some file systems have no hard links
        if path.exists():
            raise FileExistsError(17, "exists already", str(path)) from None
        temporary.rename(path)


def _write_hdf5(raw: io.FileIO, state: RunState) -> None:
    import h5py

    outlet = _Outlet(raw)
    try:
        with h5py.File(outlet, "w", userblock_size=BLOCK_BYTES) as file:
            _write_header(file, state)
            index = {identity: i for i, identity in enumerate(state.sessions)}
            by_benchmark: dict[str, list[Stored]] = {}
            for item in state.stored.values():
                by_benchmark.setdefault(item.row.point.benchmark, []).append(item)
            benchmarks = file.create_group("benchmarks")
            for name, items in by_benchmark.items():
                group = benchmarks.create_group(group_name(name))
                group.attrs["benchmark"] = escape(name)
                _write_benchmark(group, items, index)
                if outlet.error:
                    break
    except Exception as error:
        if outlet.error is None:
            raise OSError(None, f"HDF5 could not write it: {error}") from error
    if outlet.error:
        raise outlet.error


def _write_header(file: h5py.File, state: RunState) -> None:
    import h5py

    text = h5py.string_dtype()
    first = leading(state.sessions.values())
    file.attrs["format"] = "sprintprof results"
    file.attrs["schema_version"] = SCHEMA_VERSION
    file.attrs["schema_history"] = to_json(HISTORY)
    for name in ("run_id", "created_utc", "machine", "tool_version"):
        file.attrs[name] = escape(getattr(first, name))
    file.attrs["command"] = to_json(first.command)
    plan = [to_json(point_to_json(point)) for point in state.plan.values()]
    file.create_dataset("plan", data=plan, dtype=text, shape=(len(plan),))

    records: dict[str, int] = {}
    ranks: list[tuple[int, int, int, int]] = []
    described = []
    for number, header in enumerate(state.sessions.values()):
        places = [records.setdefault(to_json(record), len(records)) for record in header.environments]
        ranks += [
            (number, rank, e, places[e] if e < len(places) else -1) for rank, e in enumerate(header.rank_environment)
        ]
        fields = session_to_json(header) | {"environments": places}
        del fields["rank_environment"]
        described.append(to_json(fields))
    file.create_dataset("sessions", data=described, dtype=text, shape=(len(described),))
    environment = file.create_group("environment")
    environment.create_dataset("records", data=list(records), dtype=text, shape=(len(records),))
    row = np.dtype([("session", "<i8"), ("rank", "<i8"), ("environment", "<i8"), ("record", "<i8")])
    environment.create_dataset("ranks", data=np.array(ranks, row), dtype=row, shape=(len(ranks),))


def _write_benchmark(group: h5py.Group, items: list[Stored], sessions: dict[str, int]) -> None:
    import h5py

    rows, layouts = build_table(items, sessions)
    points = group.create_dataset("points", data=rows)
    for name in rows.dtype.names or ():
        points.attrs[f"unit.{name}"] = unit_of(name)
    group.create_dataset("layouts", data=layouts, dtype=h5py.string_dtype(), shape=(len(layouts),))

    columns = list(dict.fromkeys(["time_s", *(c for item in items for c in item.shape.columns)]))
    dtype = np.dtype([(escape(name) or ESCAPE, "<f8") for name in columns])
    samples = group.create_dataset("samples", shape=(sum(i.shape.length for i in items),), dtype=dtype)
    for name, stored_as in zip(columns, dtype.names or (), strict=True):
        samples.attrs[f"unit.{stored_as}"] = SAMPLE_FIELDS[name][0] if name in SAMPLE_FIELDS else unit_of(name)
    total = sum(i.shape.length * (i.shape.ranks or 0) for i in items)
    rank_times = group.create_dataset("rank_times_s", shape=(total,), dtype="<f8")
    rank_times.attrs["unit"] = "s"

    at_sample = at_rank = 0
    for block in _blocks(items):
        loaded = [item.load() for item in block]
        table = _sample_rows(loaded, columns, dtype)
        samples[at_sample : at_sample + len(table)] = table
        at_sample += len(table)
        times = [s.rank_times_s.ravel() for s in loaded if s.rank_times_s is not None]
        flat = np.concatenate(times) if times else np.empty(0)
        rank_times[at_rank : at_rank + len(flat)] = flat
        at_rank += len(flat)


def _blocks(items: list[Stored]) -> Iterator[list[Stored]]:
    """Runs of points with some 65,536 samples together, so that memory stays small."""
    block: list[Stored] = []
    rows = 0
    for item in items:
        block.append(item)
        rows += item.shape.length * (1 + (item.shape.ranks or 0))
        if rows >= _BLOCK_ROWS:
            yield block
            block, rows = [], 0
    if block:
        yield block


def _sample_rows(loaded: list[SampleSet], columns: list[str], dtype: np.dtype[Any]) -> np.ndarray:
    """Rows of `samples`; NaN where a point has no such column."""
    rows = np.empty(sum(len(s) for s in loaded), dtype)
    for name, stored_as in zip(columns, dtype.names or (), strict=True):
        parts = [s.columns[name] if name in s.columns else np.full(len(s), np.nan) for s in loaded]
        rows[stored_as] = np.concatenate(parts)
    return rows
