"""n-softsync: the server updates after ⌊λ/n⌋ gradients of λ learners (Zhang et al. 2015)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.free import simulate_free
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.server import Bound
from sprintprof.model.strategies.asp import others_pushes
from sprintprof.model.strategies.base import Outcome, cycle_delays_s, ideal_samples_per_s, shared_out
from sprintprof.model.strategies.server import at_most_samples_per_s, by_simulation, served, with_server
from sprintprof.records import InputError


@dataclass(frozen=True)
class Softsync:
    """`groups` is n. B = ⌊λ/n⌋·b, mean staleness about n."""

    groups: int = 1
    name: str = "softsync"

    def _gradients(self, setting: Setting) -> int:
        if not 1 <= self.groups <= setting.gpus:
            what = f"{self.groups} groups of {setting.gpus} GPUs are not possible"
            raise InputError("--groups", what, "give 1 up to the number of GPUs")
        return setting.gpus // self.groups

    def predict(self, setting: Setting) -> Outcome:
        """Renewal counting without a server's time, simulation with it."""
        c = self._gradients(setting)
        if served(setting):
            return by_simulation(self, setting, c)
        samples_per_s = sum(n / cycle.mean_s for n, cycle in setting.groups) * setting.sub_batch
        ideal = ideal_samples_per_s(setting)
        return Outcome(
            samples_per_s,
            ideal,
            samples_per_s / setting.sub_batch / c,
            Discrete.certain(c, setting.sub_batch),
            versions(others_pushes(setting.groups), c),
            shared_out(samples_per_s / ideal, cycle_delays_s(setting)),
            "renewal counting",
            at_most_samples_per_s=at_most_samples_per_s(setting),
        )

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """Pushes in their order, every ⌊λ/n⌋-th makes a version."""
        c = self._gradients(setting)
        if served(setting):
            return with_server(setting, plan, Bound(math.inf), c)
        return simulate_free(setting, plan, c)


def versions(pushes: Discrete, gradients: int) -> Discrete:
    """Versions made of `gradients` pushes each between a pull and the own push: ⌊(j + M)/c⌋, j uniform in 0..c−1."""
    values = pushes.first + np.arange(len(pushes.probabilities))
    weights = np.zeros(int(values[-1] + gradients) // gradients + 1)
    for j in range(gradients):
        np.add.at(weights, (values + j) // gradients, pushes.probabilities / gradients)
    found = Discrete.of(0, weights)
    return found.with_moments(pushes.mean / gradients, found.std)
