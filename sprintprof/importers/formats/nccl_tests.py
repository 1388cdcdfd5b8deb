"""nccl-tests and rccl-tests: out-of-place and in-place times, root lines, zero sizes, averages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sprintprof.importers.formats._nccl_facts import FORMULAS, bus_factor, collective_from_rates, ranks_from_rates
from sprintprof.importers.log import Log
from sprintprof.importers.names import DATATYPES
from sprintprof.importers.rows import NOT_IN_LOG, Row, Table, Trouble
from sprintprof.records import Value

WHAT = "nccl-tests and rccl-tests"

_SNIFF = re.compile(r"^\S*#\s+size\s+count\b.*\balgbw\s+busbw|# Collective test starting: ", re.ASCII | re.MULTILINE)
_HEAD = re.compile(r"#\s+size\s+count\b.*\balgbw\s+busbw\b.*", re.ASCII)
_PROGRAM = re.compile(
    r"(all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|gather|scatter|sendrecv|hypercube)_perf"
)
_STARTING = re.compile(r"# Collective test starting: (\w+)", re.ASCII)
_DEVICE = re.compile(
    r"#\s+Rank\s+(\d{1,7}) .*?\bPid\s+\d+ on\s+(\S+)\s+device\s+\d+ \[[^\]]*\]\s*(\S.*?)\s*$", re.ASCII
)
_SETTINGS = re.compile(r"# nThread (\d+) nGpus (\d+) .*", re.ASCII)
_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )iters: (\d+)", re.ASCII)
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*([\d.]+)", re.ASCII)
_VERSION = re.compile(r"#? ?(?:nccl|rccl)-tests version (\S+)", re.ASCII)
_LIBRARY = re.compile(r"\b(NCCL|RCCL) version (?:: )?(\d[\w.+]*)", re.ASCII)
_UNITS = re.compile(r"#\s+\(B\)\s+\(elements\)(.*)", re.ASCII)
_ROW_LIKE = re.compile(r"\s*\d+\s+\d+\s+\w+\s.*", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d{1,2})?", re.ASCII)

_NAMES = {"all_reduce": "allreduce", "all_gather": "allgather"}
_WHOLE = ("allgather", "reduce_scatter", "alltoall", "gather", "scatter")


def sniff(text: str) -> bool:
    """The head of a table, or the line before a test."""
    return ("algbw" in text or "Collective test" in text) and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """A table's rows are held until it ends: what it says about ranks and collective may come from all of them."""
    state = _State(log)
    for number, line in log:
        if "#" in line[:4]:
            yield from state.comment(number, line)
        elif state.columns and line[:1] in " 0123456789":
            state.row(number, line)
        elif "CL version" in line and (match := _LIBRARY.search(line)):
            state.facts[match[1].lower()] = match[2]
    yield from state.ended(complete=False)


