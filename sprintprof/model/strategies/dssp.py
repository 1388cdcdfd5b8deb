"""DSSP: SSP whose bound the server moves between lower and upper (Zhao et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.model.setting import Setting
from sprintprof.model.simulate.dssp import Lending, Variant
from sprintprof.model.simulate.run import Plan, Run
from sprintprof.model.strategies.base import Outcome
from sprintprof.model.strategies.server import by_simulation, with_server
from sprintprof.records import InputError


@dataclass(frozen=True)
class Dssp:
    """`lower` and `upper` bound the lead; `variant` literal renews credits as printed, capped keeps to `upper`."""

    lower: int = 3
    upper: int = 15
    variant: Variant = "literal"
    name: str = "dssp"

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            what = f"{self.lower} and --upper {self.upper} are not possible"
            raise InputError("--lower", what, "give 0 ≤ lower ≤ upper")
        if self.variant not in ("literal", "capped"):
            raise InputError("--variant", f"there is no '{self.variant}'", "choose literal or capped")

    def predict(self, setting: Setting) -> Outcome:
        """By simulation: the server's decisions have no closed form."""
        return by_simulation(self, setting)

    def simulate(self, setting: Setting, plan: Plan) -> Run:
        """Every push and decision of the server."""
        return with_server(setting, plan, Lending(self.lower, self.upper, self.variant))
