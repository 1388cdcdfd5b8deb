"""STREAM (C and Fortran, all versions) and BabelStream (table and CSV)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sprintprof.importers.formats import _babelstream
from sprintprof.importers.log import Log
from sprintprof.importers.rows import NOT_IN_LOG, Row, Table, Trouble
from sprintprof.records import Value

WHAT = "STREAM and BabelStream"

_SNIFF = re.compile(
    r"^\s*STREAM [Vv]ersion \$Rev|^\s*Function\s+(?:Best )?Rate \(?MB/s|^BabelStream", re.ASCII | re.MULTILINE
)
_VERSION = re.compile(r"\s*STREAM [Vv]ersion \$Revision: ([\d.]+)", re.ASCII)
_SIZE = re.compile(r"\s*Array size = +(\d{1,15})(?: \(elements\))?", re.ASCII)
_WIDTH = re.compile(r"\s*(?:This system uses|Assuming) +(\d{1,3}) bytes per", re.ASCII)
_THREADS = re.compile(r"\s*Number of Threads (?:counted )?= +(\d{1,6})", re.ASCII)
_REQUESTED = re.compile(r"\s*Number of Threads requested = +(\d{1,6})", re.ASCII)
_TIMES = re.compile(r"\s*(?:Each kernel will be executed|You are running each test) +(\d{1,9}) times", re.ASCII)
_HEAD = re.compile(
    r"\s*Function\s+(?:Best )?Rate \(?(\w+/s)\)?\s+(?:Avg|RMS) ?time\s+Min ?time\s+Max ?time\s*", re.ASCII
)
_ROW = re.compile(
    r"\s*(Copy|Scale|Add|Triad):\s+(\d+\.\d+)\s+(\d+\.\d{4,6})\s+(\d+\.\d{4,6})\s+(\d+\.\d{4,6})\s*", re.ASCII
)
_ROW_LIKE = re.compile(r"\s*(?:Copy|Scale|Add|Triad):\s*\S.*", re.ASCII)
_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}


def sniff(text: str) -> bool:
    """A banner or the head of a table."""
    return ("STREAM" in text or "BabelStream" in text or "Rate" in text) and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """The banner says size, width and threads; the rate of each row must be its bytes over its least time."""
    state, babel = _State(log), _babelstream.State(log)
    for number, line in log:
        first = line.lstrip()[:1]
        if babel.running:
            yield from babel.line(number, line)
        elif first and first in "BCSATMFNEYWO":
            if line.startswith(_babelstream.BANNER):
                babel.running = True
            else:
                yield from state.line(number, line)
    yield from state.ended()
    yield from babel.ended()


@dataclass
class _State:
    log: Log
    facts: dict[str, Value] = field(default_factory=dict)
    line_of: int = 0
    elements: int = 0
    width: int = 0
    threads: int = 0
    unit: str = ""
    seen: list[str] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    validated: bool = True
    lost: str = ""

    def line(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """One line of a STREAM run."""
        if match := _VERSION.match(line):
            yield from self.ended()
            self.facts, self.elements, self.threads = {"version": match[1]}, 0, 0
        elif _ROW_LIKE.fullmatch(line):
            if self.unit:
                yield self._row(number, line)
        elif match := _SIZE.match(line):
            self.elements = int(match[1])
        elif match := _WIDTH.match(line):  # stands before the banner in Fortran, behind it in C
            yield from self.ended()
            self.width = int(match[1])
        elif (match := _THREADS.match(line)) or (match := _REQUESTED.match(line)):
            self.threads = int(match[1])
        elif match := _TIMES.match(line):
            self.facts["iterations"] = int(match[1])
        elif match := _HEAD.fullmatch(line):
            yield from self._head(number, line, match[1])
        elif "Validat" in line:
            self.validated = True
            if "Failed" in line:
                yield Trouble(number, line, "the run's own validation failed")

    def _head(self, number: int, line: str, unit: str) -> Iterator[Trouble]:
        if self.line_of:
            yield from self.ended()
        self.line_of, self.seen, self.tables, self.validated = number, [], {}, False
        self.unit, self.lost = unit, ""
        if unit != "MB/s":
            self.unit = ""
            yield Trouble(number, line, f"the unit '{unit}' is not known")
        elif not self.elements or not self.width:
            self.lost = "the lines that say array size and bytes per element are missing"

    def _row(self, number: int, line: str) -> Row | Trouble:
        match = _ROW.fullmatch(line)
        if not match or self.lost:
            return Trouble(number, line, self.lost or "is no whole row")
        name, rate = match[1], float(match[2]) * 1e6
        mean_s, least_s, most_s = (float(match[i]) for i in (3, 4, 5))
        moved = _ARRAYS[name] * self.elements * self.width
        if name in self.seen:
            return Trouble(number, line, f"{name} is there twice: a head is missing, or a line was doubled")
        step = 0.51 / 10 ** len(match[4].partition(".")[2])
        if least_s <= step or not moved / (least_s + step) / 1.001 <= rate <= moved / (least_s - step) * 1.001:
            return Trouble(number, line, f"the rate is not {_ARRAYS[name]} arrays over the least time")
        if not least_s <= mean_s <= most_s:
            return Trouble(number, line, "the mean time lies outside least and greatest")
        self.seen.append(name)
        extra: dict[str, Value] = {"best_rate_Bps": rate, "max_s": most_s}
        size = self.elements * self.width
        return Row(self._table(name), number, size, mean_s, extra, None, step / mean_s, min_s=least_s)

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            precision = {8: "fp64", 4: "fp32"}.get(self.width, f"{8 * self.width} bit")
            serial = self.threads <= 1
            benchmark = {"Copy": "memory_copy", "Triad": "triad"}.get(name) if serial else None
            parameters: dict[str, Value] = {"precision": precision}
            if benchmark is None:
                parameters["threads"] = max(self.threads, 1)
            tool = f"stream {self.facts.get('version', '')}".strip()
            facts = {"iterations": NOT_IN_LOG, "threads": max(self.threads, 1), **self.facts}
            self.tables[name] = self.log.table(
                benchmark or f"stream_{name.lower()}", tool, parameters=parameters, facts=facts, ranks=1
            )
            self.tables[name].statistic = "mean over iterations but the first"
        return self.tables[name]

    def ended(self) -> Iterator[Trouble]:
        """The run before is over."""
        if self.unit and self.line_of:
            if len(self.seen) < len(_ARRAYS) and not self.lost:
                yield Trouble(self.line_of, "", f"{len(self.seen)} of {len(_ARRAYS)} functions: cut, or ended early")
            elif not self.validated and not self.lost:
                yield Trouble(self.line_of, "", "the run does not come to its validation: cut, or ended early")
            self.width = 0
        self.line_of, self.unit = 0, ""
