"""ReLU, bias, addition, dropout, streams and matrix products against hand formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sprintprof.bench.case import Skip
from sprintprof.bench.engines.numpy_engine import NumpyEngine

ENGINE = NumpyEngine()
PRECISIONS = ["fp64", "fp32", "fp16"]
AROUND_A_BLOCK = [1, 8191, 8192, 8193, 40000]
"""A block holds 8192 doubles, 16384 singles, 32768 halves."""


def drawn(*shape: int, precision: str = "fp64", seed: int = 0) -> Any:
    return ENGINE.random(shape, precision, seed=seed)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("size", AROUND_A_BLOCK)
def test_relu(size: int, precision: str) -> None:
    x, gy = drawn(size, precision=precision), drawn(size, precision=precision, seed=1)
    y, gx = ENGINE.zeros((size,), precision), ENGINE.zeros((size,), precision)
    ENGINE.op("relu_forward")(x, y)
    ENGINE.op("relu_backward")(y, gy, gx)
    np.testing.assert_array_equal(y, np.where(x > 0, x, 0))
    np.testing.assert_array_equal(gx, np.where(x > 0, gy, 0))


def test_relu_in_place_and_on_images() -> None:
    x = drawn(2, 3, 4, 5)
    expected = x.clip(min=0)
    ENGINE.op("relu_forward")(x, x)
    np.testing.assert_array_equal(x, expected)


def test_operands_with_gaps_are_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        ENGINE.op("relu_backward")(drawn(4, 6)[:, ::2], drawn(4, 3), drawn(4, 3))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bias(precision: str) -> None:
    x, bias = drawn(4, 3, 50, precision=precision), drawn(3, precision=precision, seed=1)
    y, gbias = ENGINE.zeros(x.shape, precision), ENGINE.zeros((3,), precision)
    ENGINE.op("bias_forward")(x, bias, y)
    ENGINE.op("bias_backward")(x, gbias)
    exact = x.astype(float)
    tolerance = {"fp64": 1e-13, "fp32": 1e-5, "fp16": 3e-2}[precision]
    np.testing.assert_allclose(y, exact + bias.astype(float).reshape(1, 3, 1), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(gbias, [exact[:, c].sum() for c in range(3)], rtol=tolerance, atol=tolerance)


def test_a_long_half_precision_sum_does_not_stall() -> None:
    """40,000 times 1/8 is 5000: half precision would stop at 512, where 1/8 is less than half a unit."""
    gy, gbias = np.full((40_000, 1, 1), 0.125, np.float16), np.empty(1, np.float16)
    ENGINE.op("bias_backward")(gy, gbias)
    assert gbias[0] == 5000


def test_add() -> None:
    a, b, y = drawn(3, 7), drawn(3, 7, seed=1), np.empty((3, 7))
    ENGINE.op("add")(a, b, y)
    assert y.tolist() == [
        [p + q for p, q in zip(r, s, strict=True)] for r, s in zip(a.tolist(), b.tolist(), strict=True)
    ]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("keep", [0.25, 0.5, 0.8, 1.0])
def test_dropout(keep: float, precision: str) -> None:
    size = 100_003
    x, gy = drawn(size, precision=precision), drawn(size, precision=precision, seed=1)
    mask, y, gx = (ENGINE.zeros((size,), precision) for _ in range(3))
    state = ENGINE.op("random_state")(7)
    ENGINE.op("dropout_forward")(x, mask, y, keep, state)
    ENGINE.op("dropout_backward")(gy, mask, gx)
    kept = mask != 0
    scale = mask.dtype.type(1 / keep)
    np.testing.assert_array_equal(mask, np.where(kept, scale, 0))
    np.testing.assert_array_equal(y, np.where(kept, x * scale, 0))
    np.testing.assert_array_equal(gx, np.where(kept, gy * scale, 0))
    assert kept.mean() == pytest.approx(keep, abs=6 * np.sqrt(keep * (1 - keep) / size) + 1e-12)


def test_dropout_draws_anew_and_by_seed() -> None:
    x, masks = np.ones(1000), []
    for seed in (1, 1, 2):
        state = ENGINE.op("random_state")(seed)
        for _ in range(2):
            mask = np.empty(1000)
            ENGINE.op("dropout_forward")(x, mask, np.empty(1000), 0.5, state)
            masks.append(mask)
    first, second, again, _, other, _ = masks
    assert (first == again).all()
    assert (first != second).any()
    assert (first != other).any()
    neighbours = np.corrcoef(first[:-1], first[1:])[0, 1]
    assert abs(neighbours) < 6 / np.sqrt(1000)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("size", AROUND_A_BLOCK)
def test_streams(size: int, precision: str) -> None:
    b, c = drawn(size, precision=precision), drawn(size, precision=precision, seed=1)
    a, copy = ENGINE.zeros((size,), precision), ENGINE.zeros((size,), precision)
    ENGINE.op("triad")(b, c, a, 3.0)
    ENGINE.op("memory_copy")(b, copy)
    np.testing.assert_array_equal(copy, b)
    tolerance = {"fp64": 1e-14, "fp32": 1e-6, "fp16": 1e-2}[precision]
    np.testing.assert_allclose(a, b.astype(float) + 3 * c.astype(float), rtol=tolerance, atol=tolerance)


def by_sums(a: Any, b: Any) -> Any:
    """A matrix product as sums of products, without BLAS."""
    return (a[:, :, None] * b[None, :, :]).sum(axis=1)


@pytest.mark.parametrize("transpose", ["nn", "nt", "tn", "tt"])
def test_gemm(transpose: str) -> None:
    a, b, out = drawn(5, 7), drawn(7, 4, seed=1), np.empty((5, 4))
    left = a if transpose[0] == "n" else a.T.copy()
    right = b if transpose[1] == "n" else b.T.copy()
    ENGINE.op("gemm")(left, right, out, transpose)
    np.testing.assert_allclose(out, by_sums(a, b), rtol=1e-12, atol=1e-12)


def test_gemm_over_a_leading_axis_is_a_batch_of_products() -> None:
    a, b, out = drawn(3, 5, 7), drawn(3, 4, 7, seed=1), np.empty((3, 5, 4))
    ENGINE.op("gemm")(a, b, out, "nt")
    for i in range(3):
        np.testing.assert_allclose(out[i], by_sums(a[i], b[i].T), rtol=1e-12, atol=1e-12)


def test_linear() -> None:
    x, w, gy = drawn(6, 5), drawn(4, 5, seed=1), drawn(6, 4, seed=2)
    y, gx, gw = np.empty((6, 4)), np.empty((6, 5)), np.empty((4, 5))
    ENGINE.op("linear_forward")(x, w, y)
    ENGINE.op("linear_backward_data")(gy, w, gx)
    ENGINE.op("linear_backward_filter")(x, gy, gw)
    np.testing.assert_allclose(y, by_sums(x, w.T), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gx, by_sums(gy, w), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gw, by_sums(gy.T, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["gemm", "linear_forward"])
def test_half_precision_products_are_skipped(name: str) -> None:
    with pytest.raises(Skip, match="fp16"):
        ENGINE.op(name, "fp16")
