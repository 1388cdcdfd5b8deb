"""SSP: a worker leads the slowest by at most s iterations, else it waits (Ho et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.model.setting import Setting
from sprintprof.model.simulate.rounds import simulate_rounds
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.simulate.server import Bound
from sprintprof.model.strategies.base import Outcome
from sprintprof.model.strategies.server import by_simulation, served, with_server
from sprintprof.records import InputError


@dataclass(frozen=True)
class Ssp:
    """`staleness_bound` is s: it bounds the lead in iterations. Staleness is then at most (N − 1)(2s + 1)."""

    staleness_bound: int = 3
    name: str = "ssp"

    def __post_init__(self) -> None:
        if self.staleness_bound < 0:
            raise InputError("--staleness-bound", f"{self.staleness_bound} is not possible", "give 0 or more")

    def predict(self, setting: Setting) -> Outcome:
        """By simulation: waiting couples all workers; BSP and ASP are its bounds."""
        return by_simulation(self, setting)

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """The recurrence over iterations; with the server's queue where it takes time."""
        if served(setting):
            return with_server(setting, plan, Bound(self.staleness_bound))
        return simulate_rounds(setting, plan, self.staleness_bound)
