"""What is predicted or simulated: GPUs, cycles, data set. Every strategy starts from one of these."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.model.counting import Group
from sprintprof.model.jitter import Jitter
from sprintprof.records import InputError

IMAGENET = 1281167
"""Samples of ILSVRC-2012's training set: the data set where none is named."""

MOST_GPUS = 1_000_000


@dataclass(frozen=True)
class Setting:
    """N = nodes · gpus_per_node GPUs, each with sub_batch samples a cycle, over dataset_size samples.

    `gpu_cycle` is T_g without interference (s); `update_cycle` is T_u (s): of the update thread in SPRINT, the
    communication and update of one iteration in BSP, the service time of the server elsewhere. `interference` is κ
    and `busy` the share of time the update thread works on the same device or bus. `slow_gpus` are (number, factor):
    so many GPUs whose cycle is longer by the factor. `gpu_only_s` is the part of T_g that one GPU alone would need
    too (load and layers); what is beyond it is a loss by communication. None: all of it. `latency_s` is what a push
    to a parameter server and its answer take outside of the server's queue. `barrier_s` is what BSP pays between
    compute and the next iteration where that is not the update cycle.
    """

    nodes: int
    gpus_per_node: int
    sub_batch: int
    gpu_cycle: Jitter
    update_cycle: Jitter
    dataset_size: int = IMAGENET
    interference: float = 0.0
    busy: float = 1.0
    slow_gpus: tuple[tuple[int, float], ...] = ()
    gpu_only_s: float | None = None
    latency_s: float = 0.0
    barrier_s: float | None = None

    def __post_init__(self) -> None:
        check_count("--nodes", self.nodes)
        check_count("--gpus-per-node", self.gpus_per_node)
        check_count("--sub-batch", self.sub_batch)
        check_count("--dataset-size", self.dataset_size)
        if self.gpus > MOST_GPUS:
            raise InputError("--nodes", f"{self.gpus} GPUs are too many", f"give at most {MOST_GPUS}")
        check_share("--interference", self.interference, most=100.0)
        check_share("--busy", self.busy, most=1.0)
        if sum(n for n, _ in self.slow_gpus) > self.gpus:
            raise InputError("--slow-gpus", f"names more than the {self.gpus} GPUs there are", "name fewer")

    @property
    def gpus(self) -> int:
        """N, all GPUs."""
        return self.nodes * self.gpus_per_node

    @property
    def slowdown(self) -> float:
        """T_g'/T_g = 1 + κ · busy."""
        return 1 + self.interference * self.busy

    @property
    def groups(self) -> list[Group]:
        """GPUs by their cycle with interference: (number, T_g')."""
        base = self.gpu_cycle if self.slowdown == 1 else self.gpu_cycle.scaled(self.slowdown)
        rest = self.gpus - sum(n for n, _ in self.slow_gpus)
        slow = [(n, base.scaled(factor)) for n, factor in self.slow_gpus if n]
        return [(rest, base), *slow] if rest else slow


def check_count(option: str, value: int) -> None:
    """Raise InputError where `value` is not a whole number ≥ 1."""
    if value < 1:
        raise InputError(option, f"{value} is not possible", "give a whole number of at least 1")


def check_share(option: str, value: float, most: float) -> None:
    """Raise InputError where `value` is not in 0..most."""
    if not 0 <= value <= most:
        raise InputError(option, f"{value:g} is not possible", f"give a number from 0 to {most:g}")


def parse_slow_gpus(text: str) -> tuple[tuple[int, float], ...]:
    """`2:1.5,1:3` → two GPUs 1.5 times and one 3 times slower. Raises InputError on anything else."""
    found = []
    for part in filter(None, text.split(",")):
        number, _, factor = part.partition(":")
        try:
            pair = int(number), float(factor)
        except ValueError:
            pair = (0, 0.0)
        if pair[0] < 1 or not 0 < pair[1] < 1e6:
            raise InputError("--slow-gpus", f"'{part}' is not NUMBER:FACTOR", "write e.g. 2:1.5")
        found.append(pair)
    return tuple(found)
