"""Which ranks of a communicator share a node."""

from __future__ import annotations

from typing import Any

from sprintprof.bench.world.placement import node_numbers
from sprintprof.bench.world.world import boot_id


def nodes_of(comm: Any) -> tuple[int, ...]:
    """Node of each rank of `comm`, by shared memory and kernel. Collective."""
    from mpi4py import MPI

    shared = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
    leader = shared.bcast(comm.rank, root=0)
    shared.Free()
    return node_numbers(comm.allgather((leader, boot_id())))
