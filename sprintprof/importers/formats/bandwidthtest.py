"""CUDA samples' bandwidthTest: copies between host and device, and within the device; MB/s or GB/s, table or CSV.

The versions that print MB/s work out 1024 · bytes / (milliseconds · 2^20): their unit is 1,024,000 B/s. The ones that
print GB/s use 1e9. Copies within the device count each byte twice, read and written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sprintprof.importers.log import Log
from sprintprof.importers.rows import Row, Table, Trouble
from sprintprof.records import Value

WHAT = "CUDA samples' bandwidthTest (MB/s and GB/s)"

UNIT_BPS = {"MB/s": 1.024e6, "GB/s": 1e9}
"""What the program's units are, from its source."""
_GREATEST_BPS = 1e14

_SNIFF = re.compile(r"\[CUDA Bandwidth Test\]|^bandwidthTest-[DH]2[DH]", re.ASCII | re.MULTILINE)
_DEVICE = re.compile(r"\s*Device (\d+): (\S.*?)\s*", re.ASCII)
_DIRECTION = re.compile(r"\s*(Host|Device) to (Host|Device) Bandwidth, (\d+) Device\(s\)\s*", re.ASCII)
_MEMORY = re.compile(r"\s*(PINNED|PAGEABLE) Memory Transfers\s*", re.ASCII)
_HEAD = re.compile(r"\s*Transfer Size \(Bytes\)\s+Bandwidth\(([^)]*)\)\s*", re.ASCII)
_ROW = re.compile(r"\s+(\d{1,19})\s+(\d+\.\d)\s*", re.ASCII)
_CSV = re.compile(
    r"bandwidthTest-([HD])2([HD])(?:-(Pinned|Paged))?(?:-WriteCombined)?, Bandwidth = (\d+\.\d) ([MG]B/s), "
    r"Time = (\d+\.\d+) s, Size = (\d+) bytes, NumDevsUsed = (\d+)\s*",
    re.ASCII,
)
_MODES = {"PINNED": "pinned", "PAGEABLE": "pageable", "Pinned": "pinned", "Paged": "pageable"}


def sniff(text: str) -> bool:
    """The program's banner, or one of its CSV lines."""
    return ("CUDA Bandwidth" in text or "bandwidthTest-" in text) and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """Direction, memory and unit stand above each table; `Result = PASS` ends the log."""
    state = _State(log)
    for number, line in log:
        if "Bandwidth" in line or "Device" in line or "Transfers" in line or "Result" in line:
            state.unit = ""  # and so does every line of the program's that is no row
            yield from state.text(number, line)
        elif state.unit and line.strip():
            yield from state.row(number, line)
        elif state.last_size >= 0:  # a blank line ends a table
            state.unit = ""
    if state.running:
        yield Trouble(state.last, "", "the log does not come to 'Result = …': cut, or ended early")


@dataclass
class _State:
    log: Log
    running: bool = False
    device: str = ""
    direction: tuple[str, str, int] | None = None
    told: bool = False
    memory: str = ""
    unit: str = ""
    last: int = 0
    last_size: int = -1
    last_line: str = ""
    table: Table | None = None
    tables: dict[tuple[object, ...], Table] = field(default_factory=dict)

    def text(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """A line with words."""
        if "[CUDA Bandwidth Test]" in line:
            if self.running:
                yield Trouble(number, "", "the run before does not come to 'Result = …': cut, or ended early")
            self.running, self.device, self.unit, self.last = True, "", "", number
            self.direction, self.told = None, False
        elif line.startswith("Result"):
            self.running, self.unit = False, ""
        elif match := _DIRECTION.fullmatch(line):
            self.direction, self.unit = (match[1].lower(), match[2].lower(), int(match[3])), ""
            self.told, self.memory = True, ""
        elif match := _DEVICE.fullmatch(line):
            self.device = match[2]
        elif match := _MEMORY.fullmatch(line):
            self.memory = _MODES[match[1]]
        elif match := _HEAD.fullmatch(line):
            yield from self._head(number, line, match[1])
        elif match := _CSV.fullmatch(line):
            source, target = ("host" if side == "H" else "device" for side in match.groups()[:2])
            self.direction, self.memory = (source, target, int(match[8])), _MODES.get(match[3] or "", "")
            yield self._row(number, int(match[7]), match[4], match[5])
        else:
            self.told = False  # perhaps a direction that cannot be read: the table below has none

    def _head(self, number: int, line: str, unit: str) -> Iterator[Trouble]:
        self.unit, self.last_size, self.last_line = "", -1, ""
        if unit not in UNIT_BPS:
            self.told = False
            yield Trouble(number, line, f"the unit '{unit}' is not known")
        elif not self.told:
            yield Trouble(number, line, "a table without the line that says its direction")
        else:
            self.unit, self.told = unit, False

    def row(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """A line below a head."""
        match = _ROW.fullmatch(line)
        if not match:
            if line.split()[0].isdigit():
                yield Trouble(number, line, "is no whole row")
            return
        size = int(match[1])
        if float(match[2]) * UNIT_BPS[self.unit] > _GREATEST_BPS:
            yield Trouble(number, line, "no copy is so fast: two numbers ran together")
        elif line == self.last_line:
            self.log.note("lines are there twice; each counts once")
        elif size <= self.last_size:
            yield Trouble(number, line, "sizes start again: a head is missing")
        else:
            self.last_size, self.last_line = size, line
            yield self._row(number, size, match[2], self.unit)

    def _row(self, number: int, size: int, printed: str, unit: str) -> Row:
        assert self.direction is not None
        source, target, devices = self.direction
        key = (source, target, devices, self.memory, self.device)
        if key not in self.tables:
            self.tables[key] = _table(self.log, source, target, devices, self.memory, self.device)
        table = self.tables[key]
        twice = 2 if source == target == "device" else 1
        rate = float(printed) * UNIT_BPS[unit]
        if rate <= 0 or not size:
            return Row(table, number, size, float("nan"), None, None, 1.0, "skipped", "the rate prints as 0")
        extra: dict[str, Value] = {"log_bandwidth_Bps": rate}
        return Row(table, number, size, twice * size / rate, extra, None, 0.05 * UNIT_BPS[unit] / rate)


def _table(log: Log, source: str, target: str, devices: int, memory: str, device: str) -> Table:
    if source == target == "device":
        name, parameters = "memory_copy", {"precision": "bytes"}
    else:
        name, parameters = f"copy_{source[0]}2{target[0]}", {"memory": memory or "unknown"}
    table = log.table(name, "bandwidthTest", engine="cupy", parameters=dict(parameters))
    table.facts = {"devices": devices, "rate_formula": "2 · size / time" if source == target else "size / time"}
    if device:
        table.facts["device"] = device
    if devices > 1:
        table.parameters["devices"] = devices
    table.statistic = "mean over iterations"
    return table
