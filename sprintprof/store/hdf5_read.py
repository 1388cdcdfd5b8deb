"""Read the HDF5 part of a results file whose seal is good, and check that it says what a results file says.

The seal catches damage. The checks here are for files that were made, not damaged: a wrong type, a count that does
not fit, a link to elsewhere. Nothing is allocated by a count that the size of the file does not bear out.
"""

from __future__ import annotations

import io
import os
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sprintprof.records import InputError, Point, RunHeader, SampleSet
from sprintprof.store.codec import leading, point_from_json, row_from_json, session_from_json, session_id
from sprintprof.store.columns import ORIGINS, check_columns, from_cell
from sprintprof.store.failures import words
from sprintprof.store.migrate import rows_of_version_1
from sprintprof.store.reading import FileReader
from sprintprof.store.schema import SUMMARY_FIELDS
from sprintprof.store.stored import SampleShape, Stored
from sprintprof.store.text import ESCAPE, escape, from_json, unescape

if TYPE_CHECKING:
    import h5py


_FLOAT = np.dtype("<f8")
_COUNTS = ("ranks", "launch", "sample_offset", "sample_count", "rank_offset", "rank_count", "session", "row_layout")


class Content(NamedTuple):
    """What a file holds: its header with the plan, the launches, a table of points for each benchmark."""

    header: RunHeader
    sessions: list[RunHeader]
    tables: dict[str, Table]


class Block(NamedTuple):
    """Where the rows of a contiguous dataset lie in the file."""

    offset: int
    dtype: np.dtype[Any]
    rows: int


