"""A results file at three depths: overview, one benchmark, one point. Plain data; the command line prints it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from sprintprof.records import InputError, Measurement, Point, RunHeader
from sprintprof.store import Results


def overview(results: Results) -> dict[str, Any]:
    """What was run, where, how complete it is, and a line per benchmark."""
    header = results.header
    done, planned = results.completeness
    tables = {name: results.points(name) for name in results.benchmarks}
    return {
        "file": str(results.path),
        "sha256": results.sha256,
        "machine": header.machine,
        "run_id": header.run_id,
        "created_utc": header.created_utc,
        "tool_version": header.tool_version,
        "command": header.command,
        "settings": header.settings,
        "sessions": len(results.sessions),
        "ranks": max((len(s.rank_environment) for s in results.sessions), default=1),
        "done": done,
        "planned": planned,
        "environment": environment_lines(header),
        "benchmarks": [_benchmark_line(name, table) for name, table in tables.items()],
    }


def environment_lines(header: RunHeader) -> dict[str, Any]:
    """The few facts a reader wants first, of rank 0."""
    record = header.environments[header.rank_environment[0]] if header.environments else {}
    keys = ("cpu.model", "affinity.cpus", "memory.total_bytes", "gpu.name", "blas.library", "mpi.library", "os.kernel")
    return {key: record[key] for key in keys if key in record}


def _benchmark_line(name: str, table: Any) -> dict[str, Any]:
    status = Counter(str(s) for s in table["status"])
    flags = Counter(f for text in table["flags"] for f in str(text).split())
    times = table["median_s"][table["status"] == "ok"]
    reasons = Counter(str(r) for s, r in zip(table["status"], table["reason"], strict=True) if s != "ok")
    return {
        "benchmark": name,
        "points": len(table),
        "ok": status["ok"],
        "failed": status["failed"],
        "skipped": status["skipped"],
        "fastest_s": float(times.min()) if len(times) else None,
        "slowest_s": float(times.max()) if len(times) else None,
        "flags": dict(flags),
        "reasons": dict(reasons),
    }


def benchmark_rows(results: Results, benchmark: str) -> list[dict[str, Any]]:
    """Every point of one benchmark, without samples. Raises InputError where the file has none."""
    return [point_row(m) for m in results.measurements_of(benchmark)]


def point_row(m: Measurement) -> dict[str, Any]:
    """One point as plain data: parameters, summary, rates. NaN becomes None."""
    rates = {"flop_per_s": _rate(m.flop, m.median_s), "bytes_per_s": _rate(m.bytes, m.median_s)}
    return {
        "key": m.key,
        "benchmark": m.point.benchmark,
        "engine": m.point.engine,
        "ranks": m.point.ranks,
        "launch": m.point.launch,
        "parameters": m.point.parameters,
        "status": m.status,
        "reason": m.reason,
        "flags": list(m.flags),
        **{name: number(getattr(m, name)) for name in ("median_s", "low_s", "high_s", "min_s", "first_s")},
        "flop": number(m.flop),
        "bytes": number(m.bytes),
        **rates,
        "stop_reason": m.stop_reason,
        "extra": {k: number(v) if isinstance(v, float) else v for k, v in m.extra.items()},
        "samples": len(m.samples),
    }


def find_point(results: Results, which: str) -> Measurement:
    """The point whose key begins with `which`. Raises InputError where none or several do."""
    hits = [key for key in results.status if key.startswith(which)]
    if len(hits) != 1:
        what = f"{len(hits)} points have a key that begins with '{which}'"
        raise InputError(str(results.path), what, "sprintprof show FILE --benchmark NAME lists the keys")
    found = results.get(hits[0])
    if found is None:
        raise InputError(str(results.path), f"point {hits[0]} cannot be read")
    return found


def point_detail(results: Results, m: Measurement) -> dict[str, Any]:
    """One point with all its samples, telemetry columns, rank times and the session that measured it."""
    samples = m.samples
    detail = point_row(m)
    detail["session"] = results.session(m.key).created_utc
    detail["columns"] = {name: [number(v) for v in values] for name, values in samples.columns.items()}
    detail["missing"] = samples.missing
    ranks = samples.rank_times_s
    detail["rank_times_s"] = None if ranks is None else [[number(v) for v in row] for row in ranks]
    return detail


class Peaks(msgspec.Struct, frozen=True):
    """The highest rates of a file, by which others are judged where no machine file declares any."""

    flops: dict[str, float]
    memory_Bps: float  # noqa: N815  (the unit is spelled as it is)


def measured_peaks(results: Results) -> Peaks:
    """The best matrix product by precision, and the best copy or triad that does not fit the caches."""
    flops: dict[str, float] = {}
    memory = math.nan
    names = [name for name in ("gemm", "memory_copy", "triad") if name in results.benchmarks]
    for m in (m for name in names for m in results.measurements_of(name) if m.status == "ok"):
        if m.point.benchmark == "gemm":
            precision = str(m.point.parameters.get("precision", ""))
            flops[precision] = max(flops.get(precision, 0.0), m.flop / m.median_s)
        elif m.extra.get("cache_fit") != "fits":
            memory = float(np.fmax(memory, m.bytes / m.median_s))
    return Peaks(flops, memory)


def share_of_peak(m: Measurement, peaks: Peaks) -> tuple[float, bool]:
    """(share, declared): of the machine file's limit where one was in force, else of the file's own highest rates.

    NaN where neither applies (messages, storage).
    """
    declared = m.extra.get("peak_share", math.nan)
    if isinstance(declared, float) and math.isfinite(declared):
        return declared, True
    if m.point.ranks > 1 or m.status != "ok" or m.point.benchmark == "storage_read":
        return math.nan, False
    compute = m.flop / m.median_s / peaks.flops.get(str(m.point.parameters.get("precision", "")), math.nan)
    traffic = m.bytes / m.median_s / peaks.memory_Bps
    return float(np.fmax(compute, traffic)), False


def varying(points: Sequence[Point]) -> list[str]:
    """Parameters that are not the same in all points: the columns of a table."""
    names = dict.fromkeys(name for p in points for name in p.parameters)
    return [n for n in names if len({p.parameters.get(n) for p in points}) > 1]


def histogram_line(times_s: Any, width: int = 40) -> str:
    """The samples as a line of blocks from the least to the greatest."""
    blocks = " ▁▂▃▄▅▆▇█"
    counts, _ = np.histogram(times_s, bins=width)
    top = counts.max() or 1
    return "".join(blocks[math.ceil(c / top * (len(blocks) - 1))] for c in counts)


def number(value: Any) -> Any:
    """NaN and infinity as None: JSON has neither."""
    return None if isinstance(value, float | np.floating) and not math.isfinite(value) else _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _rate(amount: float, time_s: float) -> float | None:
    return amount / time_s if time_s > 0 and math.isfinite(amount) else None
