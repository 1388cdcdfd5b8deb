"""BabelStream: the STREAM functions on GPUs and CPUs by many programming models; table or CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sprintprof.importers.log import Log
from sprintprof.importers.rows import NOT_IN_LOG, Row, Table, Trouble
from sprintprof.records import Value

BANNER = "BabelStream"

_FACTS = {
    "version": re.compile(r"Version: (\S+)", re.ASCII),
    "implementation": re.compile(r"Implementation: (\S.*?)\s*$", re.ASCII),
    "precision": re.compile(r"Precision: (\w+)", re.ASCII),
    "device": re.compile(r"Using (?:CUDA|HIP|OpenCL|SYCL|\w+) device:? (\S.*?)\s*$", re.ASCII),
    "driver": re.compile(r"Driver: (\S+)", re.ASCII),
}
_TIMES = re.compile(r"Running (?:kernels|\w+) (\d{1,9}) times", re.ASCII)
_SIZE = re.compile(r"Array size: (?:(\d{1,15}) elements|([\d.]+) ([KMG])B \(=([\d.]+) ([MG])B\))", re.ASCII)
_HEAD = re.compile(r"Function\s+([MG]i?Bytes)/sec\s+Min \(sec\)\s+Max\s+Average\s*", re.ASCII)
_ROW = re.compile(
    r"(Copy|Mul|Add|Triad|Dot|Nstream)\s+(\d+\.\d{3})\s+(\d+\.\d{5})\s+(\d+\.\d{5})\s+(\d+\.\d{5})\s*", re.ASCII
)
_ROW_LIKE = re.compile(r"(?:Copy|Mul|Add|Triad|Dot|Nstream)\s+[\d.].*", re.ASCII)
_CSV_HEAD = "function,num_times,n_elements,sizeof,"
_ARRAYS = {"Copy": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2, "Nstream": 4}
_NAMES = {"Copy": "memory_copy", "Triad": "triad", "Mul": "stream_scale"}
_UNITS = {"MBytes": 1e6, "GBytes": 1e9, "MiBytes": float(1 << 20), "GiBytes": float(1 << 30)}
_ON_GPU = ("cuda", "hip", "opencl", "sycl", "thrust", "rocthrust")


@dataclass
class State:
    """The run that is being read; `running` from the banner on."""

    log: Log
    running: bool = False
    facts: dict[str, Value] = field(default_factory=dict)
    size_bytes: float = 0.0
    size_step: float = 0.0
    unit: str = ""
    csv: list[str] = field(default_factory=list)
    line_of: int = 0
    seen: list[str] = field(default_factory=list)

    def line(self, number: int, line: str) -> Iterator[Row | Trouble]:
        """One line of a run."""
        if line.startswith(BANNER):
            yield from self.ended()
            self.running, self.facts, self.size_bytes, self.csv = True, {}, 0.0, []
        elif match := _HEAD.fullmatch(line):
            self.unit, self.line_of, self.seen = match[1], number, []
            if self.unit not in _UNITS:
                yield Trouble(number, line, f"the unit '{self.unit}' is not known")
                self.unit = ""
        elif line.startswith(_CSV_HEAD):
            self.csv, self.line_of, self.seen = line.strip().split(","), number, []
        elif self.csv and line.partition(",")[0] in _ARRAYS:
            yield self._csv_row(number, line)
        elif self.unit and _ROW_LIKE.fullmatch(line):
            yield self._row(number, line)
        else:
            self._fact(line)

    def _fact(self, line: str) -> None:
        if match := _TIMES.match(line):
            self.facts["iterations"] = int(match[1])
        elif match := _SIZE.match(line):
            self._size(match)
        else:
            for name, pattern in _FACTS.items():
                if match := pattern.match(line):
                    self.facts[name] = match[1]

    def _size(self, match: re.Match[str]) -> None:
        """Bytes of an array: exact from elements, else as printed, with half of the last digit."""
        if match[1]:
            self.size_bytes, self.size_step = float(int(match[1]) * self._width()), 0.0
        else:
            factor = {"K": 1e3, "M": 1e6, "G": 1e9}[match[3]]
            self.size_bytes = float(match[2]) * factor
            self.size_step = 0.5 * factor / 10 ** len(match[2].partition(".")[2])

    def _width(self) -> int:
        return 4 if self.facts.get("precision") == "float" else 8

    def _row(self, number: int, line: str) -> Row | Trouble:
        match = _ROW.fullmatch(line)
        if not match or not self.size_bytes:
            return Trouble(
                number, line, "is no whole row" if not match else "the line that says the array size is missing"
            )
        rate = float(match[2]) * _UNITS[self.unit]
        least_s, most_s, mean_s = (float(match[i]) for i in (3, 4, 5))
        if least_s <= 0 or mean_s <= 0:
            return Trouble(number, line, "a time prints as 0: under the log's resolution")
        moved = _ARRAYS[match[1]] * self.size_bytes
        share = self.size_step / self.size_bytes + 5.1e-6 / least_s + 1e-3
        if abs(rate * least_s / moved - 1) > share:
            return Trouble(number, line, f"the rate is not {_ARRAYS[match[1]]} arrays over the least time")
        exact = round(rate * least_s / _ARRAYS[match[1]])
        size = _power_of_two(self.size_bytes, self.size_step) or (
            round(self.size_bytes) if not self.size_step else exact
        )
        size -= size % self._width()
        rounded = 5e-6 / mean_s
        return self._made(number, line, match[1], size, (rate, least_s, most_s, mean_s), rounded)

    def _csv_row(self, number: int, line: str) -> Row | Trouble:
        words = line.strip().split(",")
        values = dict(zip(self.csv, words, strict=False))
        try:
            name, elements, width = values["function"], int(values["n_elements"]), int(values["sizeof"])
            rate = float(next(v for k, v in values.items() if k in ("max_mbytes_per_sec", "max_mibytes_per_sec")))
            rate *= 1e6 if "max_mbytes_per_sec" in values else float(1 << 20)
            times = (float(values["min_runtime"]), float(values["max_runtime"]), float(values["avg_runtime"]))
            self.facts["iterations"] = int(values["num_times"])
        except (KeyError, ValueError, StopIteration):
            return Trouble(number, line, "is no whole row")
        moved = _ARRAYS[name] * elements * width
        if len(words) != len(self.csv) or not min(times) > 0 or abs(rate * times[0] / moved - 1) > 0.01:
            return Trouble(number, line, "is no whole row, or the rate is not its arrays over the least time")
        self.facts.setdefault("precision", {8: "double", 4: "float"}.get(width, ""))
        return self._made(number, line, name, elements * width, (rate, *times), 0.0)

    def _made(
        self, number: int, line: str, name: str, size: int, values: tuple[float, float, float, float], rounded: float
    ) -> Row | Trouble:
        if name in self.seen:
            return Trouble(number, line, f"{name} is there twice: a head is missing, or a line was doubled")
        self.seen.append(name)
        rate, least_s, most_s, mean_s = values
        if not least_s <= mean_s <= most_s:
            return Trouble(number, line, "the mean time lies outside least and greatest")
        extra: dict[str, Value] = {"best_rate_Bps": rate, "max_s": most_s}
        return Row(self._table(name), number, size, mean_s, extra, None, rounded, min_s=least_s)

    def _table(self, name: str) -> Table:
        implementation = str(self.facts.get("implementation", ""))
        gpu = "device" in self.facts or implementation.lower().startswith(_ON_GPU)
        benchmark = (
            _NAMES.get(name, f"stream_{name.lower()}") if gpu else f"stream_{name.lower().replace('mul', 'scale')}"
        )
        parameters: dict[str, Value] = {"precision": "fp32" if self.facts.get("precision") == "float" else "fp64"}
        if not gpu:
            parameters["threads"] = NOT_IN_LOG
        facts = {"iterations": NOT_IN_LOG, **self.facts}
        tool = f"babelstream {self.facts.get('version', '')}".strip()
        table = self.log.table(benchmark, tool, engine="cupy" if gpu else "numpy", parameters=parameters, facts=facts)
        table.ranks, table.statistic = 1, "mean over iterations but the first"
        return table

    def ended(self) -> Iterator[Trouble]:
        """A run without results."""
        if self.running and not self.seen:
            yield Trouble(self.line_of, BANNER, "a run without results: ended early, or the log is cut")
        self.running, self.unit, self.seen = False, "", []


def _power_of_two(size: float, step: float) -> int:
    """The power of two that prints as this size; 0 where there is none. BabelStream's usual sizes are such."""
    near = 1 << round(size).bit_length() if size >= 1 else 0
    return next((n for n in (near, near >> 1) if n and abs(n - size) <= step), 0)
