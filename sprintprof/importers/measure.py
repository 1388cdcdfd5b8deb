"""Rows to measurements: ranks and placement resolved, launches numbered, what cannot be right flagged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sprintprof.importers.log import facts_of
from sprintprof.importers.names import declared_bytes, declared_flop, parameters_of
from sprintprof.importers.options import Options, Shape, shape_of
from sprintprof.importers.peaks import Peak, above_peak
from sprintprof.importers.rows import NOT_IN_LOG, Row, Table
from sprintprof.records import Measurement, Point, SampleSet, Value

UNKNOWN_RANKS = 0
"""Stands for a number of ranks that nobody says; such points carry the flag `ranks-unknown`."""

COARSE = 0.05
"""A time that may be off by more than this, since the log prints few digits, is under the log's resolution."""


class Numbering:
    """Launch numbers: the same point once more is the next launch."""

    def __init__(self) -> None:
        self._seen: Counter[Any] = Counter()
        self._first: dict[Any, str] = {}
        self.shared: set[Any] = set()

    def next(self, *point: Any, file: str = "") -> int:
        """The launch number of this occurrence, from 0. Points that several files have are kept in `shared`."""
        launch = self._seen[point]
        self._seen[point] += 1
        if self._first.setdefault(point, file) != file:
            self.shared.add(point)
        return launch


class _Facts:
    """What the rows of one table share, worked out once."""

    def __init__(self, table: Table, options: Options, file: str) -> None:
        self.shape: Shape = shape_of(table, options)
        self.facts: dict[str, Value] = {"log": file, **facts_of(table)}
        parallel = table.benchmark not in ("memory_copy", "triad") and not table.benchmark.startswith(
            ("copy_", "stream_", "p2p_", "nvbandwidth_")
        )
        self.ranks = 1 if not parallel else self.shape.ranks or UNKNOWN_RANKS
        self.placement: dict[str, Value] = {"placement": self.shape.placement} if parallel else {}
        if parallel:
            self.facts["nodes"] = self.shape.nodes or NOT_IN_LOG
            if not self.shape.ranks:
                self.facts["ranks"] = NOT_IN_LOG
        self.peak: Peak | None = above_peak(table)


def measurements(rows: Iterable[Row], options: Options, file: str, numbering: Numbering) -> Iterator[Measurement]:
    """The measurements of a log's rows, in order. `file` is the log's name in the records."""
    known: dict[int, _Facts] = {}
    for row in rows:
        table = row.table
        shared = known.get(id(table))
        if shared is None:
            shared = known[id(table)] = _Facts(table, options, file)
        if all(str(shared.facts.get(name, "")) == value for name, value in options.only):
            yield _measurement(row, shared, numbering)


def _measurement(row: Row, shared: _Facts, numbering: Numbering) -> Measurement:
    table = row.table
    benchmark, size, extra = table.benchmark, row.size_bytes, dict(shared.facts)
    status, reason, time_s = row.status, row.reason, row.time_s
    if table.whole and size is not None:
        extra["log_size_bytes"] = size
        if shared.ranks < 1:
            extra["size_of"] = "all ranks' blocks: how many ranks is not in the log"
        elif size % shared.ranks == 0:
            size //= shared.ranks
        else:
            benchmark += "_uneven"  # the blocks differ in length: no block size says what was moved
    given: dict[str, Value] = {} if size is None else {"size_bytes": size}
    parameters = parameters_of(benchmark, given | table.parameters | (row.parameters or {}) | shared.placement)
    key = (benchmark, table.engine, tuple(parameters.items()), shared.ranks)
    point = Point(benchmark, table.engine, parameters, shared.ranks, numbering.next(*key, file=str(extra["log"])))
    flags = _flags(row, shared)
    work = declared_bytes(benchmark, size, shared.ranks, parameters)
    extra |= {"line": row.line, **(row.extra or {})}
    if row.rounding > 0:
        extra["rounding"] = row.rounding
    if row.suspicious:
        extra["suspicious"] = row.suspicious
    if status == "ok" and shared.peak is not None and (found := shared.peak.exceeded(work / time_s)):
        flags, extra["suspicious"] = (*flags, "above-peak"), found
    if status != "ok":
        return Measurement(point, status, reason, flags, bytes=work, extra=extra)
    return Measurement(
        point,
        "ok",
        "",
        flags,
        declared_flop(benchmark, size, str(parameters.get("precision", ""))),
        work,
        time_s,
        min_s=row.min_s,
        stop_reason=f"imported: {table.statistic}",
        extra=extra,
        samples=SampleSet({"time_s": np.array([time_s])}),
    )


def _flags(row: Row, shared: _Facts) -> tuple[str, ...]:
    flags = []
    if shared.ranks == UNKNOWN_RANKS:
        flags.append("ranks-unknown")
    if row.suspicious:
        flags.append("suspicious")
    if row.rounding > COARSE and row.status == "ok":
        flags.append("under-resolution")
    return tuple(flags)


def is_finite(row: Row) -> bool:
    """Whether a row that says ok has a time above 0."""
    return row.status != "ok" or (math.isfinite(row.time_s) and row.time_s > 0)
