"""Tables that others made of OSU results: CSV with a column `bench` of osu_* names and units in the columns' names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from sprintprof.importers.formats._osu_titles import PAIRS, REDUCING
from sprintprof.importers.log import Log
from sprintprof.importers.rows import NOT_IN_LOG, Row, Table, Trouble
from sprintprof.records import Value

WHAT = "CSV tables of OSU results (columns bench, size_bytes, avg_us …)"

_SNIFF = re.compile(
    r"^(?=[^\n]*\bsize_bytes\b)(?=[^\n]*_us\b)(?:[^\n]*,)?bench(?:mark)?,[^\n]*\n[^\n]*\bosu_[a-z]",
    re.ASCII | re.MULTILINE,
)
_NAMES = {"bcast": "broadcast", "latency": "pingpong", "ibcast": "ibroadcast"}
_TIMES = ("avg_us", "latency_us", "time_us")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?", re.ASCII)


def sniff(text: str) -> bool:
    """A head with `bench`, `size_bytes` and a time in µs over a line with an osu_* name."""
    return "size_bytes" in text and "osu_" in text and _SNIFF.search(text) is not None


def parse(log: Log) -> Iterator[Row | Trouble]:
    """The first line with those columns is the head; every line below it is a row."""
    columns: list[str] = []
    tables: dict[tuple[str, ...], Table] = {}
    for number, line in log:
        if not columns:
            words = [word.strip() for word in line.split(",")]
            if "size_bytes" in words and {"bench", "benchmark"} & set(words):
                columns = words
        elif line.strip():
            yield _row(log, tables, columns, number, line)


def _row(log: Log, tables: dict[tuple[str, ...], Table], columns: list[str], number: int, line: str) -> Row | Trouble:
    words = next(csv.reader([line]), [])
    values = {name: word.strip() for name, word in zip(columns, words, strict=False)}
    program = values.get("bench", values.get("benchmark", ""))
    column = next((name for name in _TIMES if name in values), "")
    numbers = [values.get("size_bytes", ""), *(v for k, v in values.items() if k.endswith("_us"))]
    if len(words) != len(columns) or not program.startswith("osu_") or not column:
        return Trouble(number, line, "is no whole row")
    if not values["size_bytes"].isdigit() or not all(map(_NUMBER.fullmatch, numbers)):
        return Trouble(number, line, "is no whole row")
    time_s = float(values[column]) * 1e-6
    least, most = (float(values.get(name) or values[column]) for name in ("min_us", "max_us"))
    if not least <= float(values[column]) <= most or time_s <= 0:
        return Trouble(number, line, "the mean lies outside least and greatest, or is 0")
    choices = (program, values.get("algorithm", ""), values.get("nprocs", ""), values.get("npernode", ""))
    if choices not in tables:
        tables[choices] = _table(log, *choices, iterated="iterations" in values)
    extra: dict[str, Value] = {
        f"{k[:-3]}_latency_s": float(v) * 1e-6 for k, v in values.items() if k in ("min_us", "max_us")
    }
    if values.get("iterations", "").isdigit():
        extra["iterations"] = int(values["iterations"])
    digits = len(values[column].partition(".")[2])
    return Row(tables[choices], number, int(values["size_bytes"]), time_s, extra, None, 0.5e-6 / 10**digits / time_s)


def _table(log: Log, program: str, algorithm: str, ranks: str, per_node: str, *, iterated: bool) -> Table:
    name = _NAMES.get(program.removeprefix("osu_"), program.removeprefix("osu_"))
    parameters: dict[str, Value] = {}
    if algorithm and algorithm not in ("ignore", "default", "library"):
        parameters["algorithm"] = algorithm
    facts: dict[str, Value] = {} if iterated else {"iterations": NOT_IN_LOG}
    if name in REDUCING:
        facts["datatype"] = "MPI_FLOAT (usual)"
    table = log.table(name, "osu", parameters=parameters, facts=facts)
    table.ranks = 2 if name in PAIRS else int(ranks) if ranks.isdigit() and int(ranks) > 0 else None
    if table.ranks and per_node.isdigit() and int(per_node) > 0:
        nodes = -(-table.ranks // int(per_node))
        table.scene = type(table.scene)(ranks=table.ranks, nodes=nodes, ranks_per_node=int(per_node))
    table.whole = name == "reduce_scatter"
    table.statistic = "mean over iterations and ranks"
    return table
