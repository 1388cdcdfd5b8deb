"""How uncertain a prediction is: the coefficients' 90 % intervals carried through, by draws."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sprintprof.model.cycle import Cycles, Term
from sprintprof.model.setting import Setting
from sprintprof.model.special import Floats

DRAWS = 4000
NORMAL_90 = 1.6449


@dataclass(frozen=True)
class Interval:
    """A value with its 90 % interval."""

    low: float
    high: float


def term_factors(term: Term, rng: np.random.Generator, draws: int) -> Floats:
    """Factors of a term's mean: log-normal on either side so that 90 % lie in low_s..high_s; ones where unknown."""
    if not (term.time_s > 0 and np.isfinite(term.low_s) and np.isfinite(term.high_s)):
        return np.ones(draws)
    down = np.log(term.time_s / max(min(term.low_s, term.time_s), 1e-3 * term.time_s)) / NORMAL_90
    up = np.log(max(term.high_s, term.time_s) / term.time_s) / NORMAL_90
    z = rng.standard_normal(draws)
    return np.asarray(np.exp(np.where(z < 0, down, up) * z), np.float64)


def cycle_draws(found: Cycles, draws: int = DRAWS, seed: int = 0) -> tuple[Floats, Floats]:
    """Draws of T_g and T_u in s, each of shape (draws,).

    Terms err independently of each other, but a term errs alike in all configurations: its draws go by its name.
    """
    gpu, update = (
        sum((_term_draws(t, draws, seed) for t in side), np.zeros(draws)) for side in (found.gpu, found.update)
    )
    return gpu, update


def _term_draws(term: Term, draws: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, zlib.crc32(term.name.encode())])
    return term.time_s * term_factors(term, rng, draws)


def ninety(values: Floats) -> Interval:
    """The middle 90 % of draws."""
    low, high = np.quantile(values, [0.05, 0.95])
    return Interval(float(low), float(high))


def sprint_intervals(setting: Setting, found: Cycles) -> dict[str, Interval]:
    """Intervals of cycles, epoch time, throughput, E[B] and E[S] under equations (3), (4) and (6), by key."""
    gpu, update = cycle_draws(found)
    slow = sum(n / factor for n, factor in setting.slow_gpus) + setting.gpus - sum(n for n, _ in setting.slow_gpus)
    rate = slow * setting.sub_batch / gpu
    return {
        "gpu_cycle_s": ninety(gpu),
        "update_cycle_s": ninety(update),
        "epoch_time_s": ninety(setting.dataset_size / rate),
        "throughput_samples_per_s": ninety(rate),
        "minibatch": ninety(rate * update),
        "staleness": ninety(1 + setting.gpus * setting.sub_batch / (rate * update)),
    }


def scaled_intervals(found: Cycles, value: float, share_of_gpu: float) -> Interval:
    """Interval of a time that is a mix of both cycles: `share_of_gpu` of it goes with T_g, the rest with T_u."""
    gpu, update = cycle_draws(found)
    mix = share_of_gpu * gpu / found.gpu_cycle_s
    if found.update_cycle_s > 0:
        mix = mix + (1 - share_of_gpu) * update / found.update_cycle_s
    relative = ninety(np.asarray(mix, np.float64))
    return Interval(value * relative.low, value * relative.high)
