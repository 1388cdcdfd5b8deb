"""CUDA samples' p2pBandwidthLatencyTest: matrices of bandwidth and latency between devices.

A bandwidth is worked out of the sample's own 40,000,000 integers, which it does not print (`--numElems` changes them):
the size is the program's usual one where its command line does not say another. On the diagonal the program counts
bytes twice (read and written), and in bidirectional matrices twice again (two copies).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sprintprof.importers.log import Log
from sprintprof.importers.rows import Row, Table, Trouble
from sprintprof.records import Value

WHAT = "CUDA samples' p2pBandwidthLatencyTest"

USUAL_BYTES = 40_000_000 * 4

_SNIFF = re.compile(r"P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test|P2P=(?:En|Dis)abled .*Matrix", re.ASCII)
_DEVICE = re.compile(r"Device: (\d+), (\S.*?), pciBusID.*", re.ASCII)
_TITLE = re.compile(
    r"(?:(Unidirectional|Bidirectional) )?P2P=(Enabled|Disabled) (Bandwidth|Latency)(?: \((P2P \w+)\))? Matrix "
    r"\(([^)]*)\)\s*",
    re.ASCII,
)
_COLUMNS = re.compile(r"\s+(D\\D|GPU|CPU)((?:\s+\d+)+)\s*", re.ASCII)
_OTHER = re.compile(r"P2P|irection|atrix|D\\D|GPU|CPU", re.ASCII)
_ROW = re.compile(r"\s+(\d+)((?:\s+\d+\.\d\d)+)\s*", re.ASCII)
_GREATEST = 1e5
"""GB/s or µs: greater numbers are two that ran together."""
_ROW_LIKE = re.compile(r"\s*\d+(?:\s+[\d.]+)+\s*", re.ASCII)
_HEADS = {"Bandwidth": [["D\\D"]], "Latency": [["GPU"], ["GPU", "CPU"], ["D\\D"], ["CPU"]]}
"""Which matrices may follow a title."""
_UNITS = {"Bandwidth": {"GB/s": 1e9}, "Latency": {"us": 1e-6}}


def sniff(text: str) -> bool:
    """The program's banner or one of its titles."""
    return "P2P" in text and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """Each title opens a matrix (latencies have one by the GPU's clock and one by the CPU's)."""
    state = _State(log)
    for number, line in log:
        if "Matrix" in line:
            yield from state.title(number, line)
        elif match := _COLUMNS.fullmatch(line):
            yield from state.head(number, match)
        elif state.columns and _OTHER.search(
            line
        ):  # a title or a head that is damaged: what follows is no part of this
            yield from state.ended()
        elif state.columns and line[:1] in " 0123456789" and line.strip():
            yield from state.row(number, line)
        elif match := _DEVICE.fullmatch(line):
            state.devices[int(match[1])] = match[2]
    yield from state.ended()


@dataclass
class _State:
    log: Log
    devices: dict[int, str] = field(default_factory=dict)
    match: re.Match[str] | None = None
    table: Table | None = None
    columns: list[int] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    line: int = 0
    done: int = 0
    heads: list[str] = field(default_factory=list)
    last_line: str = ""

    def title(self, number: int, line: str) -> Iterator[Trouble]:
        """A matrix begins."""
        yield from self.ended()
        self.match, self.heads = _TITLE.fullmatch(line.strip()), []
        if self.match and self.match[5] not in _UNITS[self.match[3]]:
            yield Trouble(number, line, f"the unit '{self.match[5]}' is not known")
            self.match = None
        self.line = number

    def head(self, number: int, match: re.Match[str]) -> Iterator[Trouble]:
        """Its columns."""
        if self.columns and self.match:
            yield from self._cut()
        self.columns = []
        if self.match is None:  # the connectivity matrix
            return
        self.heads.append(match[1])
        if self.heads not in _HEADS[self.match[3]]:
            yield Trouble(number, match[0], "a matrix without its title")
            self.match = None
            return
        self.columns = [int(word) for word in match[2].split()]
        self.wanted, self.line, self.done, self.last_line = list(self.columns), number, 0, ""
        self.table = self._table(match[1])

    def row(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """A row of the matrix: the devices follow each other, each with a number for every column."""
        match = _ROW.fullmatch(line)
        if match is None:
            if _ROW_LIKE.fullmatch(line):
                yield Trouble(number, line, "is no whole row")
            return
        if line == self.last_line:
            self.log.note("lines are there twice; each counts once")
            return
        values = match[2].split()
        if int(match[1]) not in self.wanted or len(values) != len(self.columns):
            yield Trouble(number, line, "does not fit the matrix")
            yield from self.ended()
            return
        if len(line.rstrip()) != 6 + sum(1 + max(6, len(v)) for v in values) or max(map(float, values)) > _GREATEST:
            yield Trouble(number, line, "is laid out otherwise than the matrix: cut, or mixed with other output")
            return
        self.wanted = [d for d in self.wanted if d > int(match[1])]
        self.done, self.last_line = self.done + 1, line
        assert self.table is not None
        for place, (column, value) in enumerate(zip(self.columns, values, strict=True)):
            yield self._cell(number, int(match[1]), column, value, place > 0)

    def ended(self) -> Iterator[Trouble]:
        """The matrix before is over."""
        if self.columns and self.match and self.done < len(self.columns):
            yield from self._cut()
        self.columns, self.wanted = [], []

    def _cut(self) -> Iterator[Trouble]:
        if self.done < len(self.columns):
            yield Trouble(self.line, "", f"{self.done} of the matrix's {len(self.columns)} rows: cut, or ended early")

    def _table(self, clock: str) -> Table:
        assert self.match is not None
        directions, peer, what = self.match[1], self.match[2] == "Enabled", self.match[3]
        parameters: dict[str, Value] = {"peer_access": peer}
        if what == "Bandwidth":
            parameters["directions"] = 2 if directions == "Bidirectional" else 1
        else:
            parameters["clock"] = clock.lower()
        if self.match[4]:
            parameters["by"] = self.match[4].removeprefix("P2P ").lower()
        names = sorted(set(self.devices.values()))
        table = self.log.table(f"p2p_{what.lower()}", "p2pBandwidthLatencyTest", engine="cupy", parameters=parameters)
        if len(names) == 1:
            table.facts["device"] = names[0]
        table.statistic = "mean over iterations"
        return table

    def _cell(self, number: int, source: int, target: int, value: str, repeated: bool) -> Row:
        assert self.table is not None
        assert self.match is not None
        parameters: dict[str, Value] = {"source": source, "target": target}
        if float(value) <= 0:
            row = Row(self.table, number, None, float("nan"), None, parameters, 1.0, "skipped", "the log prints 0")
        elif self.match[3] == "Latency":
            time_s = float(value) * 1e-6
            row = Row(self.table, number, None, time_s, None, parameters, 0.005e-6 / time_s)
        else:
            given = self.log.option("--numElems")
            size = int(given) * 4 if given and given.isdigit() else USUAL_BYTES
            both = 2 if self.match[1] == "Bidirectional" else 1
            copied = size * both * (2 if source == target else 1)
            rate = float(value) * 1e9
            extra: dict[str, Value] = {"log_bandwidth_Bps": rate, "copied_bytes": copied}
            extra["size_from"] = "command line" if given else "the program's usual 40,000,000 integers, not in log"
            row = Row(self.table, number, size, copied / rate, extra, parameters, 0.005e9 / rate)
        row.repeated = repeated
        return row
