"""What every message benchmark does before it measures: check sizes and memory on all ranks, choose the driver."""

from __future__ import annotations

from typing import Any

from sprintprof.bench.case import Case, Skip
from sprintprof.bench.messages.choose import choose_driver
from sprintprof.bench.messages.driver import Driver
from sprintprof.bench.messages.limits import over_memory, too_large
from sprintprof.bench.messages.nodes import nodes_of
from sprintprof.bench.registry import Axis
from sprintprof.bench.world.placement import PLACEMENTS
from sprintprof.bench.world.world import boot_id
from sprintprof.records import Value

PLACEMENT = Axis("placement", str, "packed", f"which ranks take part: {', '.join(PLACEMENTS)} (one per node)")
PRECISION = Axis("precision", str, "fp32", "type of the elements: fp32 or fp64")
COLUMNS: dict[str, type] = {"driver": str, "driver_note": str, "rounds": int, "nodes": int}
"""Who issued the calls (c-loop, mpi4py) and why not the compiled loops, rounds per call, nodes the ranks were on."""


def prepare(case: Case, benchmark: str, size_bytes: int, buffer_bytes: int) -> Driver:
    """Agree on all ranks that the point can be measured, and return the driver. Collective.

    `size_bytes` is checked against MPI's limits, `buffer_bytes` (of this rank) against the node's memory. Raises Skip
    on all ranks alike.
    """
    comm = case.comm
    if comm is None:
        raise Skip("no MPI world")
    cards = comm.allgather((too_large(benchmark, comm.size, size_bytes), buffer_bytes, boot_id(), available_bytes()))
    reason = next((card[0] for card in cards if card[0]), "")
    reason = reason or over_memory([c[1] for c in cards], [c[2] for c in cards], [c[3] for c in cards])
    if reason:
        raise Skip(reason)
    return choose_driver(comm)


def columns(comm: Any, driver: Driver, rounds: int) -> dict[str, Value]:
    """Values of COLUMNS. Collective."""
    return {"driver": driver.name, "driver_note": driver.note, "rounds": rounds, "nodes": len(set(nodes_of(comm)))}


def available_bytes() -> int | None:
    """Memory this node can still give, from the kernel; None where it does not say."""
    try:
        with open("/proc/meminfo") as file:
            line = next(line for line in file if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        return None


def path(extra: dict[str, Value]) -> str:
    """What a message between two ranks moves through: the network where they are on several nodes, else nothing that a
    machine file names."""
    return "network" if int(extra["nodes"]) > 1 else "none"
