"""A distribution over whole numbers (gradients in a window, versions of staleness) and what is reported of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.model.special import Floats

QUANTILES = ("0.05", "0.25", "0.5", "0.75", "0.95")
NEGLIGIBLE = 1e-9
"""Probabilities below this are left out of a reported pmf."""


@dataclass(frozen=True)
class Discrete:
    """`probabilities[i]` belongs to the value `first + i`, times `unit` where reported.

    `mean` and `std` are those of the model, in units of `unit` · 1: exact where a closed form gives them, and then
    not bound to the rounding of the pmf.
    """

    first: int
    probabilities: Floats
    mean: float
    std: float
    unit: int = 1

    @classmethod
    def of(cls, first: int, weights: Floats, unit: int = 1) -> Discrete:
        """Normalise non-negative weights and take the moments from them."""
        p = np.maximum(weights, 0.0)
        p = p / p.sum()
        kept = np.flatnonzero(p > 0)
        p, first = p[kept[0] : kept[-1] + 1], first + int(kept[0])
        values = first + np.arange(len(p))
        mean = float(p @ values)
        return cls(first, p, mean * unit, math.sqrt(max(float(p @ (values - mean) ** 2), 0.0)) * unit, unit)

    @classmethod
    def known(cls, first: int, weights: Floats, mean: float, std: float, unit: int = 1) -> Discrete:
        """Non-negative weights with moments from elsewhere (in reported units); what is negligible is cut off."""
        whole = float(weights.sum())
        kept = np.flatnonzero(weights > whole * 1e-15)
        cut = weights[kept[0] : kept[-1] + 1]
        return cls(first + int(kept[0]), cut / whole, mean, std, unit)

    @classmethod
    def certain(cls, value: int, unit: int = 1) -> Discrete:
        """The value `value` · unit, always."""
        return cls(value, np.ones(1), float(value * unit), 0.0, unit)

    @classmethod
    def counted(cls, observations: npt.NDArray[np.int64], unit: int = 1) -> Discrete:
        """The empirical distribution of observed whole numbers, shape (n,), n ≥ 1."""
        first = int(observations.min())
        return cls.of(first, np.bincount(observations - first).astype(np.float64), unit)

    def with_moments(self, mean: float, std: float) -> Discrete:
        """The same pmf with moments from a closed form (in reported units)."""
        return Discrete(self.first, self.probabilities, mean, std, self.unit)

    @property
    def values(self) -> npt.NDArray[np.int64]:
        """The values in reported units, shape (n,)."""
        return (self.first + np.arange(len(self.probabilities), dtype=np.int64)) * self.unit

    def quantile(self, u: float) -> int:
        """The least value with P(X ≤ value) ≥ u."""
        index = int(np.searchsorted(np.cumsum(self.probabilities), u - 1e-12))
        return (self.first + min(index, len(self.probabilities) - 1)) * self.unit

    def probability(self, value: int) -> float:
        """P(X = value), value in reported units."""
        index, rest = divmod(value, self.unit)
        index -= self.first
        return float(self.probabilities[index]) if rest == 0 and 0 <= index < len(self.probabilities) else 0.0

    def distance(self, other: Discrete) -> float:
        """Total variation distance, 0..1; both in the same unit."""
        first = min(self.first, other.first)
        last = max(self.first + len(self.probabilities), other.first + len(other.probabilities))
        gap = np.zeros(last - first)
        gap[self.first - first :][: len(self.probabilities)] += self.probabilities
        gap[other.first - first :][: len(other.probabilities)] -= other.probabilities
        return float(np.abs(gap).sum() / 2)

    def report(self) -> dict[str, Any]:
        """Plain data with the keys of the contract: mean, std, quantiles, pmf."""
        kept = self.probabilities >= NEGLIGIBLE
        return {
            "mean": self.mean,
            "std": self.std,
            "quantiles": {q: self.quantile(float(q)) for q in QUANTILES},
            "pmf": {"values": self.values[kept].tolist(), "probabilities": self.probabilities[kept].tolist()},
        }
