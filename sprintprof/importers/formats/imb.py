"""Intel MPI Benchmarks 2018 to 2021 and the older suite: MPI-1, NBC, RMA, EXT, P2P, MT, IO; several rank counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sprintprof.importers.log import Log
from sprintprof.importers.rows import Row, Table, Trouble
from sprintprof.records import Value

WHAT = "Intel MPI Benchmarks 2018 to 2021 (all families)"

_SNIFF = re.compile(r"Intel ?\(R\) MPI Benchmark|^#\s*Benchmarking [A-Z]\w+", re.ASCII | re.MULTILINE)
_VERSION = re.compile(
    r"#\s+Intel ?\(R\) MPI Benchmarks?(?: Suite)? V?(?P<version>[\w. ]+?),? (?P<part>[\w-]+) part", re.ASCII
)
_BENCHMARK = re.compile(r"#\s*Benchmarking (?P<multi>Multi-|\(Multi-\))?(?P<name>\w+)\)?\s*", re.ASCII)
_PROCESSES = re.compile(r"#\s*#processes = (\d{1,8})\s*", re.ASCII)
_GROUPS = re.compile(r"#\s*\(\s*(\d+) groups of (\d+) processes each", re.ASCII)
_MODE = re.compile(r"#\s*MODE: (.*?)\s*", re.ASCII)
_FACTS = {
    "mpi_standard": re.compile(r"# MPI Version\s*:\s*(\S+)", re.ASCII),
    "kernel": re.compile(r"# Release\s*:\s*(\S+)", re.ASCII),
    "architecture": re.compile(r"# Machine\s*:\s*(\S+)", re.ASCII),
    "datatype": re.compile(r"# MPI_Datatype for reductions\s*:\s*(\S+)", re.ASCII),
    "date": re.compile(r"# Date\s*:\s*(\S.*?)\s*$", re.ASCII),
}
_COLUMN = re.compile(r"(#?[A-Za-z_]+(?:/sec)?)(?:\[([^\]]*)\])?", re.ASCII)
_UNITS = {"usec": 1e-6, "msec": 1e-3, "sec": 1.0, "%": 0.01}
_TIMES = {"t": "t_s", "t_min": "t_min_s", "t_max": "t_max_s", "t_avg": "t_avg_s", "t_ovrl": "t_overlapped_s",
          "t_pure": "t_pure_s", "t_CPU": "t_cpu_s", "overlap": "overlap"}  # fmt: skip
_REFUSED = re.compile(r"\s*(\d+) (out-of-mem|time-out|int-overflow)\.?;? ?(.*)", re.ASCII)
_NUMBERS = re.compile(r"\s*\d+(?:\s+[-+]?[\d.]+)+\s*", re.ASCII)
_END = "# All processes entering MPI_Finalize"

_NAMES = {
    "PingPong": "pingpong", "Bcast": "broadcast", "Allreduce": "allreduce", "Reduce": "reduce", "Gather": "gather",
    "Scatter": "scatter", "Allgather": "allgather", "Barrier": "barrier", "Reduce_scatter": "reduce_scatter",
    "Reduce_scatter_block": "reduce_scatter", "Uniband": "message_rate", "Ibcast": "ibroadcast",
}  # fmt: skip
_WHOLE = ("Reduce_scatter",)
_REDUCING = ("allreduce", "reduce", "reduce_scatter")
_HEADLINE = ("t_avg_s", "t_s", "t_pure_s", "t_max_s")


class _Columns(NamedTuple):
    names: tuple[str, ...]
    factors: tuple[float, ...]
    width: int


def sniff(text: str) -> bool:
    """The suite's banner, or the head of one of its tables."""
    return ("MPI Benchmark" in text or "Benchmarking " in text) and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """Each `# Benchmarking` opens a table; its head line names columns and units; a blank line closes it."""
    state = _State(log)
    for number, line in log:
        if state.columns is not None:
            if not line.strip():
                state.columns = None if state.rows else state.columns
            elif found := state.row(number, line):
                yield found
        if "#" in line:
            yield from state.comment(number, line)
    yield from state.finished()


