"""Renewal counting: how many cycles of a stationary renewal process end inside an interval.

For a process with cycle X (mean μ, sums S_n) seen from a random moment, and an interval of length y,
P(N ≥ n) = (H_{n−1}(y) − H_n(y))/μ with H_n(y) = E[(y − S_n)^+] (Cox, Renewal Theory, ch. 4: the equilibrium process).
E[N] = y/μ exactly. The sums are taken on a lattice that keeps the mean of X, so every result is a true pmf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sprintprof.model.jitter import Jitter
from sprintprof.model.special import Floats, density, ndtr

STEPS_PER_STD = 12
"""Lattice steps in one standard deviation of X; the lattice adds 1/(6·12²) = 0.12 % to its variance."""
SERIES_SKEWNESS = 0.15
"""Sums of less skewness than this are taken by Edgeworth's series instead of convolution."""
NODES = 192
"""Points over an interval's length; they add at most 0.1 % to its variance."""
SCORES = 6.36
"""The normal score of the tail that is not followed."""
HELD = 4_000_000
"""Lattice sites of all sums together, at most."""
WIDTH = 7.0
"""Half width of a sum's lattice, in standard deviations beyond the tail of one cycle."""


@dataclass(frozen=True)
class Counts:
    """P(N = first + k | y) for every node y: `pmf`, shape (nodes, k); each row sums to 1."""

    first: int
    pmf: Floats

    def cumulants(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Mean, variance, third and fourth cumulant at every node, each of shape (nodes,)."""
        k = np.arange(self.pmf.shape[1])
        mean = self.pmf @ k
        away = k[None, :] - mean[:, None]
        second, third, fourth = (np.sum(self.pmf * away**power, axis=1) for power in (2, 3, 4))
        return mean + self.first, second, third, fourth - 3 * second**2


def interval_nodes(interval: Jitter, nodes: int = NODES) -> tuple[Floats, Floats]:
    """Points (s) and weights, each of shape (nodes,), that keep the mean of the interval's length.

    Points are evenly spaced in normal scores: for a normal evenly spaced, for a log-normal evenly in the logarithm, so
    that heavy tails do not thin out the middle. Expectations of functions linear between the points are exact.
    """
    low, high = interval.bounds()
    if high - low < 1e-9 * interval.mean_s:
        return np.array([interval.mean_s]), np.ones(1)
    scores = np.linspace(-SCORES, SCORES, nodes)
    points = np.unique(interval.quantile(ndtr(scores)))
    if len(points) < 2:
        points = np.array([low, high])
    edges = np.concatenate([[points[0] - (points[1] - points[0])], points, [2 * points[-1] - points[-2]]])
    # the last value is what lies beyond the range; its share is of the order of the tail that is not followed
    slopes = np.diff(interval.shortfall(np.asarray(edges, np.float64))) / np.diff(edges)
    weights = np.maximum(np.diff(slopes), 0.0)
    return points, weights / weights.sum()


def shortfalls(cycle: Jitter, sums: npt.NDArray[np.int64], y_s: Floats) -> Floats:
    """H_n(y) = E[(y − S_n)^+] in s, shape (len(sums), len(y_s)), for consecutive n ≥ 0."""
    y = np.asarray(y_s, np.float64)
    out = np.maximum(y[None, :] - sums[:, None] * cycle.mean_s, 0.0)
    if cycle.std_s < 1e-9 * cycle.mean_s:
        return out
    most = min(max(24.0, (cycle.skewness / SERIES_SKEWNESS) ** 2), 256.0)
    if cycle.std_s > cycle.mean_s:  # very long tails: so many sums as lattices of their length allow
        low, high = cycle.bounds()
        most = min(most, max(4.0, HELD * _step(cycle) / (2 * (high - low))))
    by_lattice = (sums >= 1) & (sums <= most)
    if by_lattice.any():
        out[by_lattice] = _lattice_shortfalls(cycle, sums[by_lattice], y)
    large = sums > most
    if large.any():
        out[large] = _edgeworth_shortfalls(cycle, sums[large], y)
    return out


def _step(cycle: Jitter) -> float:
    """The lattice's step in s: of the standard deviation, or of the middle's width where tails make that larger."""
    if cycle.std_s <= cycle.mean_s:
        return cycle.std_s / STEPS_PER_STD
    middle = cycle.quantile(np.array([0.16, 0.84]))
    width = float(middle[1] - middle[0]) / 2
    return (min(cycle.std_s, width) if width > 0 else cycle.std_s) / STEPS_PER_STD


def _lattice_shortfalls(cycle: Jitter, sums: npt.NDArray[np.int64], y: Floats) -> Floats:
    low, high = cycle.bounds()
    step = _step(cycle)
    spread = WIDTH * cycle.std_s * (math.sqrt(float(sums[-1])) - 0.5)
    # outside, a sum is certainly below or above; only the y inside need the lattice
    half = max(cycle.mean_s - low, high - cycle.mean_s) + spread
    size = _fast_length(2 * half / step + 2)
    sites = np.arange(size) - size // 2
    edges = (np.arange(size + 2, dtype=np.float64) - size // 2 - 1) * step + cycle.mean_s
    single = np.maximum(np.diff(cycle.shortfall(edges), 2) / step, 0.0)
    single /= single.sum()
    shift = float(single @ sites)  # what the ends of the range cost the mean: of the order of the tail
    transform = np.fft.rfft(np.fft.ifftshift(single))
    powers = np.empty((len(sums), len(transform)), np.complex128)
    # alternating signs move 0 to the middle of the lattice
    powers[0] = transform ** int(sums[0]) * np.where(np.arange(len(transform)) % 2, -1.0, 1.0)
    for row in range(1, len(sums)):
        np.multiply(powers[row - 1], transform, out=powers[row])
    pmf = np.fft.irfft(powers, size, axis=1)
    below = np.cumsum(pmf, axis=1)
    np.cumsum(below, axis=1, out=below)  # below[j] = H at site j + 1, in steps
    place = (y[None, :] - (sums * (cycle.mean_s + shift * step))[:, None]) / step + size // 2 - 1
    index = np.clip(np.floor(place).astype(np.int64), 0, size - 2)
    left = np.take_along_axis(below, index, axis=1)
    right = np.take_along_axis(below, index + 1, axis=1)
    inside = (left + (right - left) * (place - index)) * step
    outside = np.maximum(y[None, :] - (sums * cycle.mean_s)[:, None], 0.0)
    return np.asarray(np.where((place <= 0) | (place >= size - 1), outside, inside), np.float64)


def _fast_length(least: float) -> int:
    """The least multiple of 4 from `least` on that is 2, 3 or 5 times a power of 2: quick to transform."""
    return min(m << max(2, math.ceil(math.log2(max(least, 4.0) / m))) for m in (2, 3, 5))


def _edgeworth_shortfalls(cycle: Jitter, sums: npt.NDArray[np.int64], y: Floats) -> Floats:
    """Edgeworth's series of the CDF to second order, integrated term by term (∫ φ He_k = −φ He_{k−1})."""
    n = sums[:, None].astype(np.float64)
    scale = cycle.std_s * np.sqrt(n)
    z = np.clip((y[None, :] - n * cycle.mean_s) / scale, -40.0, 1e9)
    phi = density(z)
    he2 = z * z - 1
    he4 = he2 * he2 - 4 * z * z + 2
    g, k = cycle.skewness, cycle.excess
    series = z * g / (6 * np.sqrt(n)) + he2 * k / (24 * n) + he4 * g * g / (72 * n)
    return np.asarray(np.maximum(scale * (z * ndtr(z) + phi * (1 + series)), 0.0), np.float64)


def count_range(cycle: Jitter, y_s: Floats) -> tuple[int, int]:
    """Least and greatest count worth following in intervals of these lengths (s)."""
    low, high = cycle.bounds()
    return _least(cycle, low, high, float(np.min(y_s))), _most(cycle, low, high, float(np.max(y_s)))


def conditional_counts(cycle: Jitter, y_s: Floats) -> Counts:
    """How many cycles end in an interval of length y, for every y (s) of shape (nodes,), y > 0."""
    first, last = count_range(cycle, y_s)
    heights = shortfalls(cycle, np.arange(first, last + 2), y_s)
    at_least = np.clip((heights[:-1] - heights[1:]) / cycle.mean_s, 0.0, 1.0)  # P(N ≥ first + 1 …)
    at_least = np.minimum.accumulate(at_least, axis=0)
    edges = np.vstack([np.ones_like(y_s), at_least, np.zeros_like(y_s)])
    return Counts(first, np.ascontiguousarray((edges[:-1] - edges[1:]).T))


def asymptotic_cumulants(cycle: Jitter, y_s: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the count where it is large: y/μ and cv²·y/μ + 1/6 + cv⁴/2 − γ·cv³/3 (Cox, ch. 4)."""
    mean = y_s / cycle.mean_s
    cv = cycle.cv
    constant = 1 / 6 + cv**4 / 2 - cycle.skewness * cv**3 / 3
    return mean, np.maximum(cv**2 * mean + constant, 0.0)


def _least(cycle: Jitter, low: float, high: float, y: float) -> int:
    """A count that is reached for certain: the sums of so many cycles end before y."""
    n = max(int(y / cycle.mean_s), 0)
    while n > 0 and n * cycle.mean_s + (high - cycle.mean_s) + WIDTH * cycle.std_s * math.sqrt(n) > y:
        n -= max(1, n // 64)
    return max(n - 1, 0)


def _most(cycle: Jitter, low: float, high: float, y: float) -> int:
    """A count beyond which nothing happens: the sums of so many cycles are all longer than y."""
    n = int(y / cycle.mean_s) + 1
    while n * low < y and n * cycle.mean_s - (cycle.mean_s - low) - WIDTH * cycle.std_s * math.sqrt(n) < y:
        n += max(1, n // 64)
    return n


def surplus_sum(interval_mean: Floats, interval_std: Floats, cycle_mean: Floats, cycle_std: Floats) -> Floats:
    """Σ_{n≥1} E[(Y − S_n)^+] in s with Y − S_n taken as normal; arrays of one shape, for many settings at once.

    With it E[N(N − 1)] = 2·Σ/μ, so Var(N) = ρ + 2Σ/μ − ρ² for the count N of an interval Y: moments without pmf.
    """
    arrays = np.broadcast_arrays(interval_mean, interval_std, cycle_mean, cycle_std)
    y, sy, x, sx = (np.asarray(a, np.float64).ravel() for a in arrays)
    reach = y / x
    around = SURE * np.sqrt(sy**2 + (reach + 1) * sx**2) / x
    certain = np.maximum(np.floor(reach - around) - 1, 0.0)  # so many sums are surely shorter than Y
    total = certain * y - x * certain * (certain + 1) / 2
    steps = np.maximum(reach + around * (1 + around / (reach + 1)) + 2 - certain, 1.0).astype(np.int64)
    order = np.argsort(steps)
    for begin in range(0, len(order), CHUNK):
        part = order[begin : begin + CHUNK]
        total[part] += _uncertain(y[part], sy[part], x[part], sx[part], certain[part], int(steps[part[-1]]))
    return np.asarray(total.reshape(arrays[0].shape), np.float64)


def _uncertain(y: Floats, sy: Floats, x: Floats, sx: Floats, certain: Floats, steps: int) -> Floats:
    """The terms certain + 1 … certain + steps of the sum."""
    total = np.zeros_like(y)
    for k in range(1, steps + 1):
        n = certain + k
        gap = y - n * x
        scale = np.sqrt(sy**2 + n * sx**2) + 1e-300
        z = np.clip(gap / scale, -40, 40)
        total += np.where(gap > 40 * scale, gap, gap * ndtr(z) + scale * density(z))
    return total


SURE = 7.0
"""Standard deviations beyond which a normal sum is certain."""
CHUNK = 4096
"""Settings treated together: those that need as many terms."""
