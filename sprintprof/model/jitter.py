"""Distributions of a cycle time: normal cut at 5 % of its mean, gamma, log-normal, constant, measured samples.

What renewal counting needs of a distribution is its shortfall G(x) = E[(x − X)^+], the integral of the CDF: sums are
built from its second differences. Everything here is in s; arrays go in and come out with one shape.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from sprintprof.model.special import Floats as Floats
from sprintprof.model.special import density, gamma_cdf, gamma_quantile, hazard, ndtr, ndtri
from sprintprof.records import InputError

Kind = Literal["normal", "lognormal", "gamma"]
KINDS: tuple[Kind, ...] = ("normal", "lognormal", "gamma")

CUT = 0.05
"""A normal cycle is cut at this share of its mean; mean and cv are those after the cut."""
TAIL = 1e-10
"""Probability beyond which a tail is not followed."""


class Jitter(ABC):
    """A positive random time. `mean_s`, `std_s` in s; `skewness` and `excess` kurtosis without unit."""

    mean_s: float
    std_s: float
    skewness: float
    excess: float

    @property
    def cv(self) -> float:
        """Coefficient of variation."""
        return self.std_s / self.mean_s if self.std_s else 0.0

    @abstractmethod
    def cdf(self, x_s: Floats) -> Floats:
        """P(X ≤ x)."""

    @abstractmethod
    def shortfall(self, x_s: Floats) -> Floats:
        """E[(x − X)^+] in s."""

    @abstractmethod
    def quantile(self, u: Floats) -> Floats:
        """Inverse of the CDF for u in (0, 1)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Independent draws of the given shape."""

    def fill(self, rng: np.random.Generator, out: Floats) -> None:
        """Independent draws into an array that is there (contiguous)."""
        out[...] = self.sample(rng, out.shape)

    @abstractmethod
    def scaled(self, factor: float) -> Jitter:
        """The distribution of factor · X."""

    def bounds(self) -> tuple[float, float]:
        """Least and greatest value worth following, in s."""
        low, high = self.quantile(np.array([TAIL, 1 - TAIL]))
        return float(low), float(high)

    def residual(self, rng: np.random.Generator, size: int) -> Floats:
        """Time to the next event seen from a random moment, shape (size,): its CDF is (x − G(x))/mean."""
        return np.interp(rng.random(size), *self._residual_table)

    @cached_property
    def _residual_table(self) -> tuple[Floats, Floats]:
        low, high = self.bounds()
        x = np.concatenate([[0.0], np.linspace(low, high, 4096)])
        below = np.maximum.accumulate((x - self.shortfall(x)) / self.mean_s)
        return below / below[-1], x


@dataclass(frozen=True)
class Constant(Jitter):
    """No jitter at all."""

    mean_s: float
    std_s: float = field(default=0.0, init=False)
    skewness: float = field(default=0.0, init=False)
    excess: float = field(default=0.0, init=False)

    def cdf(self, x_s: Floats) -> Floats:
        return np.where(x_s >= self.mean_s, 1.0, 0.0)

    def shortfall(self, x_s: Floats) -> Floats:
        return np.maximum(x_s - self.mean_s, 0.0)

    def quantile(self, u: Floats) -> Floats:
        return np.full_like(u, self.mean_s)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return np.full(size, self.mean_s)

    def scaled(self, factor: float) -> Constant:
        return Constant(self.mean_s * factor)

    def bounds(self) -> tuple[float, float]:
        return self.mean_s, self.mean_s


@dataclass(frozen=True)
class CutNormal(Jitter):
    """A normal with location `mu`, scale `sigma`, conditioned on X ≥ `floor_s`. Made by `jitter`."""

    mu: float
    sigma: float
    floor_s: float
    mean_s: float
    std_s: float

    @property
    def _alpha(self) -> float:
        return (self.floor_s - self.mu) / self.sigma

    @cached_property
    def _kept(self) -> float:
        return float(ndtr(np.array(-self._alpha)))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Skewness and excess kurtosis, by the recursion of the moments of a cut standard normal."""
        a, rate = self._alpha, hazard(self._alpha)
        raw = [1.0, rate]
        for k in range(2, 5):
            raw.append((k - 1) * raw[k - 2] + a ** (k - 1) * rate)
        m, v = raw[1], raw[2] - raw[1] ** 2
        third = raw[3] - 3 * m * raw[2] + 2 * m**3
        fourth = raw[4] - 4 * m * raw[3] + 6 * m * m * raw[2] - 3 * m**4
        return third / v**1.5, fourth / v**2 - 3

    @property
    def skewness(self) -> float:  # type: ignore[override]
        return self._moments[0]

    @property
    def excess(self) -> float:  # type: ignore[override]
        return self._moments[1]

    def cdf(self, x_s: Floats) -> Floats:
        z = (x_s - self.mu) / self.sigma
        return np.clip(1 - ndtr(-z) / self._kept, 0.0, 1.0)

    def shortfall(self, x_s: Floats) -> Floats:
        # E[(x − X)^+] = x − mean + E[(X − x)^+], and the excess has a closed form above the cut
        z = (x_s - self.mu) / self.sigma
        excess = self.sigma * (density(z) - z * ndtr(-z)) / self._kept
        return np.where(x_s <= self.floor_s, 0.0, np.maximum(x_s - self.mean_s + excess, 0.0))

    def quantile(self, u: Floats) -> Floats:
        return np.maximum(self.mu - self.sigma * ndtri((1 - u) * self._kept), self.floor_s)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        draws = np.empty(size)
        self.fill(rng, draws)
        return draws

    def fill(self, rng: np.random.Generator, out: Floats) -> None:
        if self._kept < 0.5:
            out[...] = self.quantile(1 - rng.random(out.shape))
            return
        rng.standard_normal(out=out)
        out *= self.sigma
        out += self.mu
        if self._alpha > -9:  # beyond, one draw in 1e19 would be cut
            flat = out.reshape(-1)
            bad = np.flatnonzero(flat < self.floor_s)
            while bad.size:
                flat[bad] = self.mu + self.sigma * rng.standard_normal(bad.size)
                bad = bad[flat[bad] < self.floor_s]

    def scaled(self, factor: float) -> CutNormal:
        f = factor
        return CutNormal(self.mu * f, self.sigma * f, self.floor_s * f, self.mean_s * f, self.std_s * f)