@dataclass
class _State:
    log: Log
    facts: dict[str, Value] = field(default_factory=dict)
    name: str = ""
    multi: bool = False
    line: int = 0
    ranks: int | None = None
    groups: int = 1
    mode: str = ""
    columns: _Columns | None = None
    table: Table | None = None
    rows: int = 0
    last: int = -1
    last_line: str = ""
    lost: str = ""
    running: bool = False

    def comment(self, number: int, line: str) -> Iterator[Trouble]:
        """A line with #: banner, benchmark, ranks, mode, or the head of a table."""
        if match := _VERSION.match(line):
            if self.running:
                yield self._cut(number)
            self.facts = {"version": match["version"].strip(), "part": match["part"]}
            self.running, self.name = True, ""
        elif line.startswith(_END):
            self.running, self.columns, self.name = False, None, ""
        elif match := _BENCHMARK.fullmatch(line):
            self.name, self.multi, self.line = match["name"], bool(match["multi"]), number
            self.ranks, self.groups, self.mode, self.columns, self.lost = None, 1, "", None, ""
        elif match := _PROCESSES.fullmatch(line):
            self.ranks = int(match[1])
        elif match := _GROUPS.match(line):
            self.groups, self.ranks = int(match[1]), int(match[2])
        elif match := _MODE.fullmatch(line):
            self.mode = match[1].lower()
        elif "usec" in line or "sec" in line or "#repetitions" in line:
            yield from self._head(number, line)
        else:
            for fact, pattern in _FACTS.items():
                if match := pattern.match(line):
                    self.facts[fact] = match[1]

    def _head(self, number: int, line: str) -> Iterator[Trouble]:
        columns = _read_columns(line)
        if isinstance(columns, str):
            if columns:
                self.columns, self.lost = None, columns
                yield Trouble(number, line, columns)
            return
        self.columns, self.table, self.rows, self.last = columns, None, 0, -1
        self.lost = "" if self.name else "a table without the line that names its benchmark"
        if not self.lost and self.ranks is None:
            self.lost = "a table without the line that says #processes"

    def row(self, number: int, line: str) -> Row | Trouble | None:
        """A line below a head."""
        assert self.columns is not None
        if refused := _REFUSED.fullmatch(line):
            return self._refused(number, line, refused)
        line = line.rstrip()
        if not _NUMBERS.fullmatch(line):
            return Trouble(number, line, "is no whole row") if re.match(r"\s*\d+\s+\d+\s", line, re.ASCII) else None
        words = line.split()
        columns = self.columns
        if len(words) != len(columns.names) or not all(map(_plausible, words, columns.names)):
            return Trouble(number, line, "is no whole row")
        if self.lost:
            return Trouble(number, line, self.lost)
        if len(line) != columns.width:
            return Trouble(number, line, "is laid out otherwise than its head: cut, or mixed with other output")
        values = dict(zip(columns.names, words, strict=True))
        size = int(values["bytes"]) if "bytes" in values else None
        if trouble := self._out_of_order(number, line, size):
            return trouble
        if line == self.last_line and self.rows:
            self.log.note("lines are there twice; each counts once")
            return None
        self.last, self.last_line, self.rows = size if size is not None else -1, line, self.rows + 1
        return _row(self._table(), columns, number, size, values)

    def _out_of_order(self, number: int, line: str, size: int | None) -> Trouble | None:
        again = size is None and self.rows and line != self.last_line
        if again or (size is not None and (size < self.last or (size == self.last and line != self.last_line))):
            self.lost = "sizes start again: a head is missing"
            return Trouble(number, line, self.lost)
        return None

    def _refused(self, number: int, line: str, match: re.Match[str]) -> Row | Trouble:
        """A size that the suite itself left out: the point is a record with that reason."""
        if self.lost:
            return Trouble(number, line, self.lost)
        status = "failed" if match[2] == "time-out" else "skipped"
        reason = f"{match[2]}: {match[3].strip()}".rstrip(": ")
        self.last, self.rows = int(match[1]), self.rows + 1
        return Row(self._table(), number, int(match[1]), float("nan"), status=status, reason=reason[:200])  # type: ignore[arg-type]

    def _table(self) -> Table:
        if self.table is None:
            benchmark = _NAMES.get(self.name, self.name.lower())
            parameters: dict[str, Value] = {}
            if benchmark in _REDUCING:
                parameters["precision"] = {"MPI_DOUBLE": "fp64"}.get(str(self.facts.get("datatype", "")), "fp32")
            if benchmark == "message_rate" or self.name == "Biband":
                parameters |= {"window": 64, "pairs": (self.ranks or 2) // 2}
            if self.multi:
                parameters["groups"] = self.groups
            if self.mode:
                parameters["mode"] = self.mode
            tool = f"imb {self.facts.get('version', '')}".strip()
            self.table = self.log.table(
                benchmark, tool, parameters=parameters, facts=dict(self.facts), ranks=self.ranks
            )
            self.table.whole = self.name in _WHOLE
        return self.table

    def _cut(self, number: int) -> Trouble:
        return Trouble(number, "", f"the run before does not end with '{_END[2:]}': cut, or ended early")

    def finished(self) -> Iterator[Trouble]:
        """A run that does not come to its end."""
        if self.running:
            yield self._cut(self.line)


def _plausible(word: str, column: str) -> bool:
    """Whole numbers for bytes and repetitions, two decimals for the others: a number that was cut has fewer."""
    if column in ("bytes", "repetitions"):
        return word.isdigit() and len(word) < 20
    pattern = r"\d+(?:\.\d\d)?" if column == "messages_per_s" else r"-?\d+\.\d\d"
    return re.fullmatch(pattern, word, re.ASCII) is not None


def _read_columns(line: str) -> _Columns | str:
    """The columns of a head, what is wrong with it, or "" where it is none."""
    names: list[str] = []
    factors: list[float] = []
    for match in _COLUMN.finditer(line):
        word, unit = match[1], match[2]
        if word in ("#bytes", "#repetitions"):
            names.append(word[1:])
            factors.append(1.0)
        elif word in ("Mbytes/sec", "Msg/sec"):
            names.append("rate_Bps" if word[0] == "M" and word[1] == "b" else "messages_per_s")
            factors.append(1e6 if word == "Mbytes/sec" else 1.0)
        elif word in _TIMES:
            if unit not in _UNITS or (word == "overlap") != (unit == "%"):
                return f"the unit '{unit}' of '{word}' is not known"
            names.append(_TIMES[word])
            factors.append(_UNITS[unit])
        elif names:
            return f"the column '{word}' is not known"
        else:
            return ""
    if "repetitions" not in names or len(names) < 2:
        return ""
    return _Columns(tuple(names), tuple(factors), len(line.rstrip()))


def _row(table: Table, columns: _Columns, number: int, size: int | None, values: dict[str, str]) -> Row:
    scaled = {n: float(values[n]) * f for n, f in zip(columns.names, columns.factors, strict=True)}
    extra: dict[str, Value] = {"iterations": int(values["repetitions"])}
    extra |= {n: v for n, v in scaled.items() if n not in ("bytes", "repetitions")}
    headline = next((n for n in _HEADLINE if n in scaled), None)
    if headline is not None:
        factor = columns.factors[columns.names.index(headline)]
        time_s = float(extra.pop(headline))
        table.statistic = "mean over iterations and ranks" if headline == "t_avg_s" else "mean over iterations"
        if time_s <= 0:
            return Row(
                table, number, size, time_s, extra, None, 1.0, "skipped", "the log prints 0: under its resolution"
            )
        row = Row(table, number, size, time_s, extra, None, 0.005 * factor / time_s)
        if "t_min_s" in scaled and not scaled["t_min_s"] <= time_s <= scaled.get("t_max_s", time_s):
            row.suspicious = "the mean lies outside least and greatest"
        return row
    if scaled.get("messages_per_s", 0.0) > 0:
        rate = scaled["messages_per_s"]
        return Row(table, number, size, 1.0 / rate, extra, None, 0.5 / rate)
    if scaled.get("rate_Bps", 0.0) > 0 and size:
        rate = scaled["rate_Bps"]
        return Row(table, number, size, size / rate, extra, None, 0.005e6 / rate)
    return Row(
        table, number, size, float("nan"), extra, None, 1.0, "skipped", "the log prints no time and no rate above 0"
    )
