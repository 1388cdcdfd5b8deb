"""Titles and column heads of the OSU micro-benchmarks, all versions: which operation, which columns, which units."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

TITLE = re.compile(
    r"[#\s]*(?P<suite>OSU|OMB-Py|OMB Python)\s+(?P<name>[A-Za-z][^\n]{0,120}?)\s+Test\b"
    r"(?:,?\s+v?(?P<version>\d[\w.]*))?\s*",
    re.ASCII,
)
_ACCELERATOR = re.compile(r"[-_ ](CUDA MANAGED|CUDA|ROCM|SYCL|OPENACC|MANAGED)\b", re.ASCII)

_SPECIAL = {
    "latency": "pingpong",
    "bandwidth": "bandwidth",
    "bi-directional bandwidth": "bandwidth",
    "bidirectional bandwidth": "bandwidth",
    "multiple bandwidth / message rate": "message_rate",
    "multi latency": "multi_latency",
    "multi-threaded latency": "latency_threads",
    "multi-process latency": "latency_processes",
    "hello world": "hello",
    "init": "mpi_init",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "non-blocking broadcast": "ibroadcast",
}
_SIDES = ("put", "get", "accumulate", "get_accumulate", "compare_and_swap", "fetch_and_op")
PAIRS = ("pingpong", "bandwidth", "latency_threads", "latency_processes")
"""Operations of two ranks by definition."""
REDUCING = ("allreduce", "reduce", "reduce_scatter", "iallreduce", "ireduce", "ireduce_scatter", "scan", "exscan")


class Title(NamedTuple):
    """`operation` is the point's benchmark; `library` MPI, NCCL …; `accelerator` "" for host memory."""

    operation: str
    library: str
    accelerator: str
    suite: str
    version: str
    text: str

    @property
    def one_sided(self) -> bool:
        """A put, a get, an atomic."""
        return self.operation.startswith(_SIDES)

    @property
    def two_ranks(self) -> bool:
        """Always measured on two ranks."""
        return self.operation in PAIRS or self.one_sided or self.operation.startswith(("persistent_", "partitioned_"))

    @property
    def both_ways(self) -> bool:
        """Messages both ways at once, counted together."""
        return "directional" in self.text.lower() and "bi" in self.text.lower()


@lru_cache(maxsize=256)
def read_title(line: str) -> Title | None:
    """`# OSU MPI-CUDA Allreduce Latency Test v5.8`, with or without the #."""
    match = TITLE.fullmatch(line)
    if not match:
        return None
    name, accelerator = match["name"], ""
    if found := _ACCELERATOR.search(name):
        accelerator = found[1].lower()
        name = name[: found.start()] + name[found.end() :]
    words = name.lower().removeprefix("one sided ").split()
    library = "MPI"
    if words and words[0] in ("mpi", "nccl", "rccl", "xccl", "hccl", "openshmem", "shmem", "upc", "upc++"):
        library = words.pop(0).upper()
    rest = " ".join(words).removeprefix("mpi_")
    return Title(_operation(rest), library, accelerator, match["suite"], match["version"] or "", match["name"])


def _operation(rest: str) -> str:
    if rest in _SPECIAL:
        return _SPECIAL[rest]
    plain = rest.removesuffix(" latency")
    if plain in _SPECIAL:
        return _SPECIAL[plain]
    nonblocking = plain.startswith("non-blocking ")
    plain = plain.removeprefix("non-blocking ").replace("personalized exchange", "")
    plain = plain.replace("all-to-all", "alltoall").replace("bi-directional", "bidirectional").strip()
    if plain.startswith(_SIDES) and rest.endswith("latency"):
        plain += "_latency"
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or "unnamed"
    return f"i{name}" if nonblocking else name


class Columns(NamedTuple):
    """Names of the columns in order; factors to SI beside them (0 for what is no number); a pattern for the rows.

    `width` is the length of a row as the tool lays it out, 0 where the head does not tell.
    """

    names: tuple[str, ...]
    factors: tuple[float, ...]
    row: re.Pattern[str]
    width: int


_UNITS = {
    "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "ns": 1e-9, "s": 1.0, "sec": 1.0, "MB/s": 1e6, "MB/sec": 1e6, "GB/s": 1e9,
    "KB/s": 1e3, "B/s": 1.0, "%": 0.01,
}  # fmt: skip
_TIMES = ("us", "usec", "ms", "ns", "s", "sec")
_COLUMN = re.compile(
    r"\s*(?:(?P<size>Size(?: ?\((?:B|Bytes|bytes)\))?)"
    r"|(?P<name>(?:Avg |Min |Max )?Latency|Bandwidth|Overall|Compute|Coll\. Init|MPI_Test|MPI_Wait|Overlap"
    r"|(?:Pure|Min|Max) Comm\.|P\d{1,2} Tail (?:Lat|BW)) ?\((?P<unit>[^)]*)\)"
    r"|(?P<rate>MB/s(?:ec)?)|(?P<messages>Messages/s(?:ec)?)|(?P<count>Iterations)|(?P<valid>Validation))",
    re.ASCII,
)
_NUMBER, _COUNT = r"(-?\d+\.\d\d)", r"(\d{1,19})"


@lru_cache(maxsize=256)
def read_columns(line: str) -> Columns | str:
    """The columns of a head line, or what is wrong with it ("" where it is no head at all)."""
    text = line.strip().lstrip("#").strip()
    names: list[str] = []
    factors: list[float] = []
    at = 0
    while at < len(text):
        match = _COLUMN.match(text, at)
        if not match:
            return f"the column '{text[at:].strip()[:30]}' is not known" if names else ""
        name, factor = _column(match)
        if not factor and match["name"]:
            return f"the unit '{match['unit']}' of '{match['name']}' is not known"
        names.append(name)
        factors.append(factor)
        at = match.end()
    if not names or len(set(names)) < len(names) or names == ["size"]:
        return ""
    kinds = [
        _COUNT if n in ("size", "iterations") else r"(Pass|Fail|-)" if n == "validation" else _NUMBER for n in names
    ]
    row = re.compile(r"\s*" * (names[0] != "size") + r"\s+".join(kinds), re.ASCII)
    return Columns(tuple(names), tuple(factors), row, _width(line, names))


def _column(match: re.Match[str]) -> tuple[str, float]:
    if match["size"]:
        return "size", 1.0
    if match["rate"]:
        return "bandwidth_Bps", 1e6
    if match["messages"]:
        return "messages_per_s", 1.0
    if match["count"]:
        return "iterations", 1.0
    if match["valid"]:
        return "validation", 0.0
    name, unit = match["name"], match["unit"].strip()
    factor = _UNITS.get(unit, 0.0)
    rates = name == "Bandwidth" or name.endswith("BW")
    if name == "Overlap":
        return "overlap", factor if unit == "%" else 0.0
    if rates == (unit in _TIMES):
        factor = 0.0
    stem = (
        re.sub(r"[^a-z0-9]+", "_", name.lower())
        .strip("_")
        .replace("tail_lat", "latency")
        .replace("tail_bw", "bandwidth")
    )
    return f"{stem}_Bps" if rates else f"{stem}_s", factor


def _width(line: str, names: list[str]) -> int:
    """10 columns for the size, 18 for each value, 12 for the iterations: only if the head itself is laid out so.

    Without a size a row is as long as its head.
    """
    if "size" not in names:
        return len(line.rstrip())
    expected = 10 * ("size" in names) + 18 * sum(n not in ("size", "iterations") for n in names)
    expected += 12 * ("iterations" in names)
    return expected if len(line.rstrip()) == expected else 0