def _cut_ratio(alpha: float) -> tuple[float, float]:
    """(std/(mean − cut), (mean − cut)/sigma) of a normal cut `alpha` scales above its location."""
    rate = hazard(alpha)
    above = rate - alpha
    return math.sqrt(max(1 + alpha * rate - rate**2, 0.0)) / above, above


@lru_cache(maxsize=256)
def _alpha(target: float) -> float:
    """Where to cut so that std/(mean − cut) is `target`: by bisection, to the last bits."""
    low, high = -max(40.0, 2 / target), 12.0
    for _ in range(64):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _cut_ratio(middle)[0] < target else (low, middle)
    return 0.5 * (low + high)


def _cut_normal(mean_s: float, cv: float) -> CutNormal:
    """Solve for the normal whose cut at CUT · mean leaves the given mean and cv."""
    target = cv / (1 - CUT)
    if target > 0.97:
        what = f"a normal cut at {CUT:.0%} of its mean cannot have a cv of {cv:g}"
        raise InputError("jitter", what, "use at most 0.92, or --distribution gamma or lognormal")
    alpha = _alpha(target)
    sigma = mean_s * (1 - CUT) / _cut_ratio(alpha)[1]
    return CutNormal(CUT * mean_s - alpha * sigma, sigma, CUT * mean_s, mean_s, cv * mean_s)


@dataclass(frozen=True)
class Gamma(Jitter):
    """Gamma distribution with the given mean and standard deviation."""

    mean_s: float
    std_s: float

    @property
    def shape(self) -> float:
        """The shape parameter, 1/cv²."""
        return (self.mean_s / self.std_s) ** 2

    @property
    def skewness(self) -> float:  # type: ignore[override]
        return 2 * self.cv

    @property
    def excess(self) -> float:  # type: ignore[override]
        return 6 * self.cv**2

    def cdf(self, x_s: Floats) -> Floats:
        return gamma_cdf(self.shape, np.maximum(x_s, 0) * self.shape / self.mean_s)

    def shortfall(self, x_s: Floats) -> Floats:
        x = np.maximum(x_s, 0.0)
        scaled = x * self.shape / self.mean_s
        below = x * gamma_cdf(self.shape, scaled) - self.mean_s * gamma_cdf(self.shape + 1, scaled)
        return np.maximum(below, 0.0)

    def quantile(self, u: Floats) -> Floats:
        return gamma_quantile(self.shape, u) * (self.mean_s / self.shape)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return rng.gamma(self.shape, self.mean_s / self.shape, size)

    def scaled(self, factor: float) -> Gamma:
        return replace(self, mean_s=self.mean_s * factor, std_s=self.std_s * factor)


