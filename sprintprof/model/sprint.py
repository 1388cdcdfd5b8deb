"""SPRINT: asynchronous data-parallel SGD with an all-reduce, in closed form and by renewal counting.

A GPU thread reads the newest weights, computes for one cycle T_g and pushes; the update thread takes what was pushed
in its last cycle T_u, reduces and publishes. So B counts pushes of all GPUs in one T_u, and S − 1 counts publications
in one T_g: both are renewal counts. A reconstruction from the abstract of the SPRINT paper and US 2018/0032865 A1;
its equations are not public in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sprintprof.model.counting import Group, counts_over
from sprintprof.model.discrete import Discrete
from sprintprof.model.jitter import Jitter
from sprintprof.model.special import log_factorial
from sprintprof.records import InputError

FARTHEST = 1e5
"""Cycles may differ by this factor: a pmf over more values helps nobody."""


@dataclass(frozen=True)
class SprintDistributions:
    """Mini-batch B (samples of one update) and staleness S (versions, least 1 where every window cycles)."""

    minibatch: Discrete
    staleness: Discrete


def distributions(groups: Sequence[Group], update: Jitter, sub_batch: int) -> SprintDistributions:
    """B and S of GPUs in groups (number, cycle) beside an update cycle; sub_batch in samples.

    Staleness is that of a gradient, so groups count by the gradients they push. E[S] = 1 + N/(T_u · Σ n_i/T_i), hence
    (E[S] − 1)·E[B] = N·b for mixed GPUs too.
    """
    for _, cycle in groups:
        if not 1 / FARTHEST <= update.mean_s / cycle.mean_s <= FARTHEST:
            what = f"{update.mean_s:g} s beside a GPU cycle of {cycle.mean_s:g} s is too far away"
            raise InputError("update cycle", what, f"cycles may differ by a factor of {FARTHEST:g}")
    minibatch = counts_over(update, groups, unit=sub_batch)
    rate = sum(number / cycle.mean_s for number, cycle in groups)
    shares = [number / cycle.mean_s / rate for number, cycle in groups]
    parts = [staleness(cycle, update) for _, cycle in groups]
    return SprintDistributions(minibatch, mixture(parts, shares))


def staleness(cycle: Jitter, update: Jitter) -> Discrete:
    """S of the gradients of one GPU: 1 + publications in one of its cycles; E[S] = 1 + T_g/T_u exactly."""
    published = counts_over(cycle, [(1, update)])
    return Discrete(published.first + 1, published.probabilities, published.mean + 1, published.std)


def mixture(parts: Sequence[Discrete], shares: Sequence[float]) -> Discrete:
    """One of `parts` with the probabilities `shares`; moments by the law of total variance."""
    if len(parts) == 1:
        return parts[0]
    first = min(p.first for p in parts)
    total = np.zeros(max(p.first + len(p.probabilities) for p in parts) - first)
    for part, share in zip(parts, shares, strict=True):
        total[part.first - first :][: len(part.probabilities)] += share * part.probabilities
    mean = sum(share * part.mean for part, share in zip(parts, shares, strict=True))
    square = sum(share * (part.std**2 + part.mean**2) for part, share in zip(parts, shares, strict=True))
    return Discrete.of(first, total, parts[0].unit).with_moments(mean, math.sqrt(max(square - mean**2, 0.0)))


def low_jitter(N: int, sub_batch: int, gpu_cycle_s: float, update_cycle_s: float) -> SprintDistributions:
    """The limit without jitter, phases uniform: B/b = N·⌊ρ⌋ + Binomial(N, f), S two values around 1 + 1/ρ."""
    rho = update_cycle_s / gpu_cycle_s
    whole, f = int(rho), rho - int(rho)
    k = np.arange(N + 1, dtype=np.float64)
    if f > 0:
        log_p = (
            log_factorial(k[-1:]) - log_factorial(k) - log_factorial(N - k) + k * math.log(f) + (N - k) * math.log1p(-f)
        )
        batch = Discrete.of(N * whole, np.exp(log_p), sub_batch)
    else:
        batch = Discrete.certain(N * whole, sub_batch)
    batch = batch.with_moments(N * rho * sub_batch, math.sqrt(N * f * (1 - f)) * sub_batch)
    ratio = 1 / rho
    g = ratio - int(ratio)
    versions = Discrete.of(int(ratio) + 1, np.array([1 - g, g]))
    return SprintDistributions(batch, versions.with_moments(1 + ratio, math.sqrt(g * (1 - g))))


def memory_cycles(gpu_cycle: Jitter) -> float:
    """GPU cycles after which phases have lost their memory, about 1/(20·cv²): one run needs many times that."""
    return math.inf if gpu_cycle.cv == 0 else 1 / (20 * gpu_cycle.cv**2)
