"""mpi4py calls as a driver, for where there is no compiler."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.messages.driver import Buffer
from sprintprof.bench.messages.limits import pieces
from sprintprof.bench.messages.sums import SumPlan

TAG = 71


class PythonDriver:
    """mpi4py calls. `name` says so: at 8 bytes they cost 1.1 to 4 times a C call."""

    name = "mpi4py"

    def __init__(self, comm: Any, note: str) -> None:
        from mpi4py import MPI

        self._comm = comm
        self._mpi = MPI
        self.note = note

    def pingpong(self, send: Buffer, receive: Buffer, peer: int, *, first: bool, rounds: int) -> None:
        """See Driver. Persistent requests: half the cost of buffer calls."""
        outgoing = [self._comm.Send_init(part, peer, TAG) for part in _split(send)]
        incoming = [self._comm.Recv_init(part, peer, TAG) for part in _split(receive)]
        begin, end = (outgoing, incoming) if first else (incoming, outgoing)
        if len(begin) == 1:
            start1, wait1, start2, wait2 = begin[0].Start, begin[0].Wait, end[0].Start, end[0].Wait
            for _ in range(rounds):
                start1()
                wait1()
                start2()
                wait2()
        else:
            for _ in range(rounds):
                for request in (*begin, *end):
                    request.Start()
                    request.Wait()
        for request in (*outgoing, *incoming):
            request.Free()

    def stream(
        self, send: Buffer, receive: Buffer, peer: int, *, sends: bool, receives: bool, window: int, rounds: int
    ) -> None:
        """See Driver. Persistent requests."""
        comm, prequest = self._comm, self._mpi.Prequest
        requests = [comm.Recv_init(receive, peer, TAG) for _ in range(window if receives else 0)]
        requests += [comm.Send_init(send, peer, TAG) for _ in range(window if sends else 0)]
        for _ in range(rounds):
            prequest.Startall(requests)
            self._mpi.Request.Waitall(requests)
            if sends and not receives:
                comm.Recv([None, 0, self._mpi.BYTE], peer, TAG + 1)
            elif receives and not sends:
                comm.Send([None, 0, self._mpi.BYTE], peer, TAG + 1)
        for request in requests:
            request.Free()

    def collective(self, what: str, send: Buffer, receive: Buffer, count: int, rounds: int) -> float:
        """See Driver."""
        operation = self._operation(what, send, receive, count)
        barrier, clock, elapsed = self._comm.Barrier, time.perf_counter, 0.0
        for i in range(rounds):
            if i and what != "barrier":
                barrier()
            begin = clock()
            operation()
            elapsed += clock() - begin
        return elapsed

    def _operation(self, what: str, send: Buffer, receive: Buffer, count: int) -> Callable[[], object]:
        """One call without arguments that does it."""
        comm, root = self._comm, self._comm.rank == 0
        one = send[:count]
        into = receive[:count]
        if what == "all_to_one":
            return (lambda: self._collect(receive, count)) if root else (lambda: comm.Send(one, 0, TAG))
        if what == "one_to_all":
            return (lambda: self._spread(one)) if root else (lambda: comm.Recv(into, 0, TAG))
        operations: dict[str, Callable[[], object]] = {
            "broadcast": lambda: comm.Bcast(one if root else into, 0),
            "reduce": lambda: comm.Reduce(one, into if root else None, self._mpi.SUM, 0),
            "gather": lambda: comm.Gather(one, receive if root else None, 0),
            "scatter": lambda: comm.Scatter(send if root else None, into, 0),
            "allgather": lambda: comm.Allgather(one, receive),
            "reduce_scatter": lambda: comm.Reduce_scatter_block(send, into, self._mpi.SUM),
            "allreduce": lambda: comm.Allreduce(one, into, self._mpi.SUM),
            "barrier": comm.Barrier,
        }
        return operations[what]

    def _collect(self, receive: Buffer, count: int) -> None:
        others = range(1, self._comm.size)
        slots = (receive[(peer - 1) * count : peer * count] for peer in others)
        requests = [self._comm.Irecv(slot, peer, TAG) for peer, slot in zip(others, slots, strict=True)]
        self._mpi.Request.Waitall(requests)

    def _spread(self, send: Buffer) -> None:
        self._mpi.Request.Waitall([self._comm.Isend(send, peer, TAG) for peer in range(1, self._comm.size)])

    def sums(self, plan: SumPlan, send: Buffer, receive: Buffer, rounds: int) -> float:
        """See Driver."""
        clock, elapsed, one = time.perf_counter, 0.0, plan.tensor_count
        buckets = [(first * one, here * one, _rows(steps)) for first, here, steps in plan.buckets()]
        for i in range(rounds):
            if i:
                self._comm.Barrier()
            begin = clock()
            for at, count, rows in buckets:
                source, target = send[at : at + count], receive[at : at + count]
                if plan.fused == 1:
                    self._sum(source, target, plan.spare, rows)
                    continue
                packed, summed = plan.packed[:count], plan.summed[:count]
                packed[:] = source
                self._sum(packed, summed, plan.spare, rows)
                target[:] = summed
            elapsed += clock() - begin
        return elapsed

    def _sum(self, source: Buffer, work: Buffer, spare: Buffer, rows: list[tuple[int, ...]] | None) -> None:
        comm, null = self._comm, self._mpi.PROC_NULL
        if rows is None:
            comm.Allreduce(source, work, self._mpi.SUM)
            return
        work[:] = source
        for to, at, count, peer, into_at, into_count, adds in rows:
            target = work[into_at : into_at + into_count]
            into = spare[:into_count] if adds else target
            comm.Sendrecv(
                work[at : at + count], null if to < 0 else to, TAG, into, null if peer < 0 else peer, TAG
            )  # fmt: skip
            if adds:
                np.add(target, into, out=target)


def _rows(steps: npt.NDArray[np.int64] | None) -> list[tuple[int, ...]] | None:
    return None if steps is None else [tuple(int(v) for v in row) for row in steps]


def _split(buffer: Buffer) -> list[Buffer]:
    """The buffer in pieces that MPI can carry."""
    flat = buffer.view(np.uint8)
    ends = np.cumsum([0, *pieces(buffer.nbytes)])
    return [flat[a:b] for a, b in itertools.pairwise(ends)]
