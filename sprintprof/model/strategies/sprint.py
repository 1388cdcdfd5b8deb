"""SPRINT as a strategy: no GPU ever waits for the update thread."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.model.setting import Setting
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.sprint import simulate_sprint
from sprintprof.model.sprint import distributions, memory_cycles
from sprintprof.model.strategies.base import Outcome, cycle_delays_s, ideal_samples_per_s, shared_out


@dataclass(frozen=True)
class Sprint:
    """Asynchronous data-parallel SGD with an all-reduce among update threads."""

    name: str = "sprint"

    def predict(self, setting: Setting) -> Outcome:
        """Equations (3) to (6) with renewal counting; exact for independent cycles in an ensemble of runs."""
        found = distributions(setting.groups, setting.update_cycle, setting.sub_batch)
        samples_per_s = setting.sub_batch * sum(n / cycle.mean_s for n, cycle in setting.groups)
        ideal = ideal_samples_per_s(setting)
        return Outcome(
            samples_per_s,
            ideal,
            1 / setting.update_cycle.mean_s,
            found.minibatch,
            found.staleness,
            shared_out(samples_per_s / ideal, cycle_delays_s(setting)),
            "renewal counting",
            spread_warnings(setting, samples_per_s),
        )

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """Every gradient an event; phases stationary."""
        return simulate_sprint(setting, plan)


def spread_warnings(setting: Setting, samples_per_s: float) -> list[str]:
    """A warning where one run is too short for its phases to mix: its own spread is then random."""
    cv = setting.gpu_cycle.cv
    cycles = setting.dataset_size / samples_per_s / setting.gpu_cycle.mean_s
    memory = memory_cycles(setting.gpu_cycle)
    if setting.gpus == 1 or memory * 20 <= cycles:
        return []
    text = (
        f"cv of the GPU cycle is {cv:.2g}: phases of one run mix only over about {memory:.3g} GPU cycles, "
        "so the spread of the mini-batch in one epoch is itself random; this is the ensemble of many runs"
    )
    return [text]
