"""Environment records of many ranks reach rank 0 one at a time, equal ones once."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sprintprof.store import gather_environments
from sprintprof.store.gather import CHUNK_BYTES

MPIEXEC = Path(sys.executable).parent / "mpiexec"


class World:
    """Communicators whose ranks are threads; it counts what rank 0 has been sent and not yet taken."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.boxes: dict[tuple[int, int], queue.Queue] = {
            (a, b): queue.Queue() for a in range(size) for b in range(size)
        }
        self.largest = 0
        self.waiting = 0
        self.most_waiting = 0
        self.lock = threading.Lock()

    def run(self, records: list[dict[str, Any]]) -> list[Any]:
        outcomes: list[Any] = [None] * self.size

        def work(rank: int) -> None:
            outcomes[rank] = gather_environments(Rank(self, rank), records[rank])

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        return outcomes


class Rank:
    """What gather_environments uses of mpi4py's Comm."""

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank = world, rank

    def Get_rank(self) -> int:  # noqa: N802
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        return self.world.size

    def send(self, value: Any, dest: int, tag: int = 0) -> None:
        if dest == 0 and isinstance(value, bytes):
            with self.world.lock:
                self.world.largest = max(self.world.largest, len(value))
                self.world.waiting += len(value)
                self.world.most_waiting = max(self.world.most_waiting, self.world.waiting)
        self.world.boxes[self.rank, dest].put(value)

    def recv(self, source: int, tag: int = 0) -> Any:
        value = self.world.boxes[source, self.rank].get(timeout=60)
        if self.rank == 0 and isinstance(value, bytes):
            with self.world.lock:
                self.world.waiting -= len(value)
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        if self.rank:
            self.send(value, 0)
            return None
        return [value, *(self.recv(source) for source in range(1, self.world.size))]

    def scatter(self, values: list[Any] | None, root: int = 0) -> Any:
        if self.rank or values is None:
            return self.recv(0)
        for rank, value in enumerate(values[1:], 1):
            self.send(value, rank)
        return values[0]


def test_shared_environments_come_once() -> None:
    records = [{"host": f"n{rank // 16}", "cpu": "x" * 5000} for rank in range(64)]
    world = World(64)
    outcomes = world.run(records)
    assert outcomes[0] == ([records[0], records[16], records[32], records[48]], [rank // 16 for rank in range(64)])
    assert outcomes[1:] == [([], [])] * 63
    assert world.largest < 6000


def test_large_records_come_in_pieces_one_at_a_time() -> None:
    """Every rank has another record of 3.5 MiB: at no time is more than one piece on its way to rank 0."""
    records = [{"rank": rank, "modules": f"{rank:02}" * (7 * CHUNK_BYTES // 4)} for rank in range(8)]
    world = World(8)
    environments, places = world.run(records)[0]
    assert environments == records
    assert places == list(range(8))
    assert world.largest <= CHUNK_BYTES
    assert world.most_waiting <= CHUNK_BYTES


def test_names_that_begin_alike_stay_two_nodes() -> None:
    records = [{"host": "w.1.example.net"}, {"host": "w.2.example.net"}]
    assert World(2).run(records)[0] == (records, [0, 1])


def test_one_rank_alone() -> None:
    record = {"nan": float("inf"), "text": "é\udc80\x00", "deep": [{"a": None}]}
    assert World(1).run([record]) == [([record], [0])]


SCRIPT = """
import sys
from mpi4py import MPI
from sprintprof.store.gather import gather_environments
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
record = {"node": rank // 8, "text": "x" * 3_000_000 if rank % 8 == 0 else "", "parity": rank % 8 == 0}
environments, places = gather_environments(comm, record)
if rank == 0:
    assert len(environments) == 2 * (size // 8), len(environments)
    assert [environments[p]["node"] for p in places] == [r // 8 for r in range(size)]
    assert [len(environments[p]["text"]) for p in places] == [3_000_000 * (r % 8 == 0) for r in range(size)]
    print("gathered", size)
else:
    assert (environments, places) == ([], [])
"""


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [8, pytest.param(64, marks=pytest.mark.slow)])
def test_with_real_ranks(ranks: int) -> None:
    pytest.importorskip("mpi4py")
    if not MPIEXEC.exists():
        pytest.skip("no mpiexec beside this Python")
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMP_NUM_THREADS": "1"}
    command = [MPIEXEC, "-n", str(ranks), sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"gathered {ranks}" in done.stdout
