"""The sum over many processes: gradients of all GPUs in one window, pushes of the others in one cycle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sprintprof.model.discrete import Discrete
from sprintprof.model.jitter import Jitter
from sprintprof.model.renewal import (
    NODES,
    Counts,
    asymptotic_cumulants,
    conditional_counts,
    count_range,
    interval_nodes,
)
from sprintprof.model.special import Floats
from sprintprof.records import InputError

Complexes = npt.NDArray[np.complex128]
Group = tuple[int, Jitter]
"""So many processes with this cycle."""

EXACT_STD = 8.0
"""Up to this conditional standard deviation the sum is transformed exactly, above it Edgeworth's series holds."""
RING = 128
"""Sites of the exact transform: eight standard deviations on either side."""
LARGE = 1_500_000
"""Counts times nodes beyond which counts are so many that their limit for many cycles holds."""
RIPPLE = 1.5
"""Nodes may lie this many conditional standard deviations apart before their sum shows ripples (3e-4)."""


def counts_over(interval: Jitter, groups: Sequence[Group], unit: int = 1, nodes: int = NODES) -> Discrete:
    """How many cycles of all processes together end in one interval, which is independent of them.

    Given the interval's length y the processes are independent; over y the conditional distributions are mixed. Mean
    and std are exact: E = Σ n_i E[Y]/μ_i, Var = E[Σ n_i Var(N_i | Y)] + (Σ n_i/μ_i)² Var(Y). Values in `unit`.
    """
    y, weights = interval_nodes(interval, nodes)
    present = [(number, cycle) for number, cycle in groups if number > 0]
    if not present:
        return Discrete.certain(0, unit)
    rate = sum(number / cycle.mean_s for number, cycle in present)
    ranges = [count_range(cycle, y) for _, cycle in present]
    large = len(y) * max(last - first for first, last in ranges) > LARGE
    parts = [] if large else [(number, conditional_counts(cycle, y)) for number, cycle in present]
    mean, variance, third, fourth = _asymptotic(present, y) if large else _cumulants(parts)
    gap = rate * np.gradient(y) if len(y) > 1 else np.zeros(1)
    check_length(rate * (y[-1] - y[0]))
    # between far nodes the mean moves on: widen the kernel rather than show a comb
    blur = np.where(gap > 1, np.maximum((gap / RIPPLE) ** 2 - variance, 0.0), 0.0)
    exact_mean = rate * interval.mean_s
    exact_std = math.sqrt(float(weights @ variance) + (rate * interval.std_s) ** 2)
    moments = (exact_mean * unit, exact_std * unit)
    if len(parts) == 1 and parts[0][0] == 1 and not blur.any():
        return Discrete.known(parts[0][1].first, weights @ parts[0][1].pmf, *moments, unit)
    first, total = _mixed(parts, (mean, variance, third, fourth), blur, weights)
    below = max(0, -first)  # Edgeworth's tails may reach under 0
    return Discrete.known(first + below, total[below:], *moments, unit)


def _mixed(
    parts: list[tuple[int, Counts]], cumulants: tuple[Floats, Floats, Floats, Floats], blur: Floats, weights: Floats
) -> tuple[int, Floats]:
    """The nodes' sums mixed: exact where narrow, by Edgeworth's series elsewhere (without parts: everywhere)."""
    mean, variance, third, fourth = cumulants
    width = np.sqrt(variance + blur)
    span = sum(number * (counts.pmf.shape[1] - 1) for number, counts in parts)
    exact = (width <= EXACT_STD) if span >= RING else np.ones(len(mean), bool)
    if not parts:
        exact, width = np.zeros(len(mean), bool), np.maximum(width, 1.0)
    kept = weights > 1e-14
    pieces = []
    if np.any(exact & kept):
        use = exact & kept
        pieces.append(_ring_sum(parts, use, mean[use], blur[use], weights[use]))
    if np.any(~exact & kept):
        use = ~exact & kept
        columns = np.stack([mean, width, third, fourth, weights])[:, use]
        columns = columns[:, np.argsort(columns[1])]
        # nodes of about one width share a grid
        octaves = np.flatnonzero(np.diff(np.floor(np.log2(columns[1] / columns[1][0]) / 2))) + 1
        pieces += [_series_sum(*part) for part in np.split(columns, octaves, axis=1)]
    first = min(start for start, _ in pieces)
    total = np.zeros(max(start + len(p) for start, p in pieces) - first)
    for start, p in pieces:
        total[start - first :][: len(p)] += p
    return first, total


