"""A results file as a reader sees it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from sprintprof.records import InputError, Measurement, Point, RunHeader
from sprintprof.store.codec import session_id
from sprintprof.store.failures import words
from sprintprof.store.hdf5_read import Table, read_hdf5
from sprintprof.store.paths import is_journal, journal_path
from sprintprof.store.reading import FileReader
from sprintprof.store.seal import check_seal
from sprintprof.store.stored import Stored


class Completeness(NamedTuple):
    """How many of the planned points are done (measured, or skipped for a reason); str() is `97 of 100 points`."""

    done: int
    planned: int

    def __str__(self) -> str:
        return f"{self.done} of {self.planned} points"


class _Sequence(Sequence[Measurement]):
    """Measurements in file order, each with its samples read when it is asked for."""

    def __init__(self, tables: list[Table]) -> None:
        self._tables = tables
        self._starts = np.cumsum([0, *(len(t) for t in tables)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, index: int) -> Measurement: ...
    @overload
    def __getitem__(self, index: slice) -> list[Measurement]: ...
    def __getitem__(self, index: int | slice) -> Measurement | list[Measurement]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.stored(index).measurement()

    def __iter__(self) -> Iterator[Measurement]:
        return (table.stored(i).measurement() for table in self._tables for i in range(len(table)))

    def stored(self, index: int) -> Stored:
        """The row, with its samples still in the file."""
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        table = int(np.searchsorted(self._starts, at, side="right")) - 1
        return self._tables[table].stored(at - int(self._starts[table]))

    def all_stored(self) -> Iterator[Stored]:
        return (table.stored(i) for table in self._tables for i in range(len(table)))


class Results:
    """An open results file. What was read stays as it was even if the file is replaced meanwhile.

    `header` is that of the first launch with the plan of all; `sessions` has the header of every launch (its plan
    left empty). `sha256` is that of the whole file, as `sha256sum` prints it.
    """

    def __init__(self, path: Path, reader: FileReader) -> None:
        self.path = path
        version, self.sha256 = check_seal(reader.descriptor, path)
        content = read_hdf5(reader, path, version)
        self._tables = content.tables
        self.version = version
        self.sessions: list[RunHeader] = content.sessions
        self.header: RunHeader = content.header
        self.measurements = _Sequence(list(content.tables.values()))

    @property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks that have points."""
        return list(self._tables)

    def all_stored(self) -> Iterator[Stored]:
        """Every measurement as the store hands it round, samples unread."""
        return self.measurements.all_stored()

    @cached_property
    def _index(self) -> dict[str, int]:
        keys = [key for table in self._tables.values() for key in table.keys]
        return {key: i for i, key in enumerate(keys)}

    @cached_property
    def status(self) -> dict[str, str]:
        """Status by point key."""
        statuses = (s for table in self._tables.values() for s in table.status)
        return dict(zip(self._index, statuses, strict=True))

    def get(self, key: str) -> Measurement | None:
        """The measurement of a point, None where there is none."""
        return self.measurements[self._index[key]] if key in self._index else None

    def measurements_of(self, benchmark: str) -> list[Measurement]:
        """All measurements of one benchmark, in file order. Raises InputError where the file has none."""
        table = self._table(benchmark)
        return [table.stored(i).measurement() for i in range(len(table))]

    def session(self, key: str) -> RunHeader:
        """The header of the launch that measured a point. Raises KeyError where there is no such point."""
        stored = self.measurements.stored(self._index[key])
        return next(s for i, s in zip(self._session_ids, self.sessions, strict=True) if i == stored.session)

    @cached_property
    def _session_ids(self) -> list[str]:
        return [session_id(header) for header in self.sessions]

    def points(self, benchmark: str) -> npt.NDArray[np.void]:
        """The points table of a benchmark as a structured array, one row a point, columns as in the file.

        Text is str; a value a point does not have is "", NaN, MISSING_INT, or -1 in a bool column (int8). Raises
        InputError where the file has no such benchmark.
        """
        return self._table(benchmark).structured()

    def _table(self, benchmark: str) -> Table:
        if benchmark not in self._tables:
            remedy = f"it has {', '.join(self._tables)}" if self._tables else "it has no points"
            raise InputError(str(self.path), f"has no points of '{benchmark}'", remedy)
        return self._tables[benchmark]

    @property
    def missing(self) -> list[Point]:
        """Planned points that have no record, or a failed one."""
        return [point for point in self.header.plan if self.status.get(point.key) not in ("ok", "skipped")]

    @property
    def completeness(self) -> Completeness:
        """(done, planned); skipped points are done, failed ones are not."""
        planned = len(self.header.plan)
        return Completeness(planned - len(self.missing), planned)

    @property
    def has_journal(self) -> bool:
        """Whether a journal lies beside the file: a run that resumed it is under way, or was killed."""
        return os.path.exists(journal_path(self.path))


def load_results(path: str | Path) -> Results:
    """Open a results file. Raises InputError, with what to do, on everything that is not one or is damaged."""
    path = Path(path)
    where = str(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and os.path.exists(journal_path(path)):
            remedy = f"sprintprof recover {journal_path(path)}, or go on with sprintprof run --resume {path}"
            raise InputError(where, "was not finished, only its journal is there", remedy) from None
        what, remedy = words(error) if isinstance(error, OSError) else (str(error), "check the name")
        raise InputError(where, f"cannot be read: {what}", remedy) from None
    reader = FileReader(path, descriptor)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(where, "is not a file", "give a results file of sprintprof run")
        if is_journal(descriptor):
            raise InputError(where, "is the journal of a run that did not end", f"sprintprof recover {path}")
        return Results(path, reader)
    except OSError as error:
        what, remedy = words(error)
        raise InputError(where, f"cannot be read: {what}", remedy) from None
