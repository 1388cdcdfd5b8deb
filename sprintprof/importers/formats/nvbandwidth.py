"""nvbandwidth: matrices of copies between host and devices; SUM lines check that a matrix is whole.

The size of a copy is not printed: it is the program's usual 512 MiB unless the command line says another
(`--bufferSize`, MiB).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sprintprof.importers.log import Log
from sprintprof.importers.rows import Row, Table, Trouble
from sprintprof.records import Value

WHAT = "nvbandwidth"

USUAL_BYTES = 512 << 20

_SNIFF = re.compile(r"nvbandwidth Version|^Running [a-z]\w+_(?:ce|sm)\b|memcpy (?:CE|SM) ", re.ASCII | re.MULTILINE)
_VERSION = re.compile(r"nvbandwidth Version: (\S+)", re.ASCII)
_FACTS = {
    "cuda_runtime": re.compile(r"CUDA Runtime Version: (\S+)", re.ASCII),
    "cuda_driver": re.compile(r"CUDA Driver Version: (\S+)", re.ASCII),
    "driver": re.compile(r"Driver Version: (\S+)", re.ASCII),
}
_DEVICE = re.compile(r"Device (\d+): (\S.*?)(?: \([0-9a-fA-F:.]+\))?\s*", re.ASCII)
_RUNNING = re.compile(r"Running (\w+)\.\s*", re.ASCII)
_WAIVED = re.compile(r"\s*(?:Waived:?|WAIVED)\s*(.*)", re.ASCII)
_HEAD = re.compile(r"(?P<what>.*?)\b(?P<kind>bandwidth|latency) \((?P<unit>[^)]*)\)\s*", re.ASCII)
_COLUMNS = re.compile(r"\s+\d+(?:\s+\d+)*\s*", re.ASCII)
_ROW = re.compile(r"\s*(\d+)((?:\s+(?:\d+\.\d\d|N/A))+)\s*", re.ASCII)
_ROW_LIKE = re.compile(r"\s*\d+(?:\s+[\d.]+)+\s*", re.ASCII)
_SUM = re.compile(r"SUM (\w+) (\d+\.\d\d)\s*", re.ASCII)
_UNITS = {"bandwidth": {"GB/s": 1e9, "MB/s": 1e6}, "latency": {"ns": 1e-9, "us": 1e-6}}


def sniff(text: str) -> bool:
    """The program's banner, or the name of one of its tests."""
    return ("nvbandwidth" in text or "memcpy" in text or "Running " in text) and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """`Running NAME.`, a head with the unit, a line of columns, the rows, `SUM NAME total`."""
    state = _State(log)
    for number, line in log:
        if not line.strip():
            continue
        if state.columns and line[:1] in " 0123456789":
            state.row(number, line)
        elif state.unit and _COLUMNS.fullmatch(line):
            state.columns = [int(word) for word in line.split()]
        else:
            yield from state.text(number, line)
    yield from state.ended(number=0, total=None)


