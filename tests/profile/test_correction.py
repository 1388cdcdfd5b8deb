"""Derived columns, features and corrections against closed forms, the kernel catalogue and scikit-learn."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from sprintprof.fit.gaussian import Hyper, _negative_likelihood, fit_hyper, fit_process
from sprintprof.fit.trees import COUNT, MAX_LEAVES, fit_trees, min_leaf
from sprintprof.networks.kernels import KERNELS, conv_output
from sprintprof.profile.correction import (
    Correction,
    GaussianProcess,
    Trees,
    factors,
    predict_process,
    predict_trees,
    problem,
)
from sprintprof.profile.derived import derive
from sprintprof.profile.features import columns_of, evaluate_feature
from sprintprof.records import Value

CONV: dict[str, Value] = {
    "batch": 3, "channels": 12, "height": 17, "width": 20, "filters": 8, "kernel_h": 3, "kernel_w": 5, "stride_h": 2,
    "stride_w": 1, "pad_h": 1, "pad_w": 2, "dilation": 1, "groups": 4, "precision": "fp32", "layout": "NCHW",
}  # fmt: skip


def table(parameters: dict[str, Value]) -> dict[str, np.ndarray]:
    return {k: np.array([float(v)]) for k, v in parameters.items() if not isinstance(v, str)}


@pytest.mark.parametrize("direction", ["forward", "backward_data", "backward_filter"])
def test_a_convolution_is_the_matrix_product_that_computes_it(direction: str) -> None:
    kernel = f"conv_{direction}"
    columns = derive(kernel, table(CONV))
    out_h, out_w = conv_output(CONV)
    assert columns["output_pixels"][0] == out_h * out_w
    spec = KERNELS[kernel]
    operands = columns["inputs"] + columns["outputs"] + columns["weights"]
    assert 4 * operands[0] == spec.bytes(CONV)
    product = columns["gemm_m"] * columns["gemm_n"] * columns["gemm_k"] * columns["gemm_count"]
    if direction == "backward_data":  # every input pixel meets every filter, the stride skips outputs
        assert product[0] == 3 * 17 * 20 * 3 * (2 * 15) * 4
    else:
        assert 2 * product[0] == spec.flop(CONV)


def test_winograd_saves_multiplications_for_3x3_alone() -> None:
    square = {**CONV, "kernel_w": 3, "pad_w": 1, "stride_h": 1, "height": 16, "width": 16, "groups": 1}
    columns = derive("conv_forward", table(square))
    macs = KERNELS["conv_forward"].flop(square) / 2
    assert columns["winograd2"][0] == pytest.approx(macs * 16 / 4 / 9)  # 16 products for 4 outputs of 9 each
    assert columns["winograd4"][0] == pytest.approx(macs * 36 / 16 / 9)
    assert derive("conv_forward", table(CONV))["winograd4"][0] == KERNELS["conv_forward"].flop(CONV) / 2


def test_waves_round_up_tiles_and_tiles_round_up_work() -> None:
    columns = derive("gemm", {"m": np.array([128.0, 129, 1280]), "n": np.array([64.0] * 3), "k": np.array([9.0] * 3)})
    assert evaluate_feature("tiles(128x64)", columns).tolist() == [128 * 64 * 16 * t for t in (1, 2, 10)]
    assert evaluate_feature("waves(128x64/4)", columns).tolist() == [128 * 64 * 16 * t for t in (4, 4, 12)]
    assert evaluate_feature("tiles(128x64) / macs", columns)[0] == pytest.approx(16 / 9)
    assert evaluate_feature("align(m)", columns).tolist() == [8, 1, 8]


@pytest.mark.parametrize("text", ["waves(0x64/4)", "tiles(128)", "ceil(m/x)", "a / b / c", "flop/", "", "x y", "a / "])
def test_what_is_no_feature(text: str) -> None:
    assert columns_of(text) is None


def data(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 8, (n, 3))
    return x, np.sin(x[:, 0]) + 0.1 * (x[:, 1] > 4) + 0.02 * rng.standard_normal(n)


def test_trees_say_what_scikit_learn_says() -> None:
    from sklearn.ensemble import ExtraTreesRegressor

    x, y = data()
    theirs = ExtraTreesRegressor(
        COUNT, min_samples_leaf=min_leaf(len(y)), max_leaf_nodes=MAX_LEAVES, random_state=0
    ).fit(x, y)
    ours = predict_trees(fit_trees(x, y), x.astype(np.float32))
    difference = np.abs(ours - theirs.predict(x.astype(np.float32)))
    assert np.median(difference) < 1e-6
    assert difference.max() < 2e-3  # a threshold of 7 digits may turn one tree of many


def test_the_gaussian_process_interpolates_and_falls_back_to_0() -> None:
    x, y = data()
    process = fit_process(fit_hyper(x, y), x, y)
    inside = data(80)[0]
    assert predict_process(process, inside.astype(np.float32)) == pytest.approx(np.sin(inside[:, 0]), abs=0.2)
    far = np.full((1, 3), 1e6, np.float32)
    assert abs(predict_process(process, far)[0]) < 1e-3


def test_the_gaussian_process_is_the_textbook_mean() -> None:
    x, y = data(20)
    hyper = Hyper(np.zeros(3), np.array([0.3, 0.4, 0.5]), 0.8, 0.01)

    def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        d2 = (((a[:, None] - b[None]) * hyper.scale) ** 2).sum(axis=2)
        return hyper.signal / (1 + d2 / 2)

    asked = data(7)[0] + 0.3
    mean = covariance(asked, x) @ np.linalg.solve(covariance(x, x) + 0.01 * np.eye(20), y)
    assert predict_process(fit_process(hyper, x, y), asked.astype(np.float32)) == pytest.approx(mean, abs=2e-3)


def test_the_gradient_of_the_likelihood_is_that_of_finite_differences() -> None:
    x, y = data(25)
    start = np.array([0.3, 0.8, 1.5, 0.2, -1.0])
    value, gradient = _negative_likelihood(start, x, y)
    for i in range(5):
        step = np.eye(5)[i] * 1e-6
        difference = (_negative_likelihood(start + step, x, y)[0] - _negative_likelihood(start - step, x, y)[0]) / 2e-6
        assert gradient[i] == pytest.approx(difference, rel=1e-3, abs=1e-4)
    assert np.isfinite(value)


def sound() -> Correction:
    trees = Trees([0, 3], [0, -1, -1, 1, -1, -1], [2.0, 0.1, 0.3, 5.0, 0.0, 1.0], [1, 0, 0, 4, 0, 0])
    process = GaussianProcess([0.0, 0.0], [1.0, 1.0], [[0.0, 0.0]], [0.0])
    return Correction(["batch", "flop"], [trees, process], (-1.0, 1.0))


def test_a_correction_is_the_mean_of_its_members_inside_its_bounds() -> None:
    columns = {"batch": np.array([4.0, 8.0]), "flop": np.array([32.0, 64.0])}  # log2: 2 and 3, 5 and 6
    expected = np.array([(0.1 + 0.0) / 2, (0.3 + 1.0) / 2]) / 2
    assert np.log(factors(sound(), columns)) == pytest.approx(expected)
    tight = msgspec.structs.replace(sound(), bounds=(-0.1, 0.1))
    assert np.log(factors(tight, columns)) == pytest.approx([0.025, 0.1])


@pytest.mark.parametrize(
    ("member", "change"),
    [
        (0, {"child": [0, 0, 0, 4, 0, 0]}),  # back to the root: a walk without end
        (0, {"child": [1, 0, 0, 5, 0, 0]}),
        (0, {"child": [99, 0, 0, 4, 0, 0]}),
        (0, {"feature": [7, -1, -1, 1, -1, -1]}),
        (0, {"roots": [0, 77]}),
        (0, {"roots": []}),
        (0, {"value": [2.0]}),
        (1, {"points": [[0.0]]}),
        (1, {"weights": [0.0, 1.0]}),
        (1, {"scale": [1.0]}),
        (1, {"weights": [float("inf")]}),
    ],
)
def test_damaged_corrections_are_refused(member: int, change: dict[str, Any]) -> None:
    members = list(sound().members)
    members[member] = msgspec.structs.replace(members[member], **change)
    assert problem(msgspec.structs.replace(sound(), members=members))
    assert problem(sound()) == ""


@pytest.mark.parametrize(
    "change",
    [{"inputs": ["batch", "a b"]}, {"inputs": []}, {"members": []}, {"bounds": (1.0, -1.0)}, {"bounds": (0.0, 1e9)}],
)
def test_impossible_corrections_are_refused(change: dict[str, Any]) -> None:
    assert problem(msgspec.structs.replace(sound(), **change))
