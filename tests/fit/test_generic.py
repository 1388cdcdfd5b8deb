"""Layers that were not measured: the choice of form, its errors on whole shapes left out, its interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fit_data import dataset, measured

from sprintprof.fit.build import fit_profile, processors_of
from sprintprof.fit.generic import fit_generic
from sprintprof.fit.points import columns, times
from sprintprof.networks.kernels import KernelCall
from sprintprof.profile import Estimator, Profile, load_profile, save_profile
from sprintprof.profile.families import evaluate
from sprintprof.records import Measurement


def conv(rng: np.random.Generator) -> dict[str, int | str]:
    side = int(rng.integers(7, 60))
    return {
        "batch": int(rng.integers(1, 64)), "channels": int(rng.integers(3, 512)), "height": side, "width": side,
        "filters": int(rng.integers(8, 512)), "kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1,
        "pad_w": 1, "dilation": 1, "groups": 1, "precision": "fp32", "layout": "NCHW",
    }  # fmt: skip


def device_s(p: dict[str, int | str], processors: int = 40) -> float:
    """A device with waves of 128 x 64 tiles, a start-up cost and a habit that no feature says."""
    m, n, k = int(p["batch"]) * int(p["height"]) ** 2, int(p["filters"]), 9 * int(p["channels"])
    waves = np.ceil(np.ceil(m / 128) * np.ceil(n / 64) / processors)
    habit = 1.5 if int(p["channels"]) % 8 else 1.0
    return float(2e-5 + waves * processors * 128 * 64 * k * 2.5e-13 * habit)


def points(count: int, noise: float, seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        p = conv(rng)
        out.append(
            measured("conv_forward", device_s(p) * float(np.exp(noise * rng.standard_normal())), engine="gpu", **p)
        )
    return out


@pytest.fixture(scope="module")
def fresh() -> list[Measurement]:
    return points(300, 0.05, seed=9)


@pytest.fixture(scope="module")
def trained() -> list[Measurement]:
    return points(140, 0.05)


@pytest.fixture(scope="module")
def profile(trained: list[Measurement]) -> Profile:
    return fit_profile([dataset(trained)], processors=40)


def test_unseen_shapes_are_predicted_with_an_honest_error_and_interval(
    profile: Profile, fresh: list[Measurement]
) -> None:
    (fit,) = profile.fits
    assert fit.correction
    predicted, measured_s = evaluate(fit, columns(fresh)), times(fresh)
    error = np.median(np.abs(predicted / measured_s - 1))
    assert error < 0.06  # noise alone is 0.034
    assert fit.error.median == pytest.approx(error, abs=0.012)
    assert fit.error.method == "leave-whole-shapes-out"
    assert abs(predicted.sum() / measured_s.sum() - 1) < 0.02
    ratio = measured_s / predicted
    assert 0.83 < np.mean((ratio >= fit.spread.low) & (ratio <= fit.spread.high)) < 0.97


def test_knowing_the_processors_helps(profile: Profile, trained: list[Measurement], fresh: list[Measurement]) -> None:
    fits = (profile.fits[0], fit_generic(trained).fit)
    errors = [np.median(np.abs(evaluate(fit, columns(fresh)) / times(fresh) - 1)) for fit in fits]
    assert errors[0] < errors[1]


def test_a_profile_with_a_correction_survives_the_disk_and_is_small(
    tmp_path: Path, profile: Profile, trained: list[Measurement]
) -> None:
    path = tmp_path / "p.json"
    save_profile(profile, path)
    assert path.stat().st_size < 2_000_000
    estimator = Estimator(load_profile(path))
    for m in trained[:20]:
        e = estimator.layer_time(KernelCall("conv_forward", m.point.parameters))
        assert e.source == "generic"
        assert 0 < e.low_s < e.time_s < e.high_s
        assert e.extrapolated == []


def test_far_outside_the_data_it_falls_back_to_the_base_and_says_so(
    profile: Profile, trained: list[Measurement]
) -> None:
    estimator = Estimator(profile)
    huge = {**trained[0].point.parameters, "batch": 4096, "filters": 8192}
    e = estimator.layer_time(KernelCall("conv_forward", huge))
    assert e.time_s == pytest.approx(device_s(huge), rel=0.5)
    assert any(line.startswith("batch 4096 is outside") for line in e.extrapolated)
    assert e.extrapolated[-1].startswith("nearest measured shape: batch=")
    inside = estimator.layer_time(KernelCall("conv_forward", trained[0].point.parameters))
    assert e.high_s / e.time_s > inside.high_s / inside.time_s


def test_a_roofline_is_chosen_where_the_data_are_one() -> None:
    rng = np.random.default_rng(0)
    out = []
    for _ in range(20):
        m, n, k = (int(x) for x in 2 ** rng.uniform(2, 12, 3))
        flop, size = 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n)
        out.append(
            measured("gemm", 1e-6 + max(flop / 1e12, size / 1e11), m=m, n=n, k=k, transpose="nn", precision="fp32")
        )
    fit = fit_generic(out).fit
    assert fit.family == "roofline"
    assert fit.error.median < 0.02
    assert fit.coefficients == pytest.approx([1e-6, 1e-12, 1e-11], rel=0.1)


def test_few_points_get_a_plain_form() -> None:
    fit = fit_generic(points(8, 0.02), processors=40).fit
    assert fit.correction is None
    assert len(fit.features) <= 3


def test_the_processors_are_those_of_the_named_device() -> None:
    assert processors_of({"gpu.name": "Tesla T4"}) == 40
    assert processors_of({"gpu.name": "an unknown one"}) is None
    assert processors_of({"gpu.name": {"status": "missing", "reason": "no driver"}}) is None
    assert processors_of({}) is None
