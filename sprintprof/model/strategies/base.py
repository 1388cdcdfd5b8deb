"""What every strategy gives: throughput, distributions of mini-batch and staleness, losses by cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.run import Plan, Run

Method = Literal["closed form", "renewal counting", "simulation"]
CAUSES = ("skew", "exposed_communication", "server_queue", "update")
"""Why N GPUs are not N times as fast as one."""


@dataclass(frozen=True)
class Outcome:
    """A strategy's prediction.

    `samples_per_s` is the throughput of all GPUs; `ideal_samples_per_s` that of N single GPUs without communication.
    `losses` are shares of the ideal by cause and sum to 1 − efficiency. `updates_per_s` counts weight versions.
    `at_most_samples_per_s` is a bound in closed form, infinite where there is none.
    """

    samples_per_s: float
    ideal_samples_per_s: float
    updates_per_s: float
    minibatch: Discrete
    staleness: Discrete
    losses: dict[str, float]
    method: Method
    warnings: list[str] = field(default_factory=list)
    at_most_samples_per_s: float = float("inf")

    @property
    def efficiency(self) -> float:
        """Scaling efficiency: throughput over N times one GPU's."""
        return self.samples_per_s / self.ideal_samples_per_s


class Strategy(Protocol):
    """One way to train on N GPUs; its parameters are its fields."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    def predict(self, setting: Setting) -> Outcome:
        """Closed forms or renewal counting where they hold, else a simulation with a fixed seed."""
        ...

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """Event simulation."""
        ...


def ideal_samples_per_s(setting: Setting) -> float:
    """N single GPUs, each at its own speed and without communication, in samples/s."""
    only = _only_s(setting)
    rest = setting.gpus - sum(n for n, _ in setting.slow_gpus)
    rate = rest / only + sum(n / (only * factor) for n, factor in setting.slow_gpus)
    return rate * setting.sub_batch


def _only_s(setting: Setting) -> float:
    return setting.gpu_cycle.mean_s if setting.gpu_only_s is None else setting.gpu_only_s


def cycle_delays_s(setting: Setting) -> dict[str, float]:
    """What one cycle of a GPU is longer by than on one GPU alone, by cause, in s."""
    plain = setting.gpu_cycle.mean_s
    return {"exposed_communication": plain - _only_s(setting), "update": plain * (setting.slowdown - 1)}


def shared_out(efficiency: float, delays: dict[str, float]) -> dict[str, float]:
    """The loss 1 − efficiency shared out over causes in proportion to their delays (any one unit of time)."""
    total = sum(delays.values())
    loss = 1 - efficiency
    if total <= 0:
        return {cause: loss if cause == "skew" else 0.0 for cause in CAUSES}
    return {cause: loss * delays.get(cause, 0.0) / total for cause in CAUSES}


def outcome_of(run: Run, setting: Setting, warnings: list[str] | None = None) -> Outcome:
    """The outcome of a simulation; losses by the worker-seconds that were waited."""
    samples_per_s = run.gradients * setting.sub_batch / run.duration_s
    ideal = ideal_samples_per_s(setting)
    delays = {cause: s * run.gradients for cause, s in cycle_delays_s(setting).items()}
    for cause, waited_s in run.waits_s.items():
        delays[cause] = delays.get(cause, 0.0) + waited_s
    return Outcome(
        samples_per_s,
        ideal,
        run.updates / run.duration_s,
        run.minibatch,
        run.staleness,
        shared_out(samples_per_s / ideal, delays),
        "simulation",
        list(warnings or []),
    )


def own_plan(setting: Setting, gradients_per_update: int = 1) -> Plan:
    """The simulation behind a prediction: some thousand gradients, at least eight of each worker."""
    gradients = max(1500, 8 * setting.gpus)
    replicas = min(max(1 << 16, setting.gpus) // setting.gpus + 1, 16)
    return Plan(updates=max(gradients // gradients_per_update, 50), replicas=replicas, seed=1)
