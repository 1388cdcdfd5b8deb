"""What the strategies with a parameter server share: bounds, and who may go on."""

from __future__ import annotations

import math
from dataclasses import replace

from sprintprof.model.setting import Setting
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.server import Rule, simulate_server
from sprintprof.model.strategies.base import Outcome, Strategy, outcome_of, own_plan


def served(setting: Setting) -> bool:
    """Whether the server takes any time."""
    return setting.update_cycle.mean_s > 0 or setting.latency_s > 0


def with_server(setting: Setting, plan: Plan, rule: Rule, gradients_per_update: int = 1) -> Run:
    """Simulate pushes to the server of `setting` under a waiting rule."""
    return simulate_server(setting, plan, rule, setting.update_cycle, setting.latency_s, gradients_per_update)


def at_most_samples_per_s(setting: Setting) -> float:
    """min(N/cycle, 1/service) · b: nobody waits for others and the server never rests."""
    service = setting.update_cycle.mean_s
    free = sum(n / (cycle.mean_s + service + setting.latency_s) for n, cycle in setting.groups)
    return setting.sub_batch * min(free, 1 / service if service > 0 else math.inf)


def by_simulation(strategy: Strategy, setting: Setting, gradients_per_update: int = 1) -> Outcome:
    """A prediction by the strategy's own simulation, beside the bound of the server."""
    outcome = outcome_of(strategy.simulate(setting, own_plan(setting, gradients_per_update)), setting)
    return replace(outcome, at_most_samples_per_s=at_most_samples_per_s(setting))