@dataclass(frozen=True)
class LogNormal(Jitter):
    """Log-normal distribution with the given mean and standard deviation."""

    mean_s: float
    std_s: float

    @property
    def _sigma(self) -> float:
        return math.sqrt(math.log1p(self.cv**2))

    @property
    def _mu(self) -> float:
        return math.log(self.mean_s) - self._sigma**2 / 2

    @property
    def skewness(self) -> float:  # type: ignore[override]
        return (3 + self.cv**2) * self.cv

    @property
    def excess(self) -> float:  # type: ignore[override]
        w = 1 + self.cv**2
        return w**4 + 2 * w**3 + 3 * w**2 - 6

    def cdf(self, x_s: Floats) -> Floats:
        return ndtr((np.log(np.maximum(x_s, 1e-300)) - self._mu) / self._sigma)

    def shortfall(self, x_s: Floats) -> Floats:
        x = np.maximum(x_s, 1e-300)
        z = (np.log(x) - self._mu) / self._sigma
        return np.maximum(x * ndtr(z) - self.mean_s * ndtr(z - self._sigma), 0.0)

    def quantile(self, u: Floats) -> Floats:
        return np.exp(self._mu + self._sigma * ndtri(u))

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return rng.lognormal(self._mu, self._sigma, size)

    def scaled(self, factor: float) -> LogNormal:
        return replace(self, mean_s=self.mean_s * factor, std_s=self.std_s * factor)


class Samples(Jitter):
    """The distribution of measured times, each as likely as the other."""

    def __init__(self, times_s: npt.ArrayLike) -> None:
        """`times_s`, shape (n,): positive and finite, else InputError."""
        values = np.sort(np.asarray(times_s, np.float64).ravel())
        if not values.size or not np.all(np.isfinite(values)) or values[0] <= 0:
            raise InputError("samples", "are empty, not finite or not positive", "give measured times in s")
        self.values = values
        self.mean_s = float(values.mean())
        self.std_s = float(values.std())
        centred = (values - self.mean_s) / (self.std_s or 1.0)
        self.skewness = float(np.mean(centred**3))
        self.excess = float(np.mean(centred**4)) - 3 if self.std_s else 0.0
        self._cumulative = np.concatenate([[0.0], np.cumsum(values)])

    def cdf(self, x_s: Floats) -> Floats:
        return np.asarray(np.searchsorted(self.values, x_s, side="right") / len(self.values), np.float64)

    def shortfall(self, x_s: Floats) -> Floats:
        below = np.searchsorted(self.values, x_s, side="right")
        return np.asarray(np.maximum(below * x_s - self._cumulative[below], 0.0) / len(self.values), np.float64)

    def quantile(self, u: Floats) -> Floats:
        index = np.ceil(np.asarray(u) * len(self.values)).astype(np.int64) - 1
        return np.asarray(self.values[np.clip(index, 0, len(self.values) - 1)], np.float64)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return rng.choice(self.values, size)

    def scaled(self, factor: float) -> Samples:
        return Samples(self.values * factor)


def jitter(mean_s: float, cv: float, kind: Kind = "normal") -> Jitter:
    """The distribution of a time with that mean (s) and coefficient of variation.

    Raises InputError where the mean is not positive, the cv negative, or the kind cannot reach the cv.
    """
    if not (math.isfinite(mean_s) and mean_s > 0):
        raise InputError("cycle time", f"{mean_s:g} s is not a positive time", "give seconds above 0")
    if not (math.isfinite(cv) and cv >= 0):
        raise InputError("jitter", f"{cv:g} is not a coefficient of variation", "give a fraction, e.g. 0.03")
    if kind not in KINDS:
        raise InputError("--distribution", f"there is no '{kind}'", f"choose {', '.join(KINDS)}")
    if cv < 1e-9:
        return Constant(mean_s)
    if kind == "gamma":
        return Gamma(mean_s, cv * mean_s)
    if kind == "lognormal":
        return LogNormal(mean_s, cv * mean_s)
    return _cut_normal(mean_s, cv)


def parse_cycle(text: str, option: str, kind: Kind = "normal") -> Jitter:
    """`MEAN:CV` or `MEAN` in s, e.g. `0.37:0.03`. Raises InputError naming the option."""
    mean, _, cv = text.partition(":")
    try:
        numbers = float(mean), float(cv or 0.0)
    except ValueError:
        raise InputError(option, f"'{text}' is not MEAN:CV", "write seconds and a fraction, e.g. 0.37:0.03") from None
    try:
        return jitter(*numbers, kind)
    except InputError as error:
        raise InputError(option, error.what, error.remedy) from None
