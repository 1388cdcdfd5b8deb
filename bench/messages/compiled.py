"""The loops of loops.c as a driver."""

from __future__ import annotations

import ctypes
from typing import Any

from sprintprof.bench.messages.driver import COLLECTIVES, Buffer
from sprintprof.bench.messages.native import Table
from sprintprof.bench.messages.sums import SumPlan


class CompiledDriver:
    """The loops of loops.c: one call from Python for all rounds."""

    name = "c-loop"
    note = ""

    def __init__(self, comm: Any, loops: ctypes.CDLL) -> None:
        from mpi4py import MPI

        self._loops = loops
        self._comm = comm  # keeps the handle alive
        self._handle = MPI._handleof(comm)

    def pingpong(self, send: Buffer, receive: Buffer, peer: int, *, first: bool, rounds: int) -> None:
        """See Driver."""
        self._check(
            self._loops.sp_pingpong(self._handle, _at(send), _at(receive), send.nbytes, peer, first, rounds)
        )  # fmt: skip

    def stream(
        self, send: Buffer, receive: Buffer, peer: int, *, sends: bool, receives: bool, window: int, rounds: int
    ) -> None:
        """See Driver."""
        self._check(
            self._loops.sp_stream(
                self._handle, _at(send), _at(receive), send.nbytes, peer, sends, receives, window, rounds
            )
        )

    def collective(self, what: str, send: Buffer, receive: Buffer, count: int, rounds: int) -> float:
        """See Driver."""
        elapsed = ctypes.c_double()
        number = COLLECTIVES.index(what)
        self._check(
            self._loops.sp_collective(
                self._handle, number, _at(send), _at(receive), count, send.itemsize, rounds, ctypes.byref(elapsed)
            )
        )
        return elapsed.value

    def sums(self, plan: SumPlan, send: Buffer, receive: Buffer, rounds: int) -> float:
        """See Driver."""
        elapsed = ctypes.c_double()
        both = zip(plan.steps, plan.bucket_counts(), strict=True)
        tables = (Table * 2)(*(Table(None if s is None else _at(s), 0 if s is None else len(s), n) for s, n in both))
        self._check(
            self._loops.sp_buckets(
                self._handle, _at(send), _at(receive), _at(plan.packed), _at(plan.summed), _at(plan.spare),
                send.itemsize, plan.tensor_count, plan.tensors, plan.fused, tables, rounds, ctypes.byref(elapsed),
            )
        )  # fmt: skip
        return elapsed.value

    def _check(self, code: int) -> None:
        if code:
            from mpi4py import MPI

            raise MPI.Exception(code)


def _at(buffer: Buffer) -> int:
    return int(buffer.ctypes.data)
