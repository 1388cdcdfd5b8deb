"""Softmax with cross entropy against scipy.special; batch normalisation by its definition and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.engines.numpy_ops import batchnorm

ENGINE = NumpyEngine()
EPSILON = 1e-5


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 300),
    st.sampled_from([0.1, 1.0, 100.0]),
    st.sampled_from(["fp64", "fp32", "fp16"]),
)
def test_softmax_with_cross_entropy(batch: int, classes: int, spread: float, precision: str) -> None:
    """A spread of 100 would overflow an exponential that is not shifted."""
    logits = ENGINE.random((batch, classes), precision) * np.float16(spread)
    logits = logits.astype({"fp64": np.float64, "fp32": np.float32, "fp16": np.float16}[precision])
    labels = ENGINE.integers((batch,), classes, seed=1)
    loss, grad = ENGINE.zeros((batch,), precision), ENGINE.zeros((batch, classes), precision)
    ENGINE.op("softmax_xent")(logits, labels, loss, grad)
    exact = logits.astype(float)
    rtol, atol = {"fp64": (1e-12, 1e-14), "fp32": (2e-5, 1e-6), "fp16": (4e-3, 1e-3)}[precision]
    own = np.arange(batch), labels
    np.testing.assert_allclose(loss, -log_softmax(exact, axis=1)[own], rtol=rtol, atol=atol)
    expected = softmax(exact, axis=1)
    expected[own] -= 1
    np.testing.assert_allclose(grad, expected / batch, rtol=rtol, atol=atol)


def test_the_gradient_is_that_of_the_mean_loss() -> None:
    logits, labels = ENGINE.random((3, 4), "fp64"), np.array([0, 3, 1])

    def mean_loss() -> float:
        loss = np.empty(3)
        ENGINE.op("softmax_xent")(logits, labels, loss, np.empty((3, 4)))
        return float(loss.mean())

    grad = np.empty((3, 4))
    ENGINE.op("softmax_xent")(logits, labels, np.empty(3), grad)
    for place in np.ndindex(3, 4):
        values = []
        for step in (1e-5, -1e-5):
            logits[place] += step
            values.append(mean_loss())
            logits[place] -= step
        assert grad[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-9)


def normalise(x: Any, gamma: Any, beta: Any) -> Any:
    """By definition, channel by channel."""
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        channel = x[:, c]
        y[:, c] = gamma[c] * (channel - channel.mean()) / np.sqrt(np.var(channel) + EPSILON) + beta[c]
    return y


def run(x: Any, gamma: Any, beta: Any, gy: Any) -> tuple[Any, ...]:
    """y, mean, inv_std, gx, ggamma, gbeta."""
    y, gx = np.full_like(x, np.nan), np.full_like(x, np.nan)
    mean, inv_std, ggamma, gbeta = (np.full_like(gamma, np.nan) for _ in range(4))
    ENGINE.op("batchnorm_forward")(x, gamma, beta, y, mean, inv_std, EPSILON)
    ENGINE.op("batchnorm_backward")(x, gy, gamma, mean, inv_std, gx, ggamma, gbeta)
    return y, mean, inv_std, gx, ggamma, gbeta


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(2, 12), st.sampled_from([0.0, 50.0]), st.booleans())
def test_batch_normalisation(images: int, channels: int, places: int, offset: float, one_by_one: bool) -> None:
    """Gradients along random directions, by central differences of the definition."""
    rng = np.random.default_rng(images * 100 + channels)
    x = rng.standard_normal((images, channels, places)) + offset
    gy, dx = rng.standard_normal(x.shape), rng.standard_normal(x.shape)
    gamma, beta, dgamma, dbeta = (rng.standard_normal(channels) for _ in range(4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batchnorm, "CHANNEL_BYTES", 1 if one_by_one else 1 << 18)
        y, mean, inv_std, gx, ggamma, gbeta = run(x, gamma, beta, gy)
    np.testing.assert_allclose(y, normalise(x, gamma, beta), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mean, [x[:, c].mean() for c in range(channels)], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(inv_std, [1 / np.sqrt(x[:, c].var() + EPSILON) for c in range(channels)], rtol=1e-9)
    step = 1e-5
    for gradient, change in (
        ((gx * dx).sum(), normalise(x + step * dx, gamma, beta) - normalise(x - step * dx, gamma, beta)),
        (ggamma @ dgamma, normalise(x, gamma + step * dgamma, beta) - normalise(x, gamma - step * dgamma, beta)),
        (gbeta @ dbeta, normalise(x, gamma, beta + step * dbeta) - normalise(x, gamma, beta - step * dbeta)),
    ):
        assert gradient == pytest.approx((gy * change).sum() / (2 * step), rel=2e-4, abs=2e-4)


def test_half_precision_images_with_single_precision_statistics() -> None:
    """60,000 squares of about 100 add up to more than half precision holds."""
    x = (ENGINE.random((2, 2, 60_000), "fp32") * 10 + 3).astype(np.float16)
    gy = ENGINE.random(x.shape, "fp16", seed=1)
    gamma, beta = np.array([1.5, 0.5], np.float32), np.array([0.25, -1], np.float32)
    y, gx = np.empty_like(x), np.empty_like(x)
    mean, inv_std, ggamma, gbeta = (np.empty(2, np.float32) for _ in range(4))
    ENGINE.op("batchnorm_forward")(x, gamma, beta, y, mean, inv_std, EPSILON)
    ENGINE.op("batchnorm_backward")(x, gy, gamma, mean, inv_std, gx, ggamma, gbeta)
    exact = x.astype(float)
    np.testing.assert_allclose(y, normalise(exact, gamma, beta), atol=5e-3)
    np.testing.assert_allclose(gbeta, gy.astype(float).sum(axis=(0, 2)), rtol=1e-3)
    expected = run(exact, gamma.astype(float), beta.astype(float), gy.astype(float))[3]
    np.testing.assert_allclose(gx, expected, atol=2e-3)
