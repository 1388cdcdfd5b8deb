"""The world of a run: which ranks there are, on which nodes, bound how; serial where no ranks were asked for."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sprintprof.bench.world.detect import Launcher, detect
from sprintprof.bench.world.doorbell import Doorbell
from sprintprof.bench.world.exitfile import announce_ranks, hand_over
from sprintprof.bench.world.giveway import GiveWay
from sprintprof.bench.world.placement import binding_warnings, choose_members, is_crowded, node_numbers
from sprintprof.bench.world.processes import die_with_parent
from sprintprof.bench.world.refuse import ask_version, check_world
from sprintprof.records import InputError

MPI_EXTRA = "pip install 'sprintprof[mpi]' (mpi4py with an MPI wheel)"


@dataclass(frozen=True)
class World:
    """The ranks of this run.

    `comm` (mpi4py, all ranks) and `control` (a duplicate for wake-up messages) are None in a serial world. `nodes`,
    `host_names` and `affinity` have one entry per rank; `host_names` are for the eye only. `launch` is the tag of the
    parent that started the ranks, "" where a foreign launcher did.
    """

    rank: int = 0
    size: int = 1
    comm: Any = None
    control: Any = None
    library: str = ""
    mpi_version: str = ""
    thread_level: str = ""
    launcher: str = ""
    launch: str = ""
    nodes: tuple[int, ...] = (0,)
    host_names: tuple[str, ...] = ("",)
    affinity: tuple[tuple[int, ...], ...] = ((),)
    warnings: tuple[str, ...] = ()
    bell: Doorbell | None = None
    give_way: GiveWay | None = None
    _comms: dict[tuple[int, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def parallel(self) -> bool:
        """Whether there is an MPI world."""
        return self.comm is not None

    @property
    def node_count(self) -> int:
        """Nodes that the ranks are on."""
        return len(set(self.nodes))

    def members(self, ranks: int, placement: str = "packed") -> tuple[int, ...]:
        """World ranks of a point with that many ranks. Raises ValueError with the reason where it cannot be placed."""
        return choose_members(self.nodes, ranks, placement)

    def subcomm(self, ranks: int, placement: str = "packed") -> Any:
        """Communicator of those ranks, made once and kept; None on ranks that are not in it. Called by its members.

        From here on they give way while they wait if they outnumber their CPUs (MPICH, see `giveway`), else they spin.
        Rank 0 of it is the lowest world rank. Raises ValueError as `members` does.
        """
        chosen = self.members(ranks, placement)
        if self.comm is None or self.rank not in chosen:
            return None
        if self.give_way is not None:
            self.give_way.set(is_crowded(chosen, self.nodes, self.affinity))
        if chosen not in self._comms:
            group = self.comm.Get_group()
            part = group.Incl(list(chosen))
            self._comms[chosen] = self.comm.Create_group(part)
            part.Free()
            group.Free()
        return self._comms[chosen]

    def describe(self) -> dict[str, Any]:
        """Plain data for the record of a run."""
        return {
            "ranks": self.size, "nodes": list(self.nodes), "host_names": list(self.host_names),
            "affinity": [list(cpus) for cpus in self.affinity], "launcher": self.launcher, "library": self.library,
            "mpi_version": self.mpi_version, "thread_level": self.thread_level,
        }  # fmt: skip


def serial_world() -> World:
    """One process, no MPI."""
    return World(host_names=(socket.gethostname(),), affinity=(own_affinity(),))


def needs_launch(ranks_wanted: int | None) -> bool:
    """Whether ranks were asked for that nobody has started yet: then call `sprintprof.bench.world.launch.launch`."""
    return ranks_wanted is not None and ranks_wanted > 1 and detect() is None


def open_world(ranks_wanted: int | None = None) -> World:
    """The world this process is in.

    Without a launcher, and without ranks wanted, serial: mpi4py is not imported. Inside a launcher, every rank calls
    it. Raises InputError (on rank 0; the others leave with code 2 in silence) where the processes are singletons,
    where their number is not `ranks_wanted`, or where mpi4py is missing.
    """
    launcher = detect()
    if launcher is None:
        if ranks_wanted is not None and ranks_wanted > 1:
            raise InputError("--ranks", f"{ranks_wanted} ranks were asked for, no launcher started them",
                             f"use sprintprof run --ranks {ranks_wanted}, or mpiexec -n {ranks_wanted}")  # fmt: skip
        return serial_world()
    try:
        return _open(launcher, ranks_wanted)
    except InputError as error:
        if not launcher.rank:
            hand_over(error.exit_code, aborted=False, rank=0)
        else:
            time.sleep(1.0)  # a launcher kills all when one leaves: rank 0 must have spoken
            raise SystemExit(2) from None
        raise


def _open(launcher: Launcher, ranks_wanted: int | None) -> World:
    if importlib.util.find_spec("mpi4py") is None:
        raise InputError("MPI", f"{launcher.name} started this, but mpi4py is not installed", MPI_EXTRA)
    MPI = import_mpi()
    comm = MPI.COMM_WORLD
    library = MPI.Get_library_version().strip("\0 \n")
    on_path = None
    if comm.size == 1 and launcher.name != "srun":
        found = shutil.which("mpiexec")
        on_path = ask_version(found) if found else None
    check_world(launcher, comm.size, library, ranks_wanted, on_path)
    return _describe(MPI, comm, library, launcher)


def import_mpi() -> Any:
    """`mpi4py.MPI`, initialised with MPI_THREAD_FUNNELED: no thread of ours but the main one ever calls MPI.

    More is not asked for, since libraries have granted MPI_THREAD_MULTIPLE and then failed in the first threaded
    call. Raises InputError where mpi4py finds no MPI library.
    """
    import mpi4py

    mpi4py.rc.thread_level = "funneled"
    try:
        with warnings.catch_warnings():
            # mpi4py's own line about a foreign launcher: `check_world` says what it means and what to do
            warnings.filterwarnings("ignore", "suspicious MPI execution", RuntimeWarning)
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise InputError("MPI", f"mpi4py finds no MPI library ({error})", MPI_EXTRA) from None
    return MPI


def _describe(MPI: Any, comm: Any, library: str, launcher: Launcher) -> World:
    """Exchange who is where, prepare signals, and build the World. Collective."""
    shared = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
    leader = shared.bcast(comm.rank, root=0)
    shared.Free()
    cards = comm.allgather((leader, boot_id(), socket.gethostname(), own_affinity(), os.getpid()))
    nodes = node_numbers([(card[0], card[1]) for card in cards])
    affinity = tuple(card[3] for card in cards)
    level = {
        MPI.THREAD_SINGLE: "single", MPI.THREAD_FUNNELED: "funneled",
        MPI.THREAD_SERIALIZED: "serialized", MPI.THREAD_MULTIPLE: "multiple",
    }[MPI.Query_thread()]  # fmt: skip
    lines = binding_warnings(affinity, nodes)
    give_way = GiveWay(library)
    give_way.set(is_crowded(range(comm.size), nodes, affinity))
    if level == "single":
        lines.append("MPI grants MPI_THREAD_SINGLE only: telemetry threads are at its mercy")
    if comm.rank:  # rank 0 decides when the run ends; a signal to all must not tear the others out of a collective
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
    if "SPRINTPROF_LAUNCH" in os.environ:
        die_with_parent()
        if comm.rank == 0:
            announce_ranks({r: card[4] for r, card in enumerate(cards) if card[1:3] == cards[0][1:3]})
    version = ".".join(map(str, MPI.Get_version()))
    return World(
        comm.rank, comm.size, comm, comm.Dup(), library, version, level, launcher.name,
        os.environ.get("SPRINTPROF_LAUNCH", ""), nodes, tuple(card[2] for card in cards), affinity, tuple(lines),
        Doorbell(comm), give_way,
    )  # fmt: skip


def boot_id() -> str:
    """The running kernel's id, "" where it cannot be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def own_affinity() -> tuple[int, ...]:
    """CPUs this process may run on, from the kernel; () where it does not say."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
