"""Measurements with a known truth in, a profile with that truth out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from fit_data import dataset, measured, relu

from sprintprof.fit.build import fit_profile
from sprintprof.networks.kernels import KERNELS, KernelCall
from sprintprof.profile import Estimator, Fit, Profile, load_profile, save_profile
from sprintprof.records import InputError, Measurement

BATCHES = (1, 2, 4, 8, 16, 32)


def relu_layers(noise: float = 0.0) -> list[Measurement]:
    rng = np.random.default_rng(3)
    return [
        relu(b, f, (2e-6 + 1e-9 * b * f) * float(np.exp(noise * rng.standard_normal())))
        for f in (100, 1000, 5000, 20_000)
        for b in BATCHES
    ]


def the(profile: Profile, level: str, **fixed: object) -> Fit:
    found = [f for f in profile.fits if f.level == level and fixed.items() <= f.fixed.items()]
    assert len(found) == 1
    return found[0]


def test_each_layer_gets_its_line_back() -> None:
    profile = fit_profile([dataset(relu_layers())])
    fit = the(profile, "layer", features=1000)
    assert fit.features == ["1", "batch"]
    assert fit.coefficients == pytest.approx([2e-6, 1e-6], rel=1e-9)
    assert fit.error.method == "leave-one-batch-out"
    assert fit.error.worst < 1e-9
    assert fit.range["batch"] == (1, 32)
    assert fit.fixed == {"features": 1000, "precision": "fp32"}


def test_the_generic_fit_predicts_shapes_that_were_left_out() -> None:
    profile = fit_profile([dataset(relu_layers(0.02))])
    fit = the(profile, "generic")
    assert fit.error.method == "leave-whole-shapes-out"
    assert fit.error.median < 0.05
    estimate = Estimator(profile).layer_time(
        KernelCall("relu_forward", {"batch": 8, "features": 3000, "precision": "fp32"})
    )
    assert estimate.source == "generic"
    assert estimate.time_s == pytest.approx(2e-6 + 24e-6, rel=0.05)
    assert estimate.low_s < 26e-6 < estimate.high_s


def test_the_quality_of_each_level_is_stated_in_the_profile() -> None:
    profile = fit_profile([dataset(relu_layers(0.02))])
    rows = {(q.level, q.benchmark): q for q in profile.quality}
    assert set(rows) == {("generic", "*"), ("generic", "relu_forward"), ("layer", "*"), ("layer", "relu_forward")}
    layers = rows["layer", "*"]
    assert layers.fits == 4
    assert layers.error.points == 24
    assert 0 < layers.error.median < 0.06
    assert abs(layers.error.bias) < 0.05


def test_flat_layers_stay_positive_far_outside() -> None:  # U76
    times = 1e-6 * np.array([10.30, 10.05, 10.21, 10.11, 10.02, 10.18, 9.97, 10.04])
    points = [relu(2**i, 64, float(t)) for i, t in enumerate(times)]
    estimate = Estimator(fit_profile([dataset(points)])).layer_time(
        KernelCall("relu_forward", {"batch": 16384, "features": 64, "precision": "fp32"})
    )
    assert estimate.time_s == pytest.approx(10.11e-6, rel=0.01)
    assert estimate.extrapolated == ["batch 16384 is outside 1..128"]


def test_steps_are_found_where_the_data_show_them() -> None:  # U79
    steps = {10: 0.51, 16: 0.51, 20: 0.51, 24: 0.51, 32: 0.51, 33: 0.9945, 48: 0.9945, 64: 0.9945, 65: 1.482, 96: 1.482}
    fit = the(fit_profile([dataset([relu(b, 64, 1e-3 * t) for b, t in steps.items()])]), "layer")
    assert "ceil(batch/32)" in fit.features
    assert fit.error.median < 0.01


def test_a_straight_layer_with_noise_stays_straight() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = [relu(b, 64, float((5 + b) * 1e-6 * np.exp(0.03 * rng.standard_normal()))) for b in range(1, 64, 6)]
        fit = the(fit_profile([dataset(points)]), "layer")
        assert fit.features == ["1", "batch"]


def test_one_slow_outlier_does_not_bend_the_line() -> None:
    points = [relu(b, 64, 1e-6 * (5 + b) * (10 if b == 16 else 1)) for b in BATCHES]
    fit = the(fit_profile([dataset(points)]), "layer")
    assert float(np.dot(fit.coefficients, [1, 16])) == pytest.approx(21e-6, rel=0.25)


def test_flagged_points_are_left_out_and_counted() -> None:
    bad = [
        relu(64, 1000, 1.0, flags=("above-peak",)),
        relu(65, 1000, 1.0, flags=("noisy", "throttled")),
        relu(66, 1000, 1.0, flags=("emulated",)),
        relu(67, 1000, 1.0, flags=("under-resolution",)),
        relu(68, 1000, float("nan"), status="failed"),
        relu(69, 1000, float("nan"), status="skipped"),
    ]
    profile = fit_profile([dataset(relu_layers() + bad)])
    assert profile.sources[0].points_left_out == {
        "above-peak": 1, "throttled": 1, "emulated": 1, "under-resolution": 1, "failed": 1, "skipped": 1,
    }  # fmt: skip
    assert profile.sources[0].points_used == 24
    assert the(profile, "layer", features=1000).range["batch"] == (1, 32)
    with_them = fit_profile([dataset(relu_layers() + bad)], include_flags=["throttled"])
    assert the(with_them, "layer", features=1000).range["batch"] == (1, 65)


@pytest.mark.parametrize("flag", ["emulated", "wrong"])
def test_flags_that_cannot_be_included(flag: str) -> None:
    with pytest.raises(InputError, match="include-flag"):
        fit_profile([dataset(relu_layers())], include_flags=[flag])


def test_doubtful_points_go_only_where_others_remain() -> None:
    few = [relu(b, 50, 1e-6 * (5 + b), flags=("drift",)) for b in BATCHES]
    some = [relu(b, 60, 1e-6 * (5 + b), flags=("multimodal",) if b == 1 else ()) for b in BATCHES]
    profile = fit_profile([dataset(few + some)])
    assert the(profile, "layer", features=50).points == 6
    assert the(profile, "layer", features=60).points == 5
    assert any("drift" in w for w in profile.warnings)


def test_a_layer_at_one_size_has_no_fit_of_its_own_but_feeds_the_generic_one() -> None:
    profile = fit_profile([dataset([relu(8, f, 1e-6 + 1e-9 * f) for f in (10, 100, 1000, 10000)])])
    assert [f.level for f in profile.fits] == ["generic"]
    assert any("one size only" in w for w in profile.warnings)


def test_alpha_beta_of_each_number_of_ranks_and_a_form_beyond() -> None:
    points = [
        measured("allreduce", steps * 1e-5 + 2 * n * (p - 1) / p * 1e-9, ranks=p, size_bytes=n)
        for p, steps in ((2, 1), (4, 2), (8, 3))
        for n in (8, 1024, 65536, 1 << 20, 1 << 22)
    ]
    profile = fit_profile([dataset(points)])
    alpha, beta = the(profile, "message", ranks=4).coefficients
    assert alpha == pytest.approx(2e-5)
    assert beta == pytest.approx(1.5e-9)
    estimate = Estimator(profile).message_time("allreduce", 1 << 20, 16)
    assert estimate.time_s == pytest.approx(4e-5 + 2 * (1 << 20) * 15 / 16 * 1e-9, rel=1e-6)
    assert estimate.extrapolated == ["ranks 16 is outside 2..8"]


def test_a_barrier_has_no_size() -> None:
    points = [measured("barrier", 1e-6 * (2 + s), ranks=p) for p, s in ((2, 1), (4, 2), (8, 3))]
    e = Estimator(fit_profile([dataset(points)]))
    assert e.message_time("barrier", 0, 4).time_s == pytest.approx(4e-6)
    assert e.message_time("barrier", 0, 64).time_s == pytest.approx(8e-6, rel=0.15)


def test_senders_are_a_parameter_of_their_own() -> None:
    points = [
        measured("all_to_one", 1e-5 * k + 1e-9 * k * n, ranks=4, size_bytes=n, senders=k)
        for k in (1, 3)
        for n in (8, 4096, 1 << 20)
    ]
    e = Estimator(fit_profile([dataset(points)]))
    assert e.message_time("all_to_one", 4096, 4, senders=3).time_s == pytest.approx(3e-5 + 3e-9 * 4096)


def test_jitter_is_that_of_one_call() -> None:
    rng = np.random.default_rng(0)
    calls = np.full(4000, 16.0)
    points = []
    for b in BATCHES:
        samples = 1e-6 * b * (1 + 0.08 / 4 * rng.standard_normal(4000))
        m = relu(b, 10, 1e-6 * b, samples=samples)
        m.samples.columns["calls"] = calls
        points.append(m)
    assert the(fit_profile([dataset(points)]), "layer").jitter_cv == pytest.approx(0.08, rel=0.05)


def test_jitter_without_samples_is_missing_not_0(tmp_path: Path) -> None:
    points = [relu(b, 10, 1e-6 * b, samples=np.empty(0)) for b in BATCHES]
    profile = fit_profile([dataset(points)])
    assert the(profile, "layer").jitter_cv is None
    save_profile(profile, tmp_path / "p.json")
    assert load_profile(tmp_path / "p.json").fits[0].jitter_cv is None


def test_launches_count_together() -> None:
    points = [
        relu(b, 10, 1e-6 * b * s, launch=i, samples=np.full(5, 1e-6 * b * s))
        for b in BATCHES
        for i, s in enumerate((0.9, 1.0, 1.1))
    ]
    fit = the(fit_profile([dataset(points)]), "layer")
    assert fit.jitter_cv == pytest.approx(1.4826 * 0.1, rel=1e-6)  # within a launch nothing varies
    assert fit.coefficients[1] == pytest.approx(1e-6, rel=0.02)


def test_what_cannot_be_fitted_is_one_line() -> None:
    with pytest.raises(InputError, match="nothing to fit"):
        fit_profile([dataset([])])
    with pytest.raises(InputError, match="2 failed"):
        fit_profile([dataset([relu(1, 10, float("nan"), status="failed"), relu(2, 10, float("nan"), status="failed")])])
    with pytest.raises(InputError, match="given twice"):
        fit_profile([dataset(relu_layers()), dataset(relu_layers())])
    two = [dataset(relu_layers(), "a.h5", "m1"), dataset(relu_layers(), "b.h5", "m2")]
    with pytest.raises(InputError, match="several machines"):
        fit_profile(two)
    assert fit_profile(two, machine="m").machine == "m"


def test_a_fit_is_the_same_each_time() -> None:
    first, second = (fit_profile([dataset(relu_layers(0.1))]) for _ in range(2))
    assert msgspec.json.encode(first.fits) == msgspec.json.encode(second.fits)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_every_kernel_of_the_catalogue_can_be_fitted_and_asked(kernel: str, tmp_path: Path) -> None:
    spec = KERNELS[kernel]
    text = {"precision": "fp32", "layout": "NCHW", "kind": "max", "rounding": "floor", "transpose": "nn"}
    text |= {"function": "gelu"}
    base = {
        k: text[k] if t is str else {"kernel_h": 3, "kernel_w": 3, "height": 9, "width": 9}.get(k, 1)
        for k, t in spec.parameters.items()
    }
    points = []
    for shape in (2, 4, 8, 16):
        for scale in (1, 2, 4, 8):
            size = {"channels": shape, "features": shape, "n": shape, "in_features": shape, "classes": shape}
            parameters = {k: size.get(k, v) for k, v in base.items()} | {spec.scale_axis: scale}
            time_s = 1e-6 + 1e-9 * spec.flop(parameters) + 1e-9 * spec.bytes(parameters)
            if not any(p.point.parameters == parameters for p in points):
                points.append(measured(kernel, time_s, **parameters))
    path = tmp_path / "p.json"
    save_profile(fit_profile([dataset(points)]), path)
    estimator = Estimator(load_profile(path))
    for m in points:
        estimate = estimator.layer_time(KernelCall(kernel, m.point.parameters))
        assert estimate.source == "layer"
        assert estimate.time_s == pytest.approx(m.median_s, rel=0.01)


def test_reading_samples_is_in_proportion_to_their_size() -> None:
    choices = {"layout": "hdf5", "readers": 2, "cache": "warm"}
    one = [measured("storage_read", 3e-4, sample_bytes=150_000, **choices)]
    e = Estimator(fit_profile([dataset(one)]))
    assert e.message_time("storage_read", 300_000, 1, layout="hdf5").time_s == pytest.approx(6e-4)
    several = [measured("storage_read", 1e-4 + 1e-9 * n, sample_bytes=n, **choices) for n in (1000, 50_000, 600_000)]
    e = Estimator(fit_profile([dataset(several)]))
    assert e.message_time("storage_read", 300_000, 1).time_s == pytest.approx(4e-4)


def test_a_point_counts_once_whatever_its_launches() -> None:
    points = [relu(b, 10, 1e-6 * (5 + b) * s, launch=i) for b in BATCHES for i, s in enumerate((0.98, 1.0, 3.0))]
    fit = the(fit_profile([dataset(points)]), "layer")
    assert fit.points == len(BATCHES)
    assert fit.coefficients == pytest.approx([5e-6, 1e-6], rel=1e-6)  # the slow launch is the third, not the median
    assert fit.error.worst < 1e-6
