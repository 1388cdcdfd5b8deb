"""Where a table of a log was measured: what launcher lines, job specifications, maps and banners around it say."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from sprintprof.importers.launch import ALLOCATORS, HINT, VARIABLES, Launch, parse_launch


class Scene(msgspec.Struct):
    """The circumstances of the tables that follow. None and empty: the log does not say."""

    launch: Launch = msgspec.field(default_factory=Launch)
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    hosts: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    mpi_library: str = ""

    def fill(self, other: Scene) -> None:
        """Take from `other` what this scene does not know: all three counts or none, so that they agree."""
        if self.ranks is None and self.nodes is None and self.ranks_per_node is None:
            self.ranks, self.nodes, self.ranks_per_node = other.ranks, other.nodes, other.ranks_per_node
        if not self.launch.command:
            self.launch = other.launch


MARKS = (
    "run ", "mpiexec", "salloc", "sbatch", "osu_", "IMB-", "_perf", "-per-node ", "for nodes ", "Data for node:",
    '"resources"', "openmpi", "mpich", "mvapich", "MPI ", "nvbandwidth ", "\nexport ", "\nSLURM_", "\nOMPI_", "\nUCX_",
)  # fmt: skip
"""Only lines with one of these can say something about a launch; "\\n" is the begin of a line."""

_AT_BEGIN = tuple(mark[1:] for mark in MARKS if mark[0] == "\n")


def marked_lines(block: str) -> list[int]:
    """Which lines of a block have one of MARKS, from 0. Searching for each text is faster than one pattern."""
    starts = {0} if block.startswith(_AT_BEGIN) else set()
    for mark in MARKS:
        at = block.find(mark)
        while at >= 0:
            start = at + 1 if mark[0] == "\n" else block.rfind("\n", 0, at) + 1
            starts.add(start)
            end = block.find("\n", start)
            at = block.find(mark, end if end >= 0 else len(block))
    lines, last, number = [], 0, 0
    for start in sorted(starts):
        number += block.count("\n", last, start)
        lines.append(number)
        last = start
    return lines


_BANNER = re.compile(r"\bon (\d+) (?:cores|ranks|processes|tasks), (\d+) nodes? with tasks-per-node (\d+)", re.ASCII)
_PAIR = re.compile(r"\bfor nodes (\S+) (\S+)\s*$", re.ASCII)
_MAP = re.compile(r"Data for node: (\S+)\s.*Num procs: (\d+)", re.ASCII)
_SLURM = re.compile(r"SLURM_(NNODES|JOB_NUM_NODES|NTASKS|NPROCS|NTASKS_PER_NODE)=(\d{1,7})\s*$", re.ASCII)
_SLURM_FIELD = {
    "NNODES": "nodes", "JOB_NUM_NODES": "nodes", "NTASKS": "ranks", "NPROCS": "ranks",
    "NTASKS_PER_NODE": "ranks_per_node",
}  # fmt: skip
_LIBRARY = re.compile(
    r"\b(open ?mpi|mpich|mvapich2|intel-?mpi|impi|hpcx|cray-mpich(?:-abi)?)[-/@ ](?:MPI )?v?(\d+(?:\.\d+)+[\w.]*)"
    r"|Intel\(R\) MPI Library (?:Version )?(\d[\w. ]*)",
    re.ASCII | re.IGNORECASE,
)
_EXPORT = re.compile(r"(?:export )?([A-Z]\w+)=(\S+)\s*$", re.ASCII)
ABORT = re.compile(
    r"MPI_ABORT|[Ss]egmentation fault|exited on signal \d+|CANCELLED AT|DUE TO TIME LIMIT|BAD TERMINATION"
    r"|has been aborted|srun: error|slurmstepd: error",
    re.ASCII,
)
"""Lines that tell of a run that was ended."""

LONGEST_JSON = 60_000


class Reader:
    """Reads the lines between the tables and keeps the scene that holds at the moment.

    `scene` is the one for a table that begins now.
    """

    def __init__(self) -> None:
        self.scene = Scene()
        self._allocation = Scene()
        self._variables: dict[str, str] = {}
        self._libraries: set[str] = set()
        self._open: dict[int, Scene] = {}  # since the last job specification
        self._map: dict[str, int] = {}

    def table_begins(self) -> Scene:
        """The scene for a table, complete as far as the log was read. Job specifications behind it may add to it."""
        scene = self.scene
        if self._map and scene.ranks is None:
            scene.ranks, scene.nodes = sum(self._map.values()), len(self._map)
        scene.variables = self._variables | scene.launch.variables
        if len(self._libraries) == 1:  # several names before a table: which one ran is not said
            scene.mpi_library = next(iter(self._libraries))
        self._open[id(scene)] = scene
        return scene

    def finish(self) -> None:
        """At the end of the log: scenes that know nothing take what the allocation says."""
        for scene in self._open.values():
            scene.fill(self._allocation)

    def read(self, line: str) -> None:
        """One line that has one of MARKS."""
        if '"resources"' in line and len(line) < LONGEST_JSON:
            self._job_specification(line)
        elif banner := _BANNER.search(line):
            self._new(Scene(ranks=int(banner[1]), nodes=int(banner[2]), ranks_per_node=int(banner[3])))
        elif pair := _PAIR.search(line):
            self._new(Scene(nodes=2, hosts=(pair[1], pair[2]), launch=self.scene.launch))
        elif host := _MAP.search(line):
            self._map[host[1]] = int(host[2])
        elif slurm := _SLURM.match(line):
            setattr(self._allocation, _SLURM_FIELD[slurm[1]], int(slurm[2]))
        elif (given := _EXPORT.match(line)) and VARIABLES.fullmatch(given[1]):
            self._variables[given[1]] = given[2].strip("'\"")
        elif HINT.search(line) and (launch := parse_launch(line)):
            self._launched(launch)
        elif found := _LIBRARY.search(line):
            name = found[1].lower().replace(" ", "").removesuffix("-abi") if found[1] else "intelmpi"
            self._libraries.add(f"{name}-{(found[2] or found[3]).strip()}")

    def _launched(self, launch: Launch) -> None:
        if launch.launcher in ALLOCATORS:
            told = Scene(launch, launch.ranks, launch.nodes, launch.ranks_per_node)
            self._allocation = Scene(Launch(), told.ranks, told.nodes, told.ranks_per_node)
        else:
            self._new(Scene(launch, launch.ranks, launch.nodes, launch.ranks_per_node))

    def _new(self, scene: Scene) -> None:
        self.scene = scene
        self._map = {}

    def _job_specification(self, line: str) -> None:
        told = job_specification(line)
        if told is None:
            return
        for scene in self._open.values() or [self.scene]:
            scene.fill(told)
        self._open = {}
        self._new(Scene())


def job_specification(line: str) -> Scene | None:
    """Ranks, nodes and command of a Flux job specification (JSON on one line); None where it is not one."""
    try:
        data = json.loads(line)
        task = data["tasks"][0]
        counts = _counts(data["resources"])
        slots, nodes = counts.get("slot"), counts.get("node")
        total = task["count"].get("total")
        ranks = total if isinstance(total, int) else slots * int(task["count"]["per_slot"]) if slots else None
        launch = parse_launch("flux run " + " ".join(map(str, task["command"]))) or Launch()
        launch = msgspec.structs.replace(launch)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None
    if not ranks or not 0 < ranks < 1 << 31:
        return None
    launch.command = " ".join(map(str, task["command"]))
    launch.launcher = "flux"
    return Scene(launch, ranks, nodes, ranks // nodes if nodes and ranks % nodes == 0 else None)


def _counts(resources: list[dict[str, Any]], times: int = 1) -> dict[str, int]:
    """How many of each resource there are in all: counts multiply on the way down."""
    found: dict[str, int] = {}
    for resource in resources:
        count = resource["count"] if isinstance(resource["count"], int) else int(resource["count"]["min"])
        found[str(resource["type"])] = times * count
        found |= _counts(resource.get("with", []), times * count)
    return found