@dataclass
class _State:
    log: Log
    facts: dict[str, Value] = field(default_factory=dict)
    devices: dict[int, str] = field(default_factory=dict)
    test: str = ""
    line: int = 0
    head: str = ""
    kind: str = ""
    unit: float = 0.0
    columns: list[int] = field(default_factory=list)
    cells: list[tuple[int, int, int, str]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    last_line: str = ""
    waived: bool = False

    def text(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """A line with words."""
        if match := _RUNNING.fullmatch(line):
            yield from self.ended(number, None)
            self.test, self.line, self.waived = match[1], number, False
        elif match := _SUM.fullmatch(line):
            yield from self.ended(number, (match[1], match[2]))
        elif (match := _HEAD.fullmatch(line)) and ("memcpy" in line or "(row)" in line or "latency" in line):
            yield from self._head(number, line, match)
        elif match := _VERSION.match(line):
            self.facts["version"] = match[1]
        elif match := _DEVICE.fullmatch(line):
            self.devices[int(match[1])] = match[2]
        elif _WAIVED.fullmatch(line):
            self.waived = True
        else:
            for fact, pattern in _FACTS.items():
                if match := pattern.match(line):
                    self.facts[fact] = match[1]

    def _head(self, number: int, line: str, match: re.Match[str]) -> Iterator[Trouble]:
        self.columns, self.unit, self.last_line = [], 0.0, ""
        if not self.test:
            yield Trouble(number, line, "a matrix without the line that names its test")
        elif match["unit"] not in _UNITS[match["kind"]]:
            yield Trouble(number, line, f"the unit '{match['unit']}' is not known")
        else:
            self.head, self.kind, self.unit = match["what"].strip(), match["kind"], _UNITS[match["kind"]][match["unit"]]

    def row(self, number: int, line: str) -> None:
        """A row of the matrix."""
        match = _ROW.fullmatch(line)
        values = match[2].split() if match else []
        if match is None or len(values) != len(self.columns):
            if _ROW_LIKE.fullmatch(line):
                self.troubles.append(Trouble(number, line, "is no whole row"))
        elif line == self.last_line:
            self.log.note("lines are there twice; each counts once")
        elif self.cells and int(match[1]) <= self.cells[-1][1]:
            self.troubles.append(Trouble(number, line, "rows start again: a head is missing"))
        else:
            self.last_line = line
            self.cells += [(number, int(match[1]), c, v) for c, v in zip(self.columns, values, strict=True)]

    def ended(self, number: int, total: tuple[str, str] | None) -> Iterator[Row | Trouble]:
        """The test before is over; `total` is (name, number) of its SUM line."""
        cells, troubles, test = self.cells, self.troubles, self.test
        self.cells, self.troubles, self.columns, unit, self.unit = [], [], [], self.unit, 0.0
        yield from troubles
        if test and not cells and not troubles and not self.waived:
            yield Trouble(
                self.line, f"Running {test}.", "a test without a matrix: the run was ended, or the log is cut"
            )
        self.test = ""
        if not cells:
            return
        table = self._table(test)
        last = 0
        for at, row, column, value in cells:
            if value != "N/A":
                yield self._cell(table, at, row, column, value, unit, at == last)
                last = at
        added = sum(float(value) for *_, value in cells if value != "N/A")
        if total is None:
            yield Trouble(number or cells[-1][0], "", f"{test} does not end with its SUM: cut, or ended early")
        elif total[0] != test or abs(added - float(total[1])) > 0.005 * (len(cells) + 1):
            yield Trouble(number, "", f"the cells of {test} do not add up to its SUM: some are missing or wrong")

    def _table(self, test: str) -> Table:
        given = self.log.option("--bufferSize", "-b")
        self.facts["size_from"] = "command line" if given else "the program's usual 512 MiB, not in log"
        names = sorted(set(self.devices.values()))
        table = self.log.table(
            f"nvbandwidth_{test}", f"nvbandwidth {self.facts.get('version', '')}".strip(), engine="cupy"
        )
        table.facts = {**self.facts, "head": self.head} | ({"device": names[0]} if len(names) == 1 else {})
        table.statistic = "median over iterations"
        return table

    def _cell(self, table: Table, at: int, row: int, column: int, value: str, unit: float, repeated: bool) -> Row:
        parameters: dict[str, Value] = {"row": row, "column": column}
        scaled = float(value) * unit
        if scaled <= 0:
            made = Row(table, at, None, float("nan"), None, parameters, 1.0, "skipped", "the log prints 0")
        elif self.kind == "latency":
            made = Row(table, at, None, scaled, None, parameters, 0.005 * unit / scaled)
        else:
            given = self.log.option("--bufferSize", "-b")
            size = int(given) << 20 if given and given.isdigit() and len(given) < 9 else USUAL_BYTES
            extra: dict[str, Value] = {"log_bandwidth_Bps": scaled}
            made = Row(table, at, size, size / scaled, extra, parameters, 0.005 * unit / scaled)
        made.repeated = repeated
        return made
