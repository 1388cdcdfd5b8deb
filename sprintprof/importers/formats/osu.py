"""OSU micro-benchmarks 3.1 to 7.5, on host and device memory, and their Python version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sprintprof.importers.formats._osu_titles import REDUCING, Columns, Title, read_columns, read_title
from sprintprof.importers.log import Log
from sprintprof.importers.names import DATATYPES, MOVES_ONLY
from sprintprof.importers.rows import NOT_IN_LOG, Row, Table, Trouble
from sprintprof.records import Status, Value

WHAT = "OSU micro-benchmarks 3.1 to 7.5 (CPU, CUDA, ROCm) and OMB-Py"

_SNIFF = re.compile(r"^[^\n]{0,60}?\b(?:OSU|OMB-Py|OMB Python) [A-Za-z][^\n]{0,120} Test\b", re.ASCII | re.MULTILINE)
_BUFFERS = re.compile(
    r"# (?:Send Buffer|Rank 0 Memory) on .*?\((\w+)\) and (?:Receive Buffer|Rank 1 Memory) on .*?\((\w+)\)", re.ASCII
)
_PAIRS = re.compile(r"# \[ pairs: (\d{1,7}) \] \[ window size: (\d{1,7}) \]", re.ASCII)
_LINES = {
    "datatype": re.compile(r"# Datatype: (\w+)", re.ASCII),
    "window_creation": re.compile(r"# Window creation: (\S+)", re.ASCII),
    "synchronization": re.compile(r"# Synchronization: (\S+)", re.ASCII),
    "sender_threads": re.compile(r"# Number of Sender threads: (\d+)", re.ASCII),
    "receiver_threads": re.compile(r"# Number of Receiver threads: (\d+)", re.ASCII),
    "sender_processes": re.compile(r"# Number of forked processes in sender: (\d+)", re.ASCII),
    "receiver_processes": re.compile(r"# Number of forked processes in receiver: (\d+)", re.ASCII),
}
_PARAMETERS = tuple(name for name in _LINES if name != "datatype")
_INIT = re.compile(
    r"nprocs: (\d{1,8}), min: (\d+(?:\.\d+)?) ms, max: (\d+(?:\.\d+)?) ms, avg: (\d+(?:\.\d+)?) ms", re.ASCII
)
_ROW_LIKE = re.compile(r"\d+\s*(?:\s[-+]?(?:[\d.]|nan|inf).*)?", re.ASCII | re.IGNORECASE)
_ONE_TIME = (("size", "latency_s"), ("size", "avg_latency_s"))
_DIGITS = frozenset("0123456789")
_MAX_SIZE = re.compile(r"\d*:?(\d+)", re.ASCII)
_PAIRWISE_END, _COLLECTIVE_END, _MEMORY_LIMIT = 1 << 22, 1 << 20, 1 << 29


def sniff(text: str) -> bool:
    """A title of the suite."""
    return ("OSU " in text or "OMB" in text) and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """Titles open tables, column heads say what the numbers are, sizes rise: what breaks these rules is named."""
    state: _State | None = None
    for number, line in log:
        head = line[:1]
        if state is not None and head in _DIGITS:
            if (found := state.row(number, line)) is not None:
                yield found
        elif head and head in "# OSA":
            if "Test" in line and (title := read_title(line)):
                if state is not None:
                    yield from state.ended()
                state = _State(log, title, number)
            elif state is not None and (found := state.other(number, line)):
                yield found
        elif head == "n" and state is not None and line.startswith("nprocs:") and (match := _INIT.match(line)):
            yield _init_row(log, state.title, number, match)
    if state is not None:
        yield from state.ended()


@dataclass
class _State:
    """The table that is being read. `lost` says why its rows no longer are what the title says."""

    log: Log
    title: Title
    line: int
    table: Table | None = None
    columns: Columns | None = None
    last_size: int = -1
    last_line: str = ""
    rows: int = 0
    lost: str = ""
    again: bool = False

    def __post_init__(self) -> None:
        self.seen: dict[str, Value] = {}

    def other(self, number: int, line: str) -> Trouble | Row | None:
        """A line that begins with # or a space: a fact, a column head, or a row without a size."""
        if line[0] == " " and self.columns is not None and self.columns.names[0] != "size":
            return self._unsized(number, line)
        if line[0] != "#" and "(us)" not in line and "B/s" not in line:
            return None
        for name, pattern in _LINES.items():
            if match := pattern.match(line):
                self.seen[name] = int(match[1]) if match[1].isdigit() else match[1].rstrip(".")
                self.again = self.again or name == "datatype"
                return None
        if match := _BUFFERS.match(line):
            self.seen["buffers"] = f"{match[1]} {match[2]}"
        elif match := _PAIRS.match(line):
            self.seen |= {"pairs": int(match[1]), "window": int(match[2])}
        elif isinstance(columns := read_columns(line), str):
            if columns and not self.rows:
                self.lost = columns
                return Trouble(number, line, columns)
        elif self.rows and not self.again:
            self.lost = "a second column head: the title between is missing"
            return Trouble(number, line, self.lost)
        elif columns.names[0] != "size" and "barrier" not in self.title.operation:
            self.lost = "a column head without the size: cut"
            return Trouble(number, line, self.lost)
        else:
            self.columns, self.table, self.last_size, self.lost = columns, None, -1, ""
            self.again = False
        return None

    def row(self, number: int, line: str) -> Row | Trouble | None:
        """A line that begins with a digit. The first lines are the fast path: logs hold millions of such rows."""
        columns = self.columns
        if columns is None:
            return None
        line = line.rstrip()
        match = columns.row.fullmatch(line) if columns.names[0] == "size" else None
        if match is None:
            return Trouble(number, line, "is no whole row") if _ROW_LIKE.fullmatch(line) else None
        size = int(match[1])
        if not columns.width and not self.rows and match.start(2) - match.end(1) > 2:
            self.columns = columns = columns._replace(width=len(line))  # aligned, though not as the head tells
        if size <= self.last_size or self.lost or (columns.width and len(line) != columns.width):
            return self._odd(number, line, size, match)
        self.last_size, self.last_line = size, line
        return self._read(number, size, match)

    def _odd(self, number: int, line: str, size: int, match: re.Match[str]) -> Row | Trouble | None:
        """A row that does not follow the one before, or is laid out otherwise than its head."""
        assert self.columns is not None
        if self.lost:
            return Trouble(number, line, self.lost)
        width, counted = self.columns.width, self.columns.names[-1] == "iterations"
        shift = max(0, len(match[1]) - 10)
        if width and match.end(len(self.columns.names) - counted) != width - 12 * counted + shift:
            return Trouble(number, line, "is laid out otherwise than its head: cut, or mixed with other output")
        if size <= self.last_size:
            if line == self.last_line:
                self.log.note("lines are there twice; each counts once")
                return None
            self.lost = "sizes start again: a title is missing"
            return Trouble(number, line, self.lost)
        self.last_size, self.last_line = size, line
        row = self._read(number, size, match)
        if counted and len(line) != width + shift and row.extra:
            self.log.note(f"line {number}: the count of iterations is cut and was not taken")
            row.extra["iterations"] = NOT_IN_LOG
        return row

    def _unsized(self, number: int, line: str) -> Row | Trouble | None:
        assert self.columns is not None
        match = self.columns.row.fullmatch(line.rstrip())
        if match is None:
            return None
        if self.lost or self.rows or len(line.rstrip()) < self.columns.width:
            return Trouble(number, line, self.lost or "is a second row, or cut")
        return self._read(number, None, match)

    def _read(self, number: int, size: int | None, match: re.Match[str]) -> Row:
        columns = self.columns
        assert columns is not None
        if self.table is None:
            self.table = _table(self.log, self.title, columns, self.seen)
        self.rows += 1
        if columns.names in _ONE_TIME:
            factor = columns.factors[1]
            time_s = float(match[2]) * factor
            if time_s > 0:
                return Row(self.table, number, size, time_s, None, None, 0.005 * factor / time_s)
        return _row(self.table, columns, number, size, dict(zip(columns.names, match.groups(), strict=True)))

    def ended(self) -> Iterator[Trouble]:
        """What a table lacks: all its rows, or those up to the size where the test ends."""
        where = f"# {self.title.text} Test"
        if self.title.operation in ("hello", "mpi_init"):
            return
        if not self.rows and not self.lost:
            yield Trouble(self.line, where, "a table without rows: the run was ended, or the log is cut")
        elif self.rows and self.table and not self.lost and self.last_size >= 0:
            end = _last_size(self.log, self.title, self.table, self.last_size)
            if self.last_size < end:
                yield Trouble(
                    self.line, where, f"the table ends at {self.last_size} bytes, the test goes to {end}: cut"
                )


