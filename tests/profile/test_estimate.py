"""Times out of a profile: which fit answers, intervals, extrapolation, many calls."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintprof.networks.kernels import KernelCall
from sprintprof.profile import Estimator, Fit, FitError, NoFit, Profile, Spread
from sprintprof.profile.families import Family, evaluate, find_family
from sprintprof.profile.features import evaluate_feature
from sprintprof.records import InputError, Value

ERROR = FitError(0.01, 0.02, 0.05, "leave-one-batch-out", 6)


def make(
    benchmark: str, level: Any, fixed: dict[str, Value], features: list[str], coefficients: list[float], **more: Any
) -> Fit:
    size = len(features)
    return Fit(
        benchmark, more.pop("engine", "numpy"), level, fixed, more.pop("family", "linear"), features, coefficients,
        more.pop("covariance", [[0.0] * size] * size), more.pop("range", {}), ERROR, more.pop("jitter_cv", 0.02), 6, "0" * 64, **more,
    )  # fmt: skip


LAYER = make(
    "relu_forward", "layer", {"features": 100, "precision": "fp32"}, ["1", "batch"], [1e-6, 2e-7], scale="batch",
    range={"batch": (1.0, 32.0), "time_s": (1.2e-6, 7.4e-6)}, spread=Spread(0.9, 1.2),
)  # fmt: skip
GENERIC = make(
    "relu_forward", "generic", {"precision": "fp32"}, ["1", "bytes"], [1e-6, 1e-9], jitter_cv=None,
    range={"batch": (1.0, 32.0), "features": (10.0, 1000.0), "bytes": (80.0, 256000.0)},
    shape_axes=["batch", "features"], shapes=[[1.0, 10.0], [32.0, 1000.0]],
)  # fmt: skip
EXACT = make("allreduce", "message", {"ranks": 4}, ["1", "size_bytes"], [1e-5, 1e-9], range={"size_bytes": (8.0, 1e6), "ranks": (4.0, 4.0)})  # fmt: skip
FORM = make("allreduce", "message", {}, ["log2(ranks)", "size_bytes*(ranks-1)/ranks"], [2e-5, 2e-9], range={"size_bytes": (8.0, 1e6), "ranks": (2.0, 4.0)})  # fmt: skip


def estimator(*fits: Fit, engine: str | None = None) -> Estimator:
    return Estimator(Profile("box", "", "", {}, [], list(fits or (LAYER, GENERIC, EXACT, FORM)), []), engine)


def relu(batch: int, features: int, precision: str = "fp32") -> KernelCall:
    return KernelCall("relu_forward", {"batch": batch, "features": features, "precision": precision})


def test_a_measured_layer_is_answered_by_its_own_fit() -> None:
    estimate = estimator().layer_time(relu(8, 100))
    assert estimate.source == "layer"
    assert estimate.time_s == pytest.approx(1e-6 + 8 * 2e-7)
    assert estimate.low_s == pytest.approx(0.9 * estimate.time_s)
    assert estimate.high_s == pytest.approx(1.2 * estimate.time_s)
    assert estimate.jitter_cv == 0.02
    assert estimate.extrapolated == []


def test_another_shape_is_answered_by_the_generic_fit() -> None:
    estimate = estimator().layer_time(relu(8, 101))
    assert estimate.source == "generic"
    assert estimate.time_s == pytest.approx(1e-6 + 1e-9 * 2 * 8 * 101 * 4)
    assert math.isnan(estimate.jitter_cv)


def test_extrapolation_is_said_and_the_nearest_shape_named() -> None:
    assert estimator().layer_time(relu(64, 100)).extrapolated == ["batch 64 is outside 1..32"]
    lines = estimator().layer_time(relu(4, 5000)).extrapolated
    assert "features 5000 is outside 10..1000" in lines
    assert lines[-1] == "nearest measured shape: batch=32, features=1000"


def test_no_fit_names_the_kernel() -> None:
    with pytest.raises(NoFit) as error:
        estimator().layer_time(KernelCall("add", {"batch": 1, "features": 2, "precision": "fp32"}))
    assert error.value.kernel == "add"
    with pytest.raises(NoFit, match="precision=fp32"):
        estimator().layer_time(relu(1, 100, "fp16"))
    assert estimator().has("relu_forward")
    assert not estimator().has("add")


def test_the_engine_with_most_fits_answers_unless_one_is_named() -> None:
    other = msgspec.structs.replace(GENERIC, engine="cupy", coefficients=[1e-7, 1e-10])
    both = (LAYER, GENERIC, other)
    assert estimator(*both).engine == "numpy"
    assert estimator(*both, engine="cupy").layer_time(relu(8, 100)).time_s < 1e-6
    with pytest.raises(InputError, match="no fits of engine 'cuda'"):
        estimator(*both, engine="cuda")


def test_messages_by_exact_ranks_then_by_the_form() -> None:
    measured = estimator().message_time("allreduce", 1000, 4)
    assert measured.source == "message"
    assert measured.time_s == pytest.approx(1e-5 + 1e-6)
    beyond = estimator().message_time("allreduce", 1000, 16)
    assert beyond.time_s == pytest.approx(4 * 2e-5 + 1000 * 15 / 16 * 2e-9)
    assert beyond.extrapolated == ["ranks 16 is outside 2..4"]
    with pytest.raises(NoFit, match="pingpong"):
        estimator().message_time("pingpong", 8, 2)


def test_the_interval_widens_away_from_the_data() -> None:
    fit = msgspec.structs.replace(LAYER, covariance=[[1e-14, 0.0], [0.0, 1e-14]])
    widths = []
    for batch in (1, 32, 1024):
        e = estimator(fit).layer_time(relu(batch, 100))
        assert 0 < e.low_s < e.time_s < e.high_s
        widths.append(e.high_s - e.low_s)
    assert widths[0] < widths[1] < widths[2]


@given(st.lists(st.floats(0, 1e-3), min_size=2, max_size=2).filter(any), st.integers(1, 10**6))
def test_a_prediction_is_never_0_or_below(coefficients: list[float], batch: int) -> None:
    fit = msgspec.structs.replace(LAYER, coefficients=coefficients, range={"time_s": (1e-6, 1e-3)})
    e = estimator(fit).layer_time(relu(batch, 100))
    assert 0 < e.low_s <= e.time_s <= e.high_s < math.inf


def test_many_calls_equal_single_ones() -> None:
    calls = [relu(b, f) for b in (1, 3, 50) for f in (100, 7, 100_000)]
    e = estimator()
    assert e.layer_times(calls) == pytest.approx([e.layer_time(c).time_s for c in calls])
    batches = np.arange(1.0, 1000.0)
    assert e.batch_times(relu(1, 100), batches) == pytest.approx(1e-6 + 2e-7 * batches)
    table = {"bytes": 2.0 * 4 * batches, "flop": batches}
    assert e.generic_times("relu_forward", table, {"precision": "fp32"}) == pytest.approx(1e-6 + 8e-9 * batches)


def test_a_layer_over_parameters_is_found_by_its_own_scale_axis() -> None:
    fit = make("weight_copy", "layer", {"precision": "fp32"}, ["1", "parameters"], [1e-6, 1e-9], scale="parameters")
    call = KernelCall("weight_copy", {"parameters": 1000, "precision": "fp32"})
    assert estimator(fit).layer_time(call).time_s == pytest.approx(2e-6)


def test_features() -> None:
    table = {
        "batch": np.array([1.0, 32.0, 33.0]),
        "size_bytes": np.array([8.0] * 3),
        "ranks": np.array([2.0, 4.0, 5.0]),
    }
    assert evaluate_feature("ceil(batch/32)", table).tolist() == [1, 1, 2]
    assert evaluate_feature("1", table).tolist() == [1, 1, 1]
    assert evaluate_feature("log2(ranks)", table).tolist() == [1, 2, 3]
    assert evaluate_feature("size_bytes*(ranks-1)/ranks", table).tolist() == [4, 6, 6.4]


def test_roofline_is_the_greater_of_its_limits() -> None:
    fit = make("gemm", "generic", {}, ["1", "flop", "bytes"], [1e-6, 1e-12, 1e-11], family="roofline")
    times = evaluate(fit, {"flop": np.array([1e6, 1e9]), "bytes": np.array([1e6, 1e6])})
    assert times == pytest.approx([1e-6 + 1e-5, 1e-6 + 1e-3])


def test_a_family_can_come_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:  # U81
    doubled = Family("doubled", "2·c", lambda fit, columns: 2 * fit.coefficients[0] * np.ones(1), lambda fit: "")

    class Entry:
        def load(self) -> Family:
            return doubled

    import sprintprof.profile.families as families

    monkeypatch.setattr(families, "entry_points", lambda **wanted: [Entry()] if wanted.get("name") == "doubled" else [])
    monkeypatch.setattr(families, "_FAMILIES", dict(families._FAMILIES))
    assert find_family("doubled") is doubled
    assert find_family("tripled") is None
    fit = msgspec.structs.replace(LAYER, family="doubled")
    assert estimator(fit).layer_time(relu(1, 100)).time_s == pytest.approx(2e-6)


def test_choices_that_were_not_given_are_named_where_they_matter() -> None:
    ring = msgspec.structs.replace(EXACT, fixed={"ranks": 4, "algorithm": "ring"}, points=3)
    library = msgspec.structs.replace(EXACT, fixed={"ranks": 4, "algorithm": "library"}, coefficients=[2e-5, 1e-9])
    e = estimator(ring, library)
    assert e.message_time("allreduce", 1000, 4, algorithm="ring").time_s == pytest.approx(1.1e-5)
    taken = e.message_time("allreduce", 1000, 4)
    assert taken.time_s == pytest.approx(2.1e-5)
    assert taken.extrapolated == ["several were measured, algorithm=library was taken"]
    assert estimator(ring).message_time("allreduce", 1000, 4).extrapolated == []
    with pytest.raises(NoFit, match="algorithm=ring"):
        estimator(ring).message_time("allreduce", 1000, 4, algorithm="tree")
