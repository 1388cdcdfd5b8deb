"""Results files made of known samples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sprintprof.records import Measurement, Point, RunHeader, SampleSet
from sprintprof.stats.median import median_interval
from sprintprof.store import write_results


def gemm(m: int, launch: int = 0, **parameters: Any) -> Point:
    return Point("gemm", "numpy", {"m": m, "n": 64, "k": 64, "precision": "fp32", **parameters}, launch=launch)


def message(size_bytes: int, ranks: int = 4) -> Point:
    return Point("allreduce", "numpy", {"size_bytes": size_bytes}, ranks=ranks)


def measured(
    point: Point, times_s: Any, flags: tuple[str, ...] = (), rank_times_s: Any = None, **extra: Any
) -> Measurement:
    times = np.asarray(times_s, np.float64)
    low, high = median_interval(times)
    work = 2.0 * float(point.parameters.get("m", 0)) * 64 * 64 or float("nan")
    size = float(point.parameters.get("size_bytes", 4 * float(point.parameters.get("m", 0)) * 64))
    ranks = None if rank_times_s is None else np.asarray(rank_times_s, np.float64)
    return Measurement(
        point,
        "ok",
        flags=flags,
        flop=work,
        bytes=size,
        median_s=float(np.median(times)),
        low_s=low,
        high_s=high,
        min_s=float(times.min()),
        extra={"fill": "random", "cache_state": "cold", **extra},
        samples=SampleSet({"time_s": times}, ranks),
    )


def steady(rng: np.random.Generator, level_s: float = 1e-3, n: int = 30, cv: float = 0.005) -> Any:
    return level_s * (1 + cv * rng.normal(size=n))


def write(
    path: Path, measurements: Iterable[Measurement], machine: str = "box", plan: Iterable[Point] = (), **fields: Any
) -> Path:
    made = list(measurements)
    header = RunHeader(
        run_id=path.stem,
        created_utc="2025-01-01T00:00:00Z",
        machine=machine,
        command=["sprintprof", "run"],
        tool_version="0.1.0",
        plan=[*(m.point for m in made), *plan],
        settings={"target_ci": 0.02, "fill": "random", "cache": "cold", **fields.pop("settings", {})},
        environments=[fields.pop("environment", {"cpu.model": "A", "cpu.threads": 8, "os.load_1min": 0.1})],
        rank_environment=[0],
    )
    write_results(path, header, made)
    return path
