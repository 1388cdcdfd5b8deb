"""A machine with a known truth: every kernel costs 2 µs + flop/1e12 + bytes/1e11, messages α = 20 µs, β = 1e-10 s/B."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprintprof.networks.kernels import KERNELS
from sprintprof.profile import Fit, FitError, Profile, Spread, save_profile

ERROR = FitError(0.02, 0.05, 0.09, "leave-one-out", 9)
KERNEL_CV = 0.04


def fit(benchmark: str, level: Any, features: list[str], coefficients: list[float], **more: Any) -> Fit:
    size = len(features)
    fields: dict[str, Any] = {
        "engine": "numpy",
        "fixed": {},
        "family": "linear",
        "covariance": [[(0.05 * c) ** 2 if i == j else 0.0 for j in range(size)] for i, c in enumerate(coefficients)],
        "range": {"time_s": (1e-9, 1e3)},
        "error": ERROR,
        "jitter_cv": KERNEL_CV,
        "points": 9,
        "data_sha256": "0" * 64,
        "spread": Spread(0.95, 1.06),
    }
    return Fit(benchmark=benchmark, level=level, features=features, coefficients=coefficients, **{**fields, **more})


def known_profile(without: tuple[str, ...] = ()) -> Profile:
    kernels = [fit(name, "generic", ["1", "flop", "bytes"], [2e-6, 1e-12, 1e-11]) for name in KERNELS]
    messages = [
        fit("allreduce", "message", ["log2(ranks)", "size_bytes*(ranks-1)/ranks"], [2e-5, 2e-10],
            range={"ranks": (2.0, 8.0), "time_s": (1e-9, 1e3)}),
        fit("pingpong", "message", ["1", "size_bytes"], [2e-5, 1e-10]),
        fit("barrier", "message", ["log2(ranks)"], [1e-5]),
        fit("storage_read", "message", ["1", "size_bytes"], [1e-4, 1e-9]),
    ]  # fmt: skip
    kept = [f for f in kernels + messages if f.benchmark not in without]
    return Profile("known", "2026-01-01T00:00:00Z", "0", {}, [], kept, ["a warning of the profile"])


@pytest.fixture
def profile_file(tmp_path: Path) -> Path:
    path = tmp_path / "known.json"
    save_profile(known_profile(), path)
    return path


@pytest.fixture
def machine_without() -> Callable[..., Profile]:
    """The known machine less the named benchmarks."""
    return lambda *names: known_profile(names)
