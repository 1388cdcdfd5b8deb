"""What is asked of a simulation and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sprintprof.model.discrete import Discrete
from sprintprof.model.simulate.stragglers import Stragglers
from sprintprof.records import InputError


@dataclass(frozen=True)
class Plan:
    """How much is simulated: `updates` in each of `replicas` restarts with fresh phases, from `seed`.

    `stragglers` lengthen cycles that begin in their intervals. `keep_spans` keeps the first replica's cycles for a
    timeline.
    """

    updates: int = 200
    replicas: int = 64
    seed: int = 0
    stragglers: Stragglers | None = None
    keep_spans: bool = False

    def __post_init__(self) -> None:
        for option, value in (("--updates", self.updates), ("--replicas", self.replicas)):
            if value < 1:
                raise InputError(option, f"{value} is not possible", "give a whole number of at least 1")
        if self.seed < 0:
            raise InputError("--seed", f"{self.seed} is not possible", "give a whole number from 0 on")

    def rng(self) -> np.random.Generator:
        """The generator of this plan: the same draws each time."""
        return np.random.Generator(np.random.SFC64(self.seed))


MOST_EVENTS = 2e10
"""Events of one simulation: an array program does 1e7 to 1e8 in a second."""
MOST_STEPS = 1e7
"""Steps that all replicas take together, 100 µs each."""
MOST_NUMBERS = 1e8
"""Numbers held at once (0.8 GB)."""


def check_effort(what: str, number: float, most: float) -> None:
    """Raise InputError where a simulation would take days or more memory than there is."""
    if number > most:
        raise InputError("simulate", f"{number:.2g} {what} are too many", "take fewer --updates, --replicas or GPUs")


@dataclass(frozen=True)
class Spans:
    """Cycles of one replica: worker, begin and end (s), what was done; arrays of one shape (n,)."""

    worker: npt.NDArray[np.int64]
    begin_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    label: str = "cycle"


@dataclass(frozen=True)
class Run:
    """What was seen, over all replicas: `gradients` applied and `updates` made in `duration_s` of simulated time.

    `waits_s` are worker-seconds by cause (skew, exposed_communication, server_queue, update).
    """

    duration_s: float
    gradients: int
    updates: int
    minibatch: Discrete
    staleness: Discrete
    waits_s: dict[str, float] = field(default_factory=dict)
    spans: tuple[Spans, ...] = ()
