"""What is searched: ranges of nodes, GPUs per node and sub-batch, strategies."""

from __future__ import annotations

from dataclasses import dataclass

from sprintprof.model.strategies import Strategy, make_strategy
from sprintprof.records import InputError

LARGEST = 2_000_000
"""Configurations in one search: more is a slip of the pen."""


@dataclass(frozen=True)
class Space:
    """All combinations of these are looked at."""

    nodes: tuple[int, ...]
    gpus_per_node: tuple[int, ...]
    sub_batch: tuple[int, ...]
    strategies: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        if self.size > LARGEST:
            what = f"{self.size} configurations are more than {LARGEST}"
            raise InputError("search", what, "narrow --nodes, --gpus-per-node or --sub-batch")

    @property
    def size(self) -> int:
        """Number of configurations."""
        return len(self.nodes) * len(self.gpus_per_node) * len(self.sub_batch) * len(self.strategies)


def parse_range(option: str, text: str) -> tuple[int, ...]:
    """`1,2,4`, `1..16`, `8..128:8` (step 8) or `1..64:x2` (doubling) → increasing numbers ≥ 1. Raises InputError."""
    found: set[int] = set()
    for part in text.split(","):
        found |= set(_part(option, part.strip()))
    return tuple(sorted(found))


def _part(option: str, text: str) -> range | list[int]:
    ends, _, step = text.partition(":")
    first, dots, last = ends.partition("..")
    try:
        low, high = int(first), int(last if dots else first)
        factor = int(step[1:]) if step.startswith("x") else 0
        stride = int(step or 1) if not factor else 1
    except ValueError:
        low, high, factor, stride = 0, 0, 0, 1
    bad = low < 1 or high < low or stride < 1 or (step.startswith("x") and factor < 2) or high > LARGEST
    if bad or (step and not dots):
        raise InputError(option, f"'{text}' is no range", "write e.g. 1,2,4 or 1..16 or 8..128:8 or 1..64:x2")
    if not factor:
        return range(low, high + 1, stride)
    values = [low]
    while values[-1] * factor <= high:
        values.append(values[-1] * factor)
    return values


def parse_strategies(text: str) -> tuple[Strategy, ...]:
    """`sprint,bsp,ssp:3,dssp:3:15,softsync:4` → strategies with their main parameters. Raises InputError."""
    fields = {
        "ssp": ("staleness_bound",),
        "dssp": ("lower", "upper"),
        "softsync": ("groups",),
        "bsp": ("backup_workers",),
    }
    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, *values = part.split(":")
        names = fields.get(name, ())
        if len(values) > len(names) or not all(v.isdigit() for v in values):
            raise InputError(
                "--strategy", f"'{part}' is no strategy", "write e.g. sprint,bsp,ssp:3,dssp:3:15,softsync:4"
            )
        found.append(make_strategy(name, **{k: int(v) for k, v in zip(names, values, strict=False)}))
    if not found:
        raise InputError("--strategy", "names none", "write e.g. sprint,bsp")
    return tuple(found)
