"""Headers, points and measurements for the store's tests, and a comparison to the bit."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sprintprof.records import Measurement, Point, RunHeader, SampleSet


def header(plan: list[Point], run_id: str = "run-1", machine: str = "node", **fields: Any) -> RunHeader:
    """A launch's header; fields as given."""
    defaults: dict[str, Any] = {
        "created_utc": "2025-01-01T00:00:00Z",
        "command": ["sprintprof", "run"],
        "tool_version": "0.1.0",
        "settings": {"seed": 0, "target_ci": 0.02},
        "environments": [{"host": "n1", "cpu": {"model": "x"}}],
        "rank_environment": [0],
    }
    return RunHeader(run_id=run_id, machine=machine, plan=plan, **(defaults | fields))


def points(count: int, benchmark: str = "gemm", **fields: Any) -> list[Point]:
    """`count` points that differ in one parameter."""
    return [Point(benchmark, "numpy", {"m": i, "dtype": "float32"}, **fields) for i in range(count)]


def measured(point: Point, samples: int = 5, ranks: int | None = None, **fields: Any) -> Measurement:
    """A good measurement whose values follow from the point, so that a mix-up shows."""
    rng = np.random.default_rng(int(point.key, 16))
    times = rng.random(samples)
    columns = {"time_s": times, "host_s": times * 1.1}
    rank_times = rng.random((samples, ranks)) if ranks is not None else None
    values = {"status": "ok", "median_s": float(rng.random()), "flop": 1e9, "extra": {"algorithm": "im2col"}}
    return Measurement(point, samples=SampleSet(columns, rank_times, {"power_W": "no driver"}), **(values | fields))


def _bits(value: Any) -> Any:
    """Something that is equal exactly where `value` is the same to the bit and of the same type."""
    if isinstance(value, bool | int | str):
        return type(value).__name__, value
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("<d", value)
    if isinstance(value, dict):
        return [(k, _bits(v)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [_bits(v) for v in value]
    if isinstance(value, np.ndarray):
        return value.shape, np.ascontiguousarray(value, "<f8").tobytes()
    return value


def fingerprint(measurement: Measurement) -> Any:
    """Equal for two measurements exactly where every field is; arrays to the bit, NaN payloads included."""
    m, s = measurement, measurement.samples
    point = (m.point.benchmark, m.point.engine, _bits(m.point.parameters), m.point.ranks, m.point.launch)
    numbers = [m.flop, m.bytes, m.median_s, m.low_s, m.high_s, m.min_s, m.first_s]
    words = (m.status, m.reason, m.flags, m.stop_reason, _bits(m.extra))
    return point, words, _bits(numbers), _bits(s.columns), _bits(s.rank_times_s), _bits(s.missing)


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    """The functions of this file."""
    return SimpleNamespace(header=header, points=points, measured=measured, fingerprint=fingerprint)
