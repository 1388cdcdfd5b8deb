"""BSP: synchronous all-reduce, or a parameter server that waits for all; optionally with back-up workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sprintprof.model.discrete import Discrete
from sprintprof.model.orderstats import kth_mean_s
from sprintprof.model.setting import Setting, check_share
from sprintprof.model.simulate.rounds import simulate_barrier
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.strategies.base import Outcome, cycle_delays_s, ideal_samples_per_s, shared_out
from sprintprof.records import InputError


@dataclass(frozen=True)
class Bsp:
    """T_iter = E[K-th of N cycles] + the part of the update cycle that backward compute does not hide.

    `backup_workers` is N − K; `hidden_fraction` the share of the update cycle hidden behind compute. B = K·b, S = 0.
    """

    backup_workers: int = 0
    hidden_fraction: float = 0.0
    name: str = "bsp"

    def __post_init__(self) -> None:
        check_share("--hidden-fraction", self.hidden_fraction, most=1.0)
        if self.backup_workers < 0:
            raise InputError("--backup-workers", f"{self.backup_workers} is not possible", "give 0 or more")

    def _waited_for(self, setting: Setting) -> int:
        if self.backup_workers >= setting.gpus:
            what = f"{self.backup_workers} of {setting.gpus} GPUs leaves nobody to wait for"
            raise InputError("--backup-workers", what, "give fewer")
        return setting.gpus - self.backup_workers

    def _exchange_s(self, setting: Setting) -> float:
        """Mean time between the end of compute and the next iteration, in s."""
        whole = setting.update_cycle.mean_s if setting.barrier_s is None else setting.barrier_s
        return whole * (1 - self.hidden_fraction)

    def predict(self, setting: Setting) -> Outcome:
        """Closed form: order statistics of the measured cycle, by the integral."""
        k = self._waited_for(setting)
        slowest_s = kth_mean_s(setting.groups, k)
        exchange_s = self._exchange_s(setting)
        iteration_s = slowest_s + exchange_s
        samples_per_s = k * setting.sub_batch / iteration_s
        ideal = ideal_samples_per_s(setting)
        mean_s = sum(n * cycle.mean_s for n, cycle in setting.groups) / setting.gpus
        # gradients thrown away are a loss by skew too: that is what back-up workers are for
        skew_s = max(slowest_s - mean_s, 0.0) + iteration_s * self.backup_workers / setting.gpus
        delays = cycle_delays_s(setting)
        delays["skew"] = skew_s
        delays["exposed_communication"] += exchange_s
        return Outcome(
            samples_per_s,
            ideal,
            1 / iteration_s,
            Discrete.certain(k, setting.sub_batch),
            Discrete.certain(0),
            shared_out(samples_per_s / ideal, delays),
            "closed form",
        )

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """Iterations, each with its own slowest worker."""
        shape = (plan.replicas, plan.updates)
        if setting.barrier_s is None and setting.update_cycle.mean_s > 0:
            after = setting.update_cycle.sample(np.random.default_rng(plan.seed + 1), shape)
        else:
            after = np.full(shape, setting.barrier_s or 0.0)
        return simulate_barrier(setting, plan, self._waited_for(setting), after * (1 - self.hidden_fraction))