def _table(log: Log, title: Title, columns: Columns, seen: dict[str, Value]) -> Table:
    parameters: dict[str, Value] = {name: seen[name] for name in _PARAMETERS if name in seen}
    facts: dict[str, Value] = {"title": title.text}
    buffers = str(seen.get("buffers", "D D" if title.accelerator else "H H"))
    if title.accelerator:
        facts |= {"device_memory": title.accelerator, "buffers": buffers}
    if buffers not in ("H H", "D D"):
        parameters["buffers"] = buffers
    if title.library != "MPI":
        parameters["library"] = title.library.lower()
    if title.operation in ("bandwidth", "message_rate"):
        parameters |= _windows(log, title, seen, facts)
    iterations = log.option("-i", "--iterations")
    if "iterations" not in columns.names:
        facts["iterations"] = int(iterations) if iterations and iterations.isdigit() else NOT_IN_LOG
    if title.operation not in MOVES_ONLY and (title.operation in REDUCING or "datatype" in seen):
        datatype = str(seen.get("datatype", ""))
        facts["datatype"] = datatype or "MPI_FLOAT (usual)"
        if title.operation in REDUCING:
            parameters["precision"] = DATATYPES.get(datatype or "MPI_FLOAT", datatype)
    table = log.table(title.operation, f"{title.suite.lower()} {title.version}".strip())
    table.engine = "numpy" if buffers == "H H" else "cupy"
    table.parameters, table.facts = parameters, facts
    table.ranks = 2 if title.two_ranks else 2 * int(seen["pairs"]) if "pairs" in seen else None
    table.whole = title.operation == "reduce_scatter"
    averaged = "avg_latency_s" in columns.names or "overall_s" in columns.names
    table.statistic = "mean over iterations and ranks" if averaged else "mean over iterations"
    return table


