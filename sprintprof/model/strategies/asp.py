"""ASP: a parameter server applies each push and answers at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sprintprof.model.counting import Group, counts_over
from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.free import simulate_free
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.server import Bound
from sprintprof.model.sprint import mixture
from sprintprof.model.strategies.base import Outcome, cycle_delays_s, ideal_samples_per_s, shared_out
from sprintprof.model.strategies.server import at_most_samples_per_s, by_simulation, served, with_server


@dataclass(frozen=True)
class Asp:
    """Nobody waits but in the server's queue. B = b; S counts the pushes of the others in one cycle, from 0."""

    name: str = "asp"

    def predict(self, setting: Setting) -> Outcome:
        """Renewal counting without a server's time, simulation with it."""
        if served(setting):
            return by_simulation(self, setting)
        groups = setting.groups
        samples_per_s = sum(n / cycle.mean_s for n, cycle in groups) * setting.sub_batch
        ideal = ideal_samples_per_s(setting)
        return Outcome(
            samples_per_s,
            ideal,
            samples_per_s / setting.sub_batch,
            Discrete.certain(1, setting.sub_batch),
            others_pushes(groups),
            shared_out(samples_per_s / ideal, cycle_delays_s(setting)),
            "renewal counting",
            at_most_samples_per_s=at_most_samples_per_s(setting),
        )

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """Pushes in their order; with the server's queue where it takes time."""
        if served(setting):
            return with_server(setting, plan, Bound(math.inf))
        return simulate_free(setting, plan)


def others_pushes(groups: list[Group]) -> Discrete:
    """Pushes of all other workers in one cycle of a worker, over all gradients; E = N − 1 for equal workers."""
    rate = sum(n / cycle.mean_s for n, cycle in groups)
    parts = [
        counts_over(own, [(n - (i == j), cycle) for j, (n, cycle) in enumerate(groups)])
        for i, (_, own) in enumerate(groups)
    ]
    return mixture(parts, [n / cycle.mean_s / rate for n, cycle in groups])
