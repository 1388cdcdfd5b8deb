"""A straggler trace: who was slow, from when to when, by what factor."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sprintprof.model.special import Floats
from sprintprof.records import InputError

COLUMNS = ("worker", "begin_s", "end_s", "factor")


@dataclass(frozen=True)
class Stragglers:
    """Intervals in which a worker's cycles last `factor` times as long; arrays of one shape (n,)."""

    worker: npt.NDArray[np.int64]
    begin_s: Floats
    end_s: Floats
    factor: Floats

    def factors(self, worker: npt.NDArray[np.int64], at_s: Floats) -> Floats:
        """The factor of cycles that begin at `at_s` on `worker`; arrays of one shape, also the result's."""
        out = np.ones_like(at_s)
        for w, begin, end, factor in zip(self.worker, self.begin_s, self.end_s, self.factor, strict=True):
            out[(worker == w) & (at_s >= begin) & (at_s < end)] *= factor
        return out


def read_stragglers(path: str | Path) -> Stragglers:
    """Read a CSV with the columns worker, begin_s, end_s, factor. Raises InputError that names the line."""
    where = str(path)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None or not set(COLUMNS) <= set(reader.fieldnames):
                raise InputError(where, "is not a straggler trace", f"its columns must be {', '.join(COLUMNS)}")
            rows = [_row(where, reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(where, f"cannot be read ({error})", "name a CSV file") from None
    if not rows:
        raise InputError(where, "has no rows", "give at least one interval")
    worker, begin, end, factor = (np.array(column) for column in zip(*rows, strict=True))
    return Stragglers(worker.astype(np.int64), begin, end, factor)


def _row(where: str, line: int, row: dict[str, str]) -> tuple[float, ...]:
    try:
        values = tuple(float(row[c]) for c in COLUMNS)
    except (TypeError, ValueError):
        values = ()
    if len(values) != len(COLUMNS) or not all(np.isfinite(values)) or values[0] < 0 or values[3] <= 0:
        raise InputError(where, f"line {line} is not WORKER,BEGIN,END,FACTOR", "give numbers, factor above 0")
    return values
