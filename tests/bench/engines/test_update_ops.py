"""Optimizer steps, gradient sum and weight copy against the formulas in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sprintprof.bench.engines.numpy_engine import NumpyEngine

ENGINE = NumpyEngine()
SIZES = [1, 8192, 8193, 50_000]
TOLERANCE = {"fp64": 1e-13, "fp32": 2e-6, "fp16": 3e-3}


def three(size: int, precision: str) -> tuple[Any, Any, Any]:
    w, g, v = (ENGINE.random((size,), precision, seed=s) for s in range(3))
    return w, g, v


def step(w: Any, g: Any, v: Any, rate: float, momentum: float, decay: float, local: float) -> tuple[Any, Any]:
    """(w, v) after v = momentum·v + local·(g + decay·w); w −= rate·v, in extended precision."""
    w, g, v = (a.astype(np.longdouble) for a in (w, g, v))
    v = momentum * v + local * (g + decay * w)
    return w - rate * v, v


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("size", SIZES)
def test_momentum(size: int, precision: str) -> None:
    w, g, v = three(size, precision)
    expected_w, expected_v = step(w, g, v, 0.1, 0.9, 0.01, 1)
    ENGINE.op("momentum_update")(w, g, v, 0.1, 0.9, 0.01)
    np.testing.assert_allclose(v, expected_v.astype(float), rtol=0, atol=8 * TOLERANCE[precision])
    np.testing.assert_allclose(w, expected_w.astype(float), rtol=0, atol=8 * TOLERANCE[precision])
    assert w.dtype == v.dtype == ENGINE.zeros((1,), precision).dtype


def test_momentum_by_hand() -> None:
    """w = 1, g = 2, v = 10: v = 0.5·10 + 2 + 0.1·1 = 7.1, w = 1 − 0.1·7.1 = 0.29."""
    w, g, v = np.array([1.0]), np.array([2.0]), np.array([10.0])
    ENGINE.op("momentum_update")(w, g, v, 0.1, 0.5, 0.1)
    assert v[0] == pytest.approx(7.1)
    assert w[0] == pytest.approx(0.29)


def test_momentum_with_defaults_is_plain_momentum() -> None:
    w, g, v = np.array([1.0]), np.array([2.0]), np.array([10.0])
    ENGINE.op("momentum_update")(w, g, v, 0.1)
    assert (v[0], w[0]) == (pytest.approx(11.0), pytest.approx(-0.1))


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("size", SIZES)
def test_lars(size: int, precision: str) -> None:
    w, g, v = three(size, precision)
    norms = [float(np.linalg.norm(a.astype(float))) for a in (w, g)]
    local = 0.02 * norms[0] / (norms[1] + 0.01 * norms[0] + 1e-9)
    expected_w, expected_v = step(w, g, v, 0.1, 0.9, 0.01, local)
    ENGINE.op("lars_update")(w, g, v, 0.1, 0.9, 0.01, 0.02)
    np.testing.assert_allclose(v, expected_v.astype(float), rtol=0, atol=8 * TOLERANCE[precision])
    np.testing.assert_allclose(w, expected_w.astype(float), rtol=0, atol=8 * TOLERANCE[precision])


def test_lars_by_hand() -> None:
    """‖w‖ = 5, ‖g‖ = 10: local = 0.1·5/10 = 0.05, v = 0.05·g, w −= v."""
    w, g, v = np.array([3.0, 4.0]), np.array([6.0, 8.0]), np.zeros(2)
    ENGINE.op("lars_update")(w, g, v, 1.0, 0.0, 0.0, 0.1, 0.0)
    np.testing.assert_allclose(v, [0.3, 0.4], rtol=1e-14)
    np.testing.assert_allclose(w, [2.7, 3.6], rtol=1e-14)


@pytest.mark.parametrize("zero", ["weights", "gradient"])
def test_lars_where_a_norm_is_zero_is_momentum(zero: str) -> None:
    w = np.zeros(2) if zero == "weights" else np.array([3.0, 4.0])
    g = np.zeros(2) if zero == "gradient" else np.array([1.0, 2.0])
    v, expected = np.array([1.0, 1.0]), 0.9 * np.array([1.0, 1.0]) + g + 0.5 * w
    ENGINE.op("lars_update")(w, g, v, 0.1, 0.9, 0.5)
    np.testing.assert_allclose(v, expected)


def test_lars_norms_of_half_precision_do_not_overflow() -> None:
    w, g, v = np.full(40_000, 8, np.float16), np.full(40_000, 4, np.float16), np.zeros(40_000, np.float16)
    ENGINE.op("lars_update")(w, g, v, 1.0, 0.0, 0.0, 0.5)
    np.testing.assert_allclose(v, 0.5 * 2 * 4, rtol=2e-3)


@pytest.mark.parametrize("size", SIZES)
def test_sum_and_copy(size: int) -> None:
    w, g, v = three(size, "fp32")
    expected = [p + q for p, q in zip(g.tolist(), v.tolist(), strict=True)]
    ENGINE.op("gradient_add")(g, v)
    np.testing.assert_allclose(v, expected, rtol=1e-6, atol=1e-6)
    ENGINE.op("weight_copy")(w, g)
    assert g.tolist() == w.tolist()
    assert g is not w
