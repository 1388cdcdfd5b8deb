"""Activations, softmax, layer and response normalisation, channel factors: against scipy and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from sprintprof.bench.case import Case
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.registry import get_benchmark
from sprintprof.records import Value

Array = npt.NDArray[np.float64]
op = NumpyEngine().op

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": lambda x: x * 0.5 * (1 + special.erf(x / np.sqrt(2))),
    "silu": lambda x: x * special.expit(x),
    "sigmoid": special.expit,
    "tanh": np.tanh,
}


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def gradient(f: Callable[[Array], Array], x: Array, gy: Array) -> Array:
    """Central differences of sum(gy·f(x))."""
    found, h = np.empty_like(x), 1e-5
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += h
        down[index] -= h
        found[index] = ((f(up) - f(down)) * gy).sum() / (2 * h)
    return found


def outputs(name: str, shape: tuple[int, ...], *arguments: Any) -> Array:
    y = np.empty(shape)
    op(name)(*arguments, y)
    return y


@pytest.mark.parametrize("function", FUNCTIONS)
def test_activations_are_those_of_scipy(function: str) -> None:
    x, gy = np.linspace(-30, 30, 240).reshape(3, 80), drawn(3, 80, seed=1)
    y, gx = np.empty_like(x), np.empty_like(x)
    op("activation_forward")(x, y, function)
    np.testing.assert_allclose(y, FUNCTIONS[function](x), rtol=1e-12, atol=1e-14)
    op("activation_backward")(x, gy, gx, function)
    np.testing.assert_allclose(gx, gradient(FUNCTIONS[function], x, gy), rtol=1e-6, atol=1e-8)


def test_softmax() -> None:
    x, gy = 40 * drawn(5, 7), drawn(5, 7, seed=1)
    y = outputs("softmax_forward", x.shape, x)
    np.testing.assert_allclose(y, special.softmax(x, axis=1), rtol=1e-12)
    x /= 40
    y = outputs("softmax_forward", x.shape, x)
    expected = gradient(lambda v: special.softmax(v, axis=1), x, gy)
    np.testing.assert_allclose(outputs("softmax_backward", x.shape, y, gy), expected, atol=1e-9)


def _layernorm(x: Array, gamma: Array, beta: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    normal: Array = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta
    return normal


def test_layer_normalisation() -> None:
    x, gamma, beta, gy = drawn(4, 6) + 3, drawn(6, seed=1), drawn(6, seed=2), drawn(4, 6, seed=3)
    y, mean, inv_std = np.empty_like(x), np.empty(4), np.empty(4)
    op("layernorm_forward")(x, gamma, beta, y, mean, inv_std)
    np.testing.assert_allclose(y, _layernorm(x, gamma, beta), rtol=1e-12)
    gx, ggamma, gbeta = np.empty_like(x), np.empty(6), np.empty(6)
    op("layernorm_backward")(x, gy, gamma, mean, inv_std, gx, ggamma, gbeta)
    np.testing.assert_allclose(gx, gradient(lambda v: _layernorm(v, gamma, beta), x, gy), atol=1e-8)
    np.testing.assert_allclose(ggamma, gradient(lambda v: _layernorm(x, v, beta), gamma, gy), atol=1e-8)
    np.testing.assert_allclose(gbeta, gy.sum(axis=0), rtol=1e-12)


def test_channel_factors() -> None:
    x, factors, gy = drawn(2, 3, 4), drawn(2, 3, seed=1), drawn(2, 3, 4, seed=2)
    np.testing.assert_array_equal(outputs("scale_forward", x.shape, x, factors), x * factors[:, :, None])
    gx, gfactors = np.empty_like(x), np.empty_like(factors)
    op("scale_backward")(x, factors, gy, gx, gfactors)
    np.testing.assert_allclose(gx, gradient(lambda v: v * factors[:, :, None], x, gy), atol=1e-8)
    np.testing.assert_allclose(gfactors, gradient(lambda v: x * v[:, :, None], factors, gy), atol=1e-8)


def _lrn(x: Array, size: int, alpha: float, beta: float) -> Array:
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        near = x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
        y[:, c] = x[:, c] / (1 + alpha / size * (near**2).sum(axis=1)) ** beta
    return y


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_response_normalisation(size: int) -> None:
    x, gy = drawn(2, 6, 3), drawn(2, 6, 3, seed=1)
    y, sums, gx = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    op("lrn_forward")(x, y, sums, size, 0.5, 0.75)
    np.testing.assert_allclose(y, _lrn(x, size, 0.5, 0.75), rtol=1e-12)
    op("lrn_backward")(x, y, gy, sums, gx, size, 0.5, 0.75)
    np.testing.assert_allclose(gx, gradient(lambda v: _lrn(v, size, 0.5, 0.75), x, gy), atol=1e-8)


SMALL: dict[str, Value] = {"batch": 3, "features": 70, "channels": 7, "spatial": 30, "m": 5, "n": 6, "k": 7}
NAMES = [
    f"{kind}_{way}"
    for kind in ("scale", "lrn", "softmax", "layernorm", "activation")
    for way in ("forward", "backward")
]


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        (n, p)
        for n in [*NAMES, "copy", "batched_gemm"]
        for p in ("fp64", "fp32", "fp16")
        if (n, p) != ("batched_gemm", "fp16")
    ],
)
def test_benchmarks_check_their_own_results(name: str, precision: str) -> None:
    bench = get_benchmark(name)
    axes = {axis.name for axis in bench.axes}
    parameters = bench.parameters({k: v for k, v in (SMALL | {"precision": precision}).items() if k in axes})
    arrays: list[Any] = []

    class Recording(NumpyEngine):
        def zeros(self, shape: tuple[int, ...], precision: str = "fp32") -> Any:
            arrays.append(super().zeros(shape, precision))
            return arrays[-1]

    work = bench.build(Case(parameters=parameters, engine=Recording(), seed=3))
    work.call()
    assert work.verify() == ""
    for array in arrays:
        array[...] = array + array.dtype.type(1)
    assert "expected" in work.verify()
