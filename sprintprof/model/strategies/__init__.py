"""Strategies of distributed SGD behind one small interface, one file each."""

from __future__ import annotations

from collections.abc import Callable

from sprintprof.model.strategies.asp import Asp
from sprintprof.model.strategies.base import Outcome, Strategy
from sprintprof.model.strategies.bsp import Bsp
from sprintprof.model.strategies.dssp import Dssp
from sprintprof.model.strategies.softsync import Softsync
from sprintprof.model.strategies.sprint import Sprint
from sprintprof.model.strategies.ssp import Ssp
from sprintprof.records import InputError

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "sprint": Sprint,
    "bsp": Bsp,
    "asp": Asp,
    "ssp": Ssp,
    "dssp": Dssp,
    "softsync": Softsync,
}
"""Every strategy by its name on the command line."""

PARAMETERS: dict[str, tuple[str, ...]] = {
    "sprint": (),
    "bsp": ("backup_workers", "hidden_fraction"),
    "asp": (),
    "ssp": ("staleness_bound",),
    "dssp": ("lower", "upper", "variant"),
    "softsync": ("groups",),
}
"""The fields that each one takes from the command line."""


def make_strategy(name: str, **given: object) -> Strategy:
    """The strategy of that name with its parameters; None means not given, others' parameters must be None.

    Raises InputError for an unknown name or a parameter that the strategy does not have.
    """
    if name not in STRATEGIES:
        raise InputError("--strategy", f"there is no '{name}'", f"choose {', '.join(STRATEGIES)}")
    chosen = {k: v for k, v in given.items() if v is not None}
    for parameter in chosen:
        if parameter not in PARAMETERS[name]:
            option = "--" + parameter.replace("_", "-")
            owners = [s for s, own in PARAMETERS.items() if parameter in own]
            raise InputError(option, f"means nothing to {name}", f"it belongs to {', '.join(owners)}")
    return STRATEGIES[name](**chosen)


__all__ = [
    "PARAMETERS",
    "STRATEGIES",
    "Asp",
    "Bsp",
    "Dssp",
    "Outcome",
    "Softsync",
    "Sprint",
    "Ssp",
    "Strategy",
    "make_strategy",
]
