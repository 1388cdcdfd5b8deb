"""SPRINT as a strategy: no GPU ever waits for the update thread."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.model.setting import Setting
from sprintprof.model.sprint import distributions, memory_cycles
from sprintprof.model.strategies.base import Outcome, ideal_samples_per_s, shared_out


@dataclass(frozen=True)
class Sprint:
    """Asynchronous data-parallel SGD with an all-reduce among update threads."""

    name: str = "sprint"

    def predict(self, setting: Setting) -> Outcome:
        """Equations (3) to (6) with renewal counting; exact for independent cycles in an ensemble of runs."""
        found = distributions(setting.groups, setting.update_cycle, setting.sub_batch)
        samples_per_s = setting.sub_batch * sum(n / cycle.mean_s for n, cycle in setting.groups)
        ideal = ideal_samples_per_s(setting)
        plain = setting.gpu_cycle.mean_s
        only = plain if setting.gpu_only_s is None else setting.gpu_only_s
        delays = {"exposed_communication": plain - only, "update": plain * (setting.slowdown - 1)}
        return Outcome(
            samples_per_s,
            ideal,
            1 / setting.update_cycle.mean_s,
            found.minibatch,
            found.staleness,
            shared_out(samples_per_s / ideal, delays),
            "renewal counting",
            spread_warnings(setting, samples_per_s),
        )


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
