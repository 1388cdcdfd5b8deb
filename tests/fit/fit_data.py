"""Measurements with a known truth, for the tests of the fits."""

from __future__ import annotations

import numpy as np

from sprintprof.fit.build import Dataset
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Measurement, Point, SampleSet, Value


def measured(
    benchmark: str, time_s: float, *, ranks: int = 1, flags: tuple[str, ...] = (), samples: np.ndarray | None = None,
    launch: int = 0, engine: str = "numpy", status: str = "ok", **parameters: Value,
) -> Measurement:  # fmt: skip
    """One point with the catalogue's FLOP and bytes."""
    spec = KERNELS.get(benchmark)
    return Measurement(
        Point(benchmark, engine, parameters, ranks, launch),
        status,  # type: ignore[arg-type]
        flags=flags,
        flop=spec.flop(parameters) if spec else float("nan"),
        bytes=spec.bytes(parameters) if spec else float("nan"),
        median_s=time_s,
        samples=SampleSet({"time_s": np.array([time_s] * 3) if samples is None else samples}),
    )


def relu(batch: int, features: int, time_s: float, **more: object) -> Measurement:
    """A ReLU point."""
    return measured("relu_forward", time_s, batch=batch, features=features, precision="fp32", **more)  # type: ignore[arg-type]


def dataset(points: list[Measurement], file: str = "r.h5", machine: str = "box") -> Dataset:
    """A results file as the fit sees it."""
    return Dataset(file, f"run-{file}", f"sha-{file}", machine, points, {"cpu.model": "test"})
