"""Special functions of scipy with types, imported where first used: scipy.special takes 0.1 s to load."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def ndtr(z: Floats) -> Floats:
    """Φ(z), the CDF of the standard normal."""
    from scipy import special

    return np.asarray(special.ndtr(z), np.float64)


def ndtri(u: Floats) -> Floats:
    """Φ⁻¹(u)."""
    from scipy import special

    return np.asarray(special.ndtri(u), np.float64)


def density(z: Floats) -> Floats:
    """φ(z), the density of the standard normal; 0 far out."""
    return np.asarray(np.exp(-0.5 * np.minimum(z * z, 1400.0)) / math.sqrt(2 * math.pi), np.float64)


def hazard(z: float) -> float:
    """φ(z)/(1 − Φ(z)), stable for large z."""
    from scipy import special

    return math.sqrt(2 / math.pi) / float(special.erfcx(z / math.sqrt(2)))


def gamma_cdf(shape: float, x: Floats) -> Floats:
    """The CDF of a gamma distribution of unit scale (regularised lower incomplete gamma function)."""
    from scipy import special

    return np.asarray(special.gammainc(shape, x), np.float64)


def gamma_quantile(shape: float, u: Floats) -> Floats:
    """Inverse of gamma_cdf."""
    from scipy import special

    return np.asarray(special.gammaincinv(shape, u), np.float64)


def beta_cdf(a: float, b: float, x: Floats) -> Floats:
    """The CDF of a beta distribution (regularised incomplete beta function)."""
    from scipy import special

    return np.asarray(special.betainc(a, b, x), np.float64)


def log_factorial(n: Floats) -> Floats:
    """log n!."""
    from scipy import special

    return np.asarray(special.gammaln(n + 1.0), np.float64)
