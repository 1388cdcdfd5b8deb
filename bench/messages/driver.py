"""What issues MPI calls: one interface, two implementations that send the same messages."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from sprintprof.bench.messages.sums import SumPlan

Buffer = npt.NDArray[Any]

COLLECTIVES = (
    "all_to_one", "one_to_all", "broadcast", "reduce", "gather", "scatter", "allgather", "reduce_scatter", "allreduce",
    "barrier",
)  # fmt: skip
"""Order of the enum in loops.c. The root is rank 0."""


class Driver(Protocol):
    """Blocking message loops over one communicator. `name` goes into the record, with `note`: why not the other one."""

    name: str
    note: str

    def pingpong(self, send: Buffer, receive: Buffer, peer: int, *, first: bool, rounds: int) -> None:
        """`rounds` round trips with rank `peer`."""
        ...

    def stream(
        self, send: Buffer, receive: Buffer, peer: int, *, sends: bool, receives: bool, window: int, rounds: int
    ) -> None:
        """`rounds` windows of non-blocking messages; with one direction, an empty message back ends each window."""
        ...

    def collective(self, what: str, send: Buffer, receive: Buffer, count: int, rounds: int) -> float:
        """`rounds` operations, a barrier before each but the first; seconds in the operations on this rank.

        `count` elements of the buffers' type are what the MPI call is given: per rank for gather and the like.
        """
        ...

    def sums(self, plan: SumPlan, send: Buffer, receive: Buffer, rounds: int) -> float:
        """`rounds` times the all-reduces of the plan, a barrier before each but the first; seconds on this rank."""
        ...
