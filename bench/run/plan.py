"""From suite rows to points, and how long they will take."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence

from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.registry import Benchmark
from sprintprof.bench.run.selection import check_axes, override, select_benchmarks
from sprintprof.bench.run.suite_files import Row, Suite
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import InputError, Point


def select_rows(suite: Suite, patterns: Sequence[str], axes: dict[str, list[str]]) -> list[Row]:
    """The suite's rows of the selected benchmarks, with axes overridden.

    A benchmark that was named but is not in the suite is measured at its defaults. Raises InputError where nothing
    is left or an axis fits nothing.
    """
    chosen = select_benchmarks(patterns)
    check_axes(chosen, axes)
    by_name: dict[str, list[Row]] = {}
    for row in suite.rows:
        by_name.setdefault(row.benchmark.name, []).append(row)
    rows: list[Row] = []
    for bench in chosen:
        mine = by_name.get(bench.name, [Row(bench, bench.parameters({}))] if patterns else [])
        for ranks in dict.fromkeys(r.ranks for r in mine):
            wanted = override(bench, [r.parameters for r in mine if r.ranks == ranks], axes)
            rows += [Row(bench, parameters, ranks) for parameters in wanted]
    if not rows:
        raise InputError("run", "nothing is left to measure", "see sprintprof list and sprintprof run --dry-run")
    return rows


def make_plan(rows: Iterable[Row], *, engine: str, world_size: int, launches: Iterable[int] = (0,)) -> list[Point]:
    """Points of all rows, without doubles. `world_size` 0 = no MPI world: parallel rows become one point each,
    to be skipped with that reason."""
    plan: dict[str, Point] = {}
    for launch in launches:
        for row in rows:
            # where the buffers live: benchmarks without a device side (storage, host messages) stay on the host
            name = engine if engine in row.benchmark.engines else row.benchmark.engines[0]
            for ranks in rank_counts(row, world_size):
                point = Point(row.benchmark.name, name, row.parameters, ranks, launch)
                plan.setdefault(point.key, point)
    return list(plan.values())


def rank_counts(row: Row, world_size: int) -> list[int]:
    """How many ranks take part: 1 for serial benchmarks; for parallel ones the row's list, or what the benchmark
    needs, or 2, 4, … and all."""
    bench = row.benchmark
    if not bench.parallel:
        return [1]
    needed = needed_ranks(bench, row)
    if needed:
        return [needed] if needed <= world_size or world_size == 0 else []
    if world_size == 0:
        return [bench.min_ranks]
    wanted = row.ranks or (*(2**i for i in range(1, 32) if 2**i < world_size), world_size)
    return [p for p in wanted if bench.min_ranks <= p <= world_size]


def needed_ranks(bench: Benchmark, row: Row) -> int:
    """Ranks that the parameters of a benchmark fix by themselves; 0 where any number will do."""
    return bench.ranks_of(row.parameters) if bench.ranks_of else 0


NOMINAL_FLOPPS_PER_CORE = 2e10
NOMINAL_BPS = 4e9
"""A plain core's rates, for the expected time alone; no result depends on them."""


def expected_time_s(points: Iterable[Point], settings: HarnessSettings) -> float:
    """A rough forecast of a plan's wall time: operand set-up, warm-up and sampling, from nominal rates."""
    return sum(_point_time_s(p, settings) for p in points)


def _point_time_s(point: Point, settings: HarnessSettings) -> float:
    call = 2e-4
    spec = KERNELS.get(point.benchmark)
    if spec is not None:
        cores = len(os.sched_getaffinity(0))
        call = spec.flop(point.parameters) / (NOMINAL_FLOPPS_PER_CORE * cores)
        call += spec.bytes(point.parameters) / NOMINAL_BPS
    elif "size_bytes" in point.parameters:
        call = float(point.parameters["size_bytes"]) / NOMINAL_BPS * math.log2(point.ranks + 1)
    flush = 0.01 if settings.cache == "cold" and point.ranks == 1 else 0.0
    least = settings.min_samples * (call + flush)
    sampling = min(settings.timeout_s, settings.max_samples * (call + flush))
    least = max(least, min(settings.min_time_s, settings.timeout_s))
    return 0.03 + 5 * call + min(settings.warmup_timeout_s, 10 * call) + max(least, 0.6 * sampling)