def _windows(log: Log, title: Title, seen: dict[str, Value], facts: dict[str, Value]) -> dict[str, Value]:
    """Window, and directions or pairs."""
    given = log.option("-W", "--window-size")
    window = seen.get("window", int(given) if given and given.isdigit() else 0)
    facts["window_from"] = "log" if "window" in seen else "command line" if window else "usual (64), not in log"
    if title.operation == "message_rate":
        return {"window": window or 64, "pairs": seen.get("pairs", 1)}
    return {"window": window or 64, "directions": 2 if title.both_ways else 1}


def _row(table: Table, columns: Columns, number: int, size: int | None, values: dict[str, str]) -> Row:
    extra: dict[str, Value] = {}
    for name, factor in zip(columns.names, columns.factors, strict=True):
        if name == "iterations":
            extra[name] = int(values[name])
        elif factor and name != "size":
            extra[name] = float(values[name]) * factor
    status: Status = "ok"
    reason = ""
    if values.get("validation") == "Fail":
        status, reason = "failed", "validation failed"
    if rate := values.get("messages_per_s"):
        return _by_rate(table, number, size, float(rate), 0.005, 1, extra, status, reason)
    if rate := values.get("bandwidth_Bps"):
        factor = columns.factors[columns.names.index("bandwidth_Bps")]
        return _by_rate(table, number, size, float(rate) * factor, 0.005 * factor, size or 0, extra, status, reason)
    name = next(n for n in ("latency_s", "avg_latency_s", "pure_comm_s", "overall_s") if n in values)
    time_s = extra.pop(name)
    assert isinstance(time_s, float)
    factor = columns.factors[columns.names.index(name)]
    rounding = 0.005 * factor / time_s if time_s > 0 else 1.0
    if time_s <= 0:
        status, reason = "skipped", f"the log prints {values[name]}: under its resolution"
    return Row(table, number, size, time_s, extra or None, None, rounding, status, reason)


def _by_rate(
    table: Table, number: int, size: int | None, rate: float, step: float, work: int, extra: dict[str, Value],
    status: Status, reason: str,
) -> Row:  # fmt: skip
    """A row that prints a rate: time = work / rate."""
    if rate <= 0 or not work:
        return Row(
            table, number, size, float("nan"), extra, None, 1.0, "skipped", "the rate prints as 0: under its resolution"
        )
    return Row(table, number, size, work / rate, extra, None, step / rate, status, reason)


def _init_row(log: Log, title: Title, number: int, match: re.Match[str]) -> Row:
    table = log.table("mpi_init", f"{title.suite.lower()} {title.version}".strip())
    table.ranks, table.statistic = int(match[1]), "mean over ranks"
    least, most, mean = (float(match[i]) * 1e-3 for i in (2, 3, 4))
    return Row(
        table, number, None, mean, {"min_latency_s": least, "max_latency_s": most}, None, 0.5e-3 / max(mean, 1e-3)
    )


def _last_size(log: Log, title: Title, table: Table, last: int) -> int:
    """The size at which the test ends: as its options say, else the suite's own; `last` where that is not known."""
    given = table.scene.launch.option("-m", "--message-size")
    if given and (match := _MAX_SIZE.fullmatch(given)):
        return int(match[1])
    if title.suite != "OSU" or title.operation in ("compare_and_swap_latency", "fetch_and_op_latency") or given:
        return last
    if title.two_ranks or title.operation in ("message_rate", "multi_latency"):
        return _PAIRWISE_END
    ranks = table.ranks or table.scene.ranks or 1 << 13
    return _COLLECTIVE_END if 2 * last * ranks <= _MEMORY_LIMIT else last
