"""What every strategy gives: throughput, distributions of mini-batch and staleness, losses by cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting

Method = Literal["closed form", "renewal counting", "simulation"]
CAUSES = ("skew", "exposed_communication", "server_queue", "update")
"""Why N GPUs are not N times as fast as one."""


@dataclass(frozen=True)
class Outcome:
    """A strategy's prediction.

    `samples_per_s` is the throughput of all GPUs; `ideal_samples_per_s` that of N single GPUs without communication.
    `losses` are shares of the ideal by cause and sum to 1 − efficiency. `updates_per_s` counts weight versions.
    """

    samples_per_s: float
    ideal_samples_per_s: float
    updates_per_s: float
    minibatch: Discrete
    staleness: Discrete
    losses: dict[str, float]
    method: Method
    warnings: list[str] = field(default_factory=list)

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


def ideal_samples_per_s(setting: Setting) -> float:
    """N single GPUs, each at its own speed and without communication, in samples/s."""
    only = setting.gpu_cycle.mean_s if setting.gpu_only_s is None else setting.gpu_only_s
    rest = setting.gpus - sum(n for n, _ in setting.slow_gpus)
    rate = rest / only + sum(n / (only * factor) for n, factor in setting.slow_gpus)
    return rate * setting.sub_batch


def shared_out(efficiency: float, delays: dict[str, float]) -> dict[str, float]:
    """The loss 1 − efficiency shared out over causes in proportion to their delays (any one unit of time)."""
    total = sum(delays.values())
    loss = 1 - efficiency
    share = {cause: loss * delays.get(cause, 0.0) / total if total > 0 else 0.0 for cause in CAUSES}
    if total <= 0:
        share["update"] = loss
    return share
