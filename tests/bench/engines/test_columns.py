"""im2col against numpy.pad and an index walk; col2im as its transpose, built as an explicit matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.engines.numpy_ops import columns
from sprintprof.bench.engines.numpy_ops.columns import col2im, im2col
from sprintprof.bench.engines.shapes import Window


def walk(x: Any, window: Window) -> Any:
    """Columns by definition, one element at a time."""
    (kh, kw), (sh, sw), (ph, pw), d = window.kernel, window.stride, window.pad, window.dilation
    n, c, h, w = x.shape
    oh, ow = window.output((h, w))
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    col = np.empty((n, c * kh * kw, oh * ow))
    for m, row, place in np.ndindex(col.shape):
        channel, i, j = row // (kh * kw), row // kw % kh, row % kw
        col[m, row, place] = padded[m, channel, place // ow * sh + i * d, place % ow * sw + j * d]
    return col


small = st.integers(1, 3)
windows = st.builds(
    Window, st.tuples(small, small), st.tuples(small, small), st.tuples(st.integers(0, 2), st.integers(0, 2)), small
)


@settings(max_examples=80, deadline=None)
@given(windows, st.integers(1, 3), st.integers(1, 2), st.tuples(st.integers(7, 9), st.integers(7, 9)), st.booleans())
def test_columns_and_back(window: Window, n: int, c: int, image: tuple[int, int], one_by_one: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, c, *image))
    expected = walk(x, window)
    col, back = np.full(expected.shape, np.nan), np.full(x.shape, np.nan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "PADDED_BYTES", 1 if one_by_one else 1 << 20)
        im2col(x, col, window)
    np.testing.assert_array_equal(col, expected)
    # which image place each column element comes from: the columns of an image that holds its own flat index
    source = walk(np.arange(1, x.size + 1, dtype=float).reshape(x.shape), window).ravel().astype(int)
    values = rng.standard_normal(expected.shape)
    col2im(values, back, window)
    summed = np.bincount(source, weights=values.ravel(), minlength=x.size + 1)[1:]
    np.testing.assert_allclose(back.ravel(), summed, rtol=1e-12, atol=1e-12)