class Table:
    """The points of one benchmark; the samples stay in the file until they are asked for."""

    def __init__(
        self, benchmark: str, rows: npt.NDArray[np.void], layouts: list[dict[str, Any]], sessions: list[str],
        samples: Block, rank_times: Block, read: FileReader, where: str,
    ) -> None:  # fmt: skip
        self.benchmark = benchmark
        self._rows = rows
        self._layouts = layouts
        self._sessions = sessions
        self._samples = samples
        self._places = {name: i for i, name in enumerate(samples.dtype.names or ())}
        self._rank_times = rank_times
        self._read = read
        self._where = where
        self._check()

    def __len__(self) -> int:
        return len(self._rows)

    def _check(self) -> None:
        """Raise ValueError where rows point outside of what the file has."""
        rows = self._rows
        for name in _COUNTS:
            if len(rows) and int(rows[name].min()) < 0:
                raise ValueError(f"column {name} of {self.benchmark} is not one of counts")
        counts = rows["sample_count"].astype(object)  # exact integers: what a file claims may not fit 64 bits
        rank_counts = counts * rows["rank_count"].astype(object)
        inside = counts.sum() == self._samples.rows and rank_counts.sum() == self._rank_times.rows
        inside &= bool((rows["sample_offset"].astype(object) + counts <= self._samples.rows).all())
        inside &= bool((rows["rank_offset"].astype(object) + rank_counts <= self._rank_times.rows).all())
        inside &= bool((rows["session"] < len(self._sessions)).all())
        inside &= bool((rows["row_layout"] < len(self._layouts)).all())
        if not inside:
            raise ValueError(f"rows of {self.benchmark} point outside of the file's data")
        named = {escape(name) or ESCAPE for layout in self._layouts for name in layout["samples"]}
        if not named <= set(self._places):
            raise ValueError(f"samples of {self.benchmark} have no column {min(named - set(self._places))}")

    @cached_property
    def _cells(self) -> dict[str, list[Any]]:
        """Columns as lists of plain values; text as str, still escaped."""
        cells: dict[str, list[Any]] = {}
        for name in self._rows.dtype.names or ():
            values = self._rows[name].tolist()
            if self._rows.dtype[name].kind not in "OS":
                cells[name] = values
                continue
            try:
                cells[name] = [value.decode() for value in values]
            except UnicodeDecodeError:
                what = f"column {name} of {self.benchmark} is not UTF-8"
                raise InputError(self._where, what, "give a results file of sprintprof run") from None
        return cells

    @property
    def keys(self) -> list[str]:
        """Point keys, in row order."""
        return self._cells["key"]

    @property
    def status(self) -> list[str]:
        """Statuses, in row order."""
        return self._cells["status"]

    def structured(self) -> npt.NDArray[np.void]:
        """The rows with text as str."""
        names = self._rows.dtype.names or ()
        kinds = {name: self._rows.dtype[name] for name in names}
        fields = [
            (n, object if k.kind == "O" else f"U{k.itemsize}" if k.kind == "S" else k.str) for n, k in kinds.items()
        ]
        out = np.empty(len(self._rows), fields)
        for name, kind in kinds.items():
            out[name] = [unescape(c) for c in self._cells[name]] if kind.kind in "OS" else self._rows[name]
        return out

    def stored(self, i: int) -> Stored:
        """Row `i`. Raises InputError where its parts do not fit together."""
        try:
            return self._stored(i)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
            what = f"row {i} of {self.benchmark} is not that of a results file ({type(error).__name__}: {error})"
            raise InputError(self._where, what, "give a results file of sprintprof run") from None

    def _stored(self, i: int) -> Stored:
        cells = self._cells
        layout = self._layouts[cells["row_layout"][i]]
        more = from_json(cells["row_more"][i]) if cells["row_more"][i] else {}
        values = {
            origin: {
                name: from_cell(kind, cells[column][i]) if column else more[origin][name]
                for name, kind, column in layout[origin]
            }
            for origin in ORIGINS
        }
        point = Point(
            self.benchmark, unescape(cells["engine"][i]), values["parameters"], cells["ranks"][i], cells["launch"][i]
        )
        if point.key != cells["key"][i]:
            raise ValueError(f"row {i} of {self.benchmark} is of point {point.key}, its key says {cells['key'][i]}")
        fields = {
            "status": cells["status"][i], "reason": unescape(cells["reason"][i]), "extra": values["extra"],
            "flags": unescape(cells["flags"][i]).split(), "stop_reason": unescape(cells["stop_reason"][i]),
        }  # fmt: skip
        row = row_from_json(fields, point, {name: cells[name][i] for name in (*SUMMARY_FIELDS, "first_s")})
        ranks = cells["rank_count"][i] if layout["rank_times"] else None
        shape = SampleShape(tuple(layout["samples"]), cells["sample_count"][i], ranks, dict(layout["missing"]))
        load = partial(self._load, shape, cells["sample_offset"][i], cells["rank_offset"][i])
        return Stored(row, self._sessions[cells["session"][i]], cells["origin"][i], shape, load)

    def _load(self, shape: SampleShape, sample_offset: int, rank_offset: int) -> SampleSet:
        block = self._samples
        size = block.dtype.itemsize
        raw = self._read(block.offset + sample_offset * size, shape.length * size) if shape.length else b""
        values = np.frombuffer(raw, _FLOAT).reshape(shape.length, size // 8).T.copy()  # a row for each column
        columns = {name: values[self._places[escape(name) or ESCAPE]] for name in shape.columns}
        if shape.ranks is None:
            return SampleSet(columns, None, shape.missing)
        total = shape.length * shape.ranks
        raw = self._read(self._rank_times.offset + rank_offset * 8, total * 8) if total else b""
        return SampleSet(columns, np.frombuffer(raw, "<f8").reshape(shape.length, shape.ranks).copy(), shape.missing)


def read_hdf5(reader: FileReader, path: Path, version: int) -> Content:
    """Read everything but the samples. Raises InputError where the content is not that of a results file."""
    import h5py

    try:
        with (
            io.FileIO(reader.descriptor, "rb", closefd=False) as raw,
            h5py.File(raw, "r") as file,
        ):
            return _read(file, reader, version, os.fstat(reader.descriptor).st_size, str(path))
    except InputError:
        raise
    except OSError as error:
        what = words(error)[0] if error.errno else "HDF5 cannot read it"
        raise InputError(str(path), f"cannot be read: {what}", "restore it from a copy") from None
    except Exception as error:  # noqa: BLE001  (h5py raises nearly every kind on content it does not expect)
        what = f"is not a results file of version {version} ({type(error).__name__}: {str(error)[:200]})"
        raise InputError(str(path), what, "give a results file of sprintprof run") from None


def _dataset(group: h5py.Group, name: str, size: int) -> h5py.Dataset:
    """A dataset inside this file whose data the file's size bears out."""
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is missing or lies in another file")
    dataset = group[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.ndim != 1:
        raise ValueError(f"{name} is not a table")
    if dataset.is_virtual or dataset.external or dataset.chunks:
        raise ValueError(f"{name} is virtual, external or chunked")
    if len(dataset) * dataset.dtype.itemsize > size:
        raise ValueError(f"{name} claims {len(dataset)} rows, more than the file can hold")
    return dataset


def _texts(group: h5py.Group, name: str, size: int) -> list[Any]:
    """JSON values of a text dataset."""
    texts = list(_dataset(group, name, size)[:])
    values = from_json(b"[" + b",".join(texts) + b"]")  # one call for all: 10,000 calls take 0.2 s
    if len(values) != len(texts):
        raise ValueError(f"{name} holds a text that is not one value")
    return list(values)


def _block(group: h5py.Group, name: str, size: int, read: FileReader) -> Block:
    dataset = _dataset(group, name, size)
    dtype = dataset.dtype
    if {dtype[n] for n in dtype.names or ()} - {_FLOAT} or (dtype.names is None and dtype != _FLOAT):
        raise ValueError(f"{name} is not of float64")
    rows = len(dataset)
    offset = int(dataset.id.get_offset() or 0) if rows else 0
    # HDF5 counts the address from the start of the file, user block included: compare one row, never assume it
    if rows and read(offset, dtype.itemsize) != dataset[:1].tobytes():
        raise ValueError(f"{name} is not where HDF5 says")
    return Block(offset, dtype, rows)


def _read(file: h5py.File, read: FileReader, version: int, size: int, where: str) -> Content:
    if int(file.attrs["schema_version"]) != version:
        raise ValueError("the seal and the attribute schema_version disagree")
    plan = [point_from_json(value) for value in _texts(file, "plan", size)]
    if version == 1:  # it had one header with its environments in it, which becomes the only launch
        sessions = [session_from_json(fields, []) for fields in _texts(file, "header", size)]
    else:
        sessions = _sessions(file, size)
    if not sessions:
        raise ValueError("no session")
    ids = [session_id(header) for header in sessions]
    tables: dict[str, Table] = {}
    for name in file["benchmarks"]:
        group = file["benchmarks"][name]
        rows = _dataset(group, "points", size)[:]
        if version == 1:
            rows = rows_of_version_1(rows)
        check_columns(rows.dtype)
        benchmark = unescape(str(group.attrs["benchmark"]))
        layouts = _texts(group, "layouts", size)
        samples, rank_times = _block(group, "samples", size, read), _block(group, "rank_times_s", size, read)
        tables[benchmark] = Table(benchmark, rows, layouts, ids, samples, rank_times, read, where)
    keys = [key for table in tables.values() for key in table.keys]
    if len(keys) != len(set(keys)):
        raise ValueError("a point is in it twice")
    return Content(msgspec.structs.replace(leading(sessions), plan=plan), sessions, tables)


def _sessions(file: h5py.File, size: int) -> list[RunHeader]:
    records = _texts(file["environment"], "records", size)
    ranks = _dataset(file["environment"], "ranks", size)[:]
    sessions = []
    for number, fields in enumerate(_texts(file, "sessions", size)):
        places = fields["environments"]
        if any(i < 0 for i in places):
            raise ValueError("an environment before the first")
        fields["environments"] = [records[i] for i in places]
        fields["rank_environment"] = ranks["environment"][ranks["session"] == number].tolist()
        sessions.append(session_from_json(fields, []))
    return sessions
