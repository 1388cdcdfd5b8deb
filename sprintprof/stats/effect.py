"""Effect size: how far apart two sets of samples are, beside whether that could be chance."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

_CLIFF = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
"""Limits of |δ| by Romano et al. 2006."""


class EffectSize(msgspec.Struct, frozen=True):
    """How b compares with a. `cliff_delta` in [−1, 1] is P(b > a) − P(b < a) over pairs of samples; `superiority` is
    P(b > a) + ½·P(b = a) (Vargha and Delaney); `ratio` is the median of all b/a (Hodges and Lehmann on the log scale).
    `size` says it in a word: negligible, small, medium or large."""

    cliff_delta: float
    superiority: float
    ratio: float
    size: str


def effect_size(a: npt.ArrayLike, b: npt.ArrayLike) -> EffectSize:
    """The effect size of b against a, (n,) and (m,) positive samples. Raises ValueError where one side is empty."""
    first = np.sort(np.asarray(a, np.float64).ravel())
    second = np.asarray(b, np.float64).ravel()
    if len(first) == 0 or len(second) == 0:
        raise ValueError("an effect size needs samples on both sides")
    below = np.searchsorted(first, second, "left").sum()
    not_above = np.searchsorted(first, second, "right").sum()
    pairs = len(first) * len(second)
    delta = float(below - (pairs - not_above)) / pairs
    size = next((word for limit, word in _CLIFF if abs(delta) < limit), "large")
    return EffectSize(delta, (delta + 1) / 2, _hodges_lehmann_ratio(first, second), size)


def _hodges_lehmann_ratio(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    # all pairs are n·m numbers: thin both sides evenly along their order where that would be millions
    thin_a, thin_b = (x[np.linspace(0, len(x) - 1, min(len(x), 1000)).round().astype(int)] for x in (a, np.sort(b)))
    return float(np.exp(np.median(np.subtract.outer(np.log(thin_b), np.log(thin_a)))))