@dataclass
class _State:
    log: Log
    collective: str = ""
    facts: dict[str, Value] = field(default_factory=dict)
    devices: dict[int, tuple[str, str]] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    line: int = 0
    units: str = ""
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)

    def comment(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """A line with #."""
        line = line.lstrip()
        if _HEAD.fullmatch(line):
            yield from self.ended(complete=False)
            self.columns, self.line, self.units = line.lstrip("# ").split(), number, ""
        elif match := _UNITS.match(line):
            self.units = match[1]
        elif match := _AVERAGE.match(line):
            yield from self.ended(complete=True, average=float(match[1].rstrip(".")))
        elif match := _DEVICE.match(line):
            self.devices[int(match[1])] = (match[2], match[3])
        elif match := _STARTING.match(line):
            yield from self.ended(complete=False)
            self.collective, self.devices = match[1], {}
        elif _SETTINGS.match(line):
            if not self.collective:
                self.devices = {}
            found = _ITERATIONS.search(line)
            self.facts["iterations"] = int(found[1]) if found else NOT_IN_LOG
        elif match := _VERSION.match(line):
            self.facts["version"] = match[1]

    def row(self, number: int, line: str) -> None:
        """A line below a head."""
        words = line.split()
        if len(words) == len(self.columns) and _is_row(words, self.columns):
            if self.rows and words == self.rows[-1][1]:
                self.log.note("lines are there twice; each counts once")
            elif self.rows and not _after(words, self.rows[-1][1], self.columns):
                self.troubles.append(Trouble(number, line, "sizes start again: a head is missing"))
            else:
                self.rows.append((number, words))
        elif _ROW_LIKE.fullmatch(line) or (words and words[0].isdigit() and len(words) < 3):
            self.troubles.append(Trouble(number, line, "is no whole row"))

    def ended(self, *, complete: bool, average: float | None = None) -> Iterator[Row | Trouble]:
        """The table's rows, once all of it was seen."""
        if not self.columns:
            return
        columns, rows, troubles, units = self.columns, self.rows, self.troubles, self.units
        self.columns, self.rows, self.troubles = [], [], []
        yield from troubles
        if not rows:
            if not troubles:
                yield Trouble(self.line, "", "a table without rows: the run was ended, or the log is cut")
            return
        if units and ("(us)" not in units or "(GB/s)" not in units):
            yield Trouble(self.line, units, "the units are not µs and GB/s")
            return
        rates = _rates(rows, columns)
        collective = self._collective(rows, columns, rates)
        if not collective:
            yield Trouble(self.line, "", "no line says which collective this is (# Collective test starting: …)")
            return
        yield from self._rows(collective, rows, columns, rates)
        if not complete:
            yield Trouble(rows[-1][0], "", "the table does not end with '# Avg bus bandwidth': cut, or ended early")
        elif average is not None and not _average_fits(average, rates):
            yield Trouble(
                rows[-1][0], "", f"the rows do not average {average:g} GB/s as the log says: some are missing"
            )

    def _collective(
        self, rows: list[tuple[int, list[str]]], columns: list[str], rates: list[tuple[float, float]]
    ) -> str:
        told = _PROGRAM.match(self.collective) or _PROGRAM.match(self.log.program())
        if told:
            return _NAMES.get(told[1], told[1])
        self.facts["collective_from"] = "redop sum, and busbw above algbw"
        return (
            collective_from_rates(_value(rows[0][1], columns, "redop"), _value(rows[0][1], columns, "root"), rates)
            or ""
        )

    def _rows(
        self, collective: str, rows: list[tuple[int, list[str]]], columns: list[str], rates: list[tuple[float, float]]
    ) -> Iterator[Row]:
        table = self._table(collective, rates)
        root_at = columns.index("root") if "root" in columns else None
        roots = {words[root_at] for _, words in rows} if root_at is not None else set()
        for number, words in rows:
            parameters: dict[str, Value] = {"precision": _precision(_value(words, columns, "type"))}
            if (redop := _value(words, columns, "redop")) not in ("", "sum", "none"):
                parameters["redop"] = redop
            if len(roots) > 1 and root_at is not None:
                parameters["root"] = int(words[root_at])
            for half, start in enumerate(i for i, name in enumerate(columns) if name == "time"):
                extra = parameters | {"in_place": True} if half else parameters
                yield _row(table, number, words, columns, start, extra, bool(half))

    def _table(self, collective: str, rates: list[tuple[float, float]]) -> Table:
        facts = {"busbw_formula": FORMULAS.get(collective, "algbw"), "iterations": NOT_IN_LOG, **self.facts}
        table = self.log.table(collective, f"nccl-tests {self.facts.get('version', '')}".strip(), engine="cupy")
        told = len(self.devices) if self.devices and max(self.devices) + 1 == len(self.devices) else None
        from_rates = ranks_from_rates(collective, rates)
        if told is None:
            table.ranks, facts["ranks_from"] = from_rates, "busbw / algbw"
            if self.devices and from_rates is not None and from_rates <= max(self.devices):
                self.log.note(
                    f"device lines name rank {max(self.devices)}, busbw / algbw say {from_rates} ranks: the rates count"
                )
        else:
            table.ranks, facts["ranks_from"] = told, "device lines"
            hosts = {host for host, _ in self.devices.values()}
            table.scene = type(table.scene)(
                table.scene.launch, told, len(hosts), told // len(hosts) if told % len(hosts) == 0 else None,
                tuple(sorted(hosts)), table.scene.variables, table.scene.mpi_library,
            )  # fmt: skip
        if table.ranks is None:
            del facts["ranks_from"]
        names = {name for _, name in self.devices.values()}
        if len(names) == 1:
            facts["device"] = names.pop()
        table.facts, table.whole = facts, collective in _WHOLE
        table.parameters = {"library": "rccl" if "rccl" in self.facts else "nccl"}
        table.statistic = "mean over iterations and ranks"
        return table


def _is_row(words: list[str], columns: list[str]) -> bool:
    """Whether the words are what the columns ask for."""
    for word, column in zip(words, columns, strict=True):
        if column in ("size", "count"):
            good = word.isdigit() and len(word) < 20
        elif column in ("time", "algbw", "busbw"):
            good = _NUMBER.fullmatch(word) is not None
        elif column == "root":
            good = word.lstrip("-").isdigit()
        else:
            good = True
        if not good:
            return False
    return _consistent(words, columns)


def _consistent(words: list[str], columns: list[str]) -> bool:
    """Whether each algbw is size / time as far as the digits go: numbers that were cut or mixed are not."""
    size = int(words[0])
    for start in (i for i, name in enumerate(columns) if name == "time"):
        time_us, algbw = float(words[start]), float(words[start + 1])
        half_digit = 0.5 / 10 ** len(words[start].partition(".")[2])
        if time_us - half_digit <= 0:
            return False
        least, most = size / (time_us + half_digit) / 1e3 - 0.0051, size / (time_us - half_digit) / 1e3 + 0.0051
        if not least <= algbw <= most:
            return False
    return True


def _after(words: list[str], before: list[str], columns: list[str]) -> bool:
    """Whether a row may follow another: a larger size, or the same size with another root, type or operation."""
    size, last = int(words[0]), int(before[0])
    choices = [i for i, name in enumerate(columns) if name in ("type", "redop", "root")]
    return size > last or [words[i] for i in choices] != [before[i] for i in choices]


def _value(words: list[str], columns: list[str], name: str) -> str:
    return words[columns.index(name)] if name in columns else ""


def _precision(name: str) -> str:
    return DATATYPES.get(name, name)


def _rates(rows: list[tuple[int, list[str]]], columns: list[str]) -> list[tuple[float, float]]:
    """(algbw, busbw) in GB/s of every half of every row."""
    starts = [i for i, name in enumerate(columns) if name == "algbw"]
    return [(float(words[i]), float(words[i + 1])) for _, words in rows for i in starts]


def _average_fits(average: float, rates: list[tuple[float, float]]) -> bool:
    mean = sum(busbw for _, busbw in rates) / len(rates)
    return abs(mean - average) <= 0.0051 + 1e-3 * average


def _row(
    table: Table,
    number: int,
    words: list[str],
    columns: list[str],
    start: int,
    parameters: dict[str, Value],
    second: bool,
) -> Row:
    size = int(words[0])
    time_us = words[start]
    digits = len(time_us.partition(".")[2])
    time_s = float(time_us) * 1e-6
    extra: dict[str, Value] = {
        "log_algbw_Bps": float(words[start + 1]) * 1e9,
        "log_busbw_Bps": float(words[start + 2]) * 1e9,
    }
    row = Row(table, number, size, time_s, extra, parameters, 0.5e-6 / 10**digits / time_s, repeated=second)
    wrong = words[start + 3] if start + 3 < len(words) and columns[start + 3] == "#wrong" else "0"
    if wrong.isdigit() and int(wrong):
        row.status, row.reason = "failed", f"{wrong} wrong elements"
    if size == 0:
        row.suspicious = "a time for no bytes: the size is under one element a rank"
    elif table.ranks and row.status == "ok":
        expected = float(words[start + 1]) * bus_factor(table.benchmark, table.ranks)
        slack = 0.0051 * (1 + bus_factor(table.benchmark, table.ranks))
        if abs(expected - float(words[start + 2])) > slack:
            row.suspicious = f"busbw is not {FORMULAS.get(table.benchmark, 'algbw')} on {table.ranks} ranks"
    return row