def check_length(values: float) -> None:
    """Raise InputError where a distribution would spread over too many values."""
    if values > LONGEST:
        raise InputError(
            "cycles", f"spread the mini-batch over {values:.2g} gradients", "take fewer GPUs or less jitter"
        )


LONGEST = 2e7
"""Values of one distribution, at most: 160 MB."""


def _asymptotic(groups: Sequence[Group], y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    mean, variance = np.zeros_like(y), np.zeros_like(y)
    for number, cycle in groups:
        m, v = asymptotic_cumulants(cycle, y)
        mean, variance = mean + number * m, variance + number * v
    return mean, variance, np.zeros_like(y), np.zeros_like(y)


def _cumulants(parts: list[tuple[int, Counts]]) -> tuple[Floats, Floats, Floats, Floats]:
    sums = [np.zeros(len(parts[0][1].pmf)) for _ in range(4)]
    for number, counts in parts:
        for total, value in zip(sums, counts.cumulants(), strict=True):
            total += number * value
    return sums[0], np.maximum(sums[1], 0.0), sums[2], sums[3]


def _ring_sum(
    parts: list[tuple[int, Counts]], use: npt.NDArray[np.bool_], mean: Floats, blur: Floats, weights: Floats
) -> tuple[int, Floats]:
    """Exact sums by discrete Fourier transform, values modulo RING, each put back around its own mean."""
    angle = 2 * np.pi * np.arange(RING // 2 + 1) / RING
    product = np.exp(-0.5 * blur[:, None] * angle[None, :] ** 2).astype(np.complex128)
    offset = 0
    for number, counts in parts:
        offset += number * counts.first
        k = np.arange(counts.pmf.shape[1])
        transform = counts.pmf[use] @ np.exp(-1j * np.outer(k, angle))
        product *= _power(transform, number)
    pmf = np.maximum(np.fft.irfft(product, RING, axis=1), 0.0) * weights[:, None]
    centre = np.round(mean - offset).astype(np.int64)
    sites = np.arange(RING)[None, :] - RING // 2 + centre[:, None]
    values = np.take_along_axis(pmf, sites % RING, axis=1)
    sites = np.maximum(sites, 0)
    first = int(sites.min())
    return offset + first, np.bincount((sites - first).ravel(), values.ravel()).astype(np.float64)


def _power(base: Complexes, exponent: int) -> Complexes:
    """base ** exponent by squaring: several times as fast as numpy's complex power."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result *= base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _series_sum(mean: Floats, width: Floats, third: Floats, fourth: Floats, weights: Floats) -> tuple[int, Floats]:
    """Edgeworth's series of each node on a common grid, brought to whole numbers by cubic interpolation."""
    stride = max(1, int(width.min() / 4))
    reach = np.ceil(WIDE * width / stride).astype(np.int64)
    centre = np.round(mean / stride).astype(np.int64)
    steps = np.arange(-int(reach.max()), int(reach.max()) + 1)
    grid = centre[:, None] + steps[None, :]
    z = (grid * stride - mean[:, None]) / width[:, None]
    skew, excess = (third / width**3)[:, None], (fourth / width**4)[:, None]
    z2 = z * z
    series = skew / 6 * z * (z2 - 3) + excess / 24 * (z2 * z2 - 6 * z2 + 3)
    series += skew * skew / 72 * (z2**3 - 15 * z2 * z2 + 45 * z2 - 15)
    value = np.exp(-0.5 * z2) * np.maximum(1 + series, 0.0) / (math.sqrt(2 * math.pi) * width[:, None])
    first = int(grid.min()) - 2
    coarse = np.bincount((grid - first).ravel(), (value * weights[:, None]).ravel())
    whole = np.concatenate([coarse.astype(np.float64), np.zeros(3)])
    return first * stride, np.maximum(_refine(whole, stride), 0.0)


WIDE = 7.0
"""Half width, in standard deviations, in which Edgeworth's series is evaluated."""


def _refine(coarse: Floats, stride: int) -> Floats:
    """Lagrange's cubic through four neighbours, at every whole number between grid points."""
    if stride == 1:
        return coarse
    padded = np.concatenate([[0.0], coarse, [0.0, 0.0]])
    t = np.arange(stride) / stride
    weights = np.stack(
        [
            -t * (t - 1) * (t - 2) / 6,
            (t + 1) * (t - 1) * (t - 2) / 2,
            -(t + 1) * t * (t - 2) / 2,
            (t + 1) * t * (t - 1) / 6,
        ]
    )
    neighbours = np.lib.stride_tricks.sliding_window_view(padded, 4)
    return np.asarray((neighbours @ weights).ravel(), np.float64)
