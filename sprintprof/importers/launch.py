"""What a launcher's command line says: ranks, nodes, ranks per node, program and its options, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

LONGEST = 4096
"""Longer lines are no command lines."""

VARIABLES = re.compile(
    r"(?:OMPI_MCA|UCX|UCC|MPICH|MPIR|I_MPI|FI|NCCL|RCCL|MV2|OMP|PSM2?|HCOLL|SHARP|RDMAV|CUDA|HSA|OSU)_\w+", re.ASCII
)
"""Names of variables that steer messages, threads or devices."""

PROGRAM = re.compile(
    r"(?:osu_[a-z]\w*|IMB-\w+|\w+_perf(?:_mpi)?|nvbandwidth|bandwidthTest|p2pBandwidthLatencyTest)(?:\.exe|\.py)?",
    re.ASCII,
)

_WRAPPERS = ("run", "submit", "alloc", "batch")
_RANKS, _NODES, _PER_NODE, _HOSTS, _MAP = "ranks", "nodes", "per_node", "hosts", "map"
_SETS, _PER_SET = "sets", "per_set"  # jsrun's resource sets
_MPIEXEC = {
    "-n": _RANKS, "-np": _RANKS, "--n": _RANKS, "--np": _RANKS, "-c": _RANKS, "-N": _PER_NODE, "-npernode": _PER_NODE,
    "--npernode": _PER_NODE, "-ppn": _PER_NODE, "--ppn": _PER_NODE, "-perhost": _PER_NODE, "-H": _HOSTS,
    "-host": _HOSTS, "--host": _HOSTS, "-hosts": _HOSTS, "--hosts": _HOSTS, "-map-by": _MAP, "--map-by": _MAP,
}  # fmt: skip
_SLURM = {"-N": _NODES, "--nodes": _NODES, "-n": _RANKS, "--ntasks": _RANKS, "--ntasks-per-node": _PER_NODE}
_FLUX = {"-N": _NODES, "--nodes": _NODES, "-n": _RANKS, "--ntasks": _RANKS, "--tasks-per-node": _PER_NODE}
_JSRUN = {
    "-n": _SETS, "--nrs": _SETS, "-a": _PER_SET, "--tasks_per_rs": _PER_SET, "-r": "sets_per_node",
    "--rs_per_host": "sets_per_node", "-p": _RANKS, "--np": _RANKS,
}  # fmt: skip
_TORCH = {"--nnodes": _NODES, "--nproc_per_node": _PER_NODE, "--nproc-per-node": _PER_NODE}
_OPTIONS: dict[str, dict[str, str]] = {
    **dict.fromkeys(("mpirun", "mpiexec", "mpiexec.hydra", "mpiexec.mpich", "orterun", "prun", "mpirun_rsh"), _MPIEXEC),
    **dict.fromkeys(("srun", "salloc", "sbatch"), _SLURM),
    "flux": _FLUX,
    "jsrun": _JSRUN,
    "lrun": {"-N": _NODES, "-n": _RANKS, "-T": _PER_NODE},
    "aprun": {"-n": _RANKS, "-N": _PER_NODE},
    "ibrun": {"-n": _RANKS, "-np": _RANKS},
    "torchrun": _TORCH,
}
_UNKNOWN = {"-n": _RANKS, "-np": _RANKS, "--ntasks": _RANKS, "--ntasks-per-node": _PER_NODE, "-N": _NODES}
ALLOCATORS = ("salloc", "sbatch")

HINT = re.compile(
    r"\b(?:mpirun|mpiexec|orterun|prun|srun|salloc|sbatch|jsrun|lrun|aprun|ibrun|torchrun|flux (?:run|submit|alloc))\b"
    r"|\bosu_[a-z]|IMB-[A-Z]|_perf\b|export [A-Z]|nvbandwidth |bandwidthTest ",
    re.ASCII,
)
"""Lines without it say nothing about a launch."""


class Launch(msgspec.Struct):
    """A launch as its command line tells it; None or empty where it says nothing."""

    launcher: str = ""
    command: str = ""
    program: str = ""
    arguments: tuple[str, ...] = ()
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    variables: dict[str, str] = {}

    def option(self, *names: str) -> str | None:
        """The value of an option of the program, given as `-m 4`, `-m4`, `--message-size=4` or `--message-size 4`."""
        return next((v for name, v in _pairs(list(self.arguments), set(names)) if name in names), None)


@lru_cache(maxsize=256)
def parse_launch(line: str) -> Launch | None:
    """The launch that a line of a log shows, None where it shows none (prose that names a launcher is none).

    Kept for repeated lines: take it as it is.
    """
    words = line[:LONGEST].split()
    start = next((i for i, w in enumerate(words) if _launcher(words, i)), None)
    program = next((i for i, w in enumerate(words) if (start is None or i > start) and _is_program(w)), None)
    if start is None and program is None:
        return None
    launcher = _launcher(words, start) if start is not None else ""
    first = 0 if start is None else start + (2 if launcher == "flux" else 1)
    last = len(words) if program is None else program
    found = _read(words[first:last], _OPTIONS.get(launcher, _UNKNOWN))
    if program is None and not (found.keys() & {_RANKS, _NODES, _PER_NODE}):
        return None
    command = " ".join(words[_command_start(words, start, program) :])
    launch = Launch(launcher, command, variables=_variables(words[:last]))
    launch.ranks, launch.nodes, launch.ranks_per_node = _shape(launcher, found)
    if program is not None:
        launch.program = words[program].rsplit("/", 1)[-1]
        launch.arguments = tuple(words[program + 1 :])
    return launch


def _launcher(words: list[str], i: int) -> str:
    """The launcher's name where word `i` calls one, else ""."""
    name = words[i].rsplit("/", 1)[-1]
    if name == "flux":
        return name if i + 1 < len(words) and words[i + 1] in _WRAPPERS else ""
    return name if name in _OPTIONS else ""


def _is_program(word: str) -> bool:
    return PROGRAM.fullmatch(word.rsplit("/", 1)[-1]) is not None and not word.startswith("-")


def _command_start(words: list[str], start: int | None, program: int | None) -> int:
    """Where the command begins: at the variables before the launcher, behind the prompt."""
    at = start if start is not None else program or 0
    while at > 0 and re.fullmatch(r"[A-Za-z_]\w*=\S*", words[at - 1], re.ASCII):
        at -= 1
    return at


def _pairs(words: list[str], known: set[str]) -> Iterator[tuple[str, str]]:
    """(option, value) for the known options, in the order given."""
    i = 0
    while i < len(words):
        word = words[i]
        name, equals, value = word.partition("=")
        if name in known and equals:
            yield name, value
        elif word in known and i + 1 < len(words):
            yield word, words[i + 1]
            i += 1
        elif len(word) > 2 and word[:2] in known and word[0] == "-" and word[1] != "-" and not word[2].isalpha():
            yield word[:2], word[2:]  # -N2
        i += 1


def _read(words: list[str], options: dict[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in _pairs(words, set(options)):
        what = options[name]
        if what == _HOSTS:
            hosts = [h for h in value.split(",") if h]
            found[_NODES] = len({h.split(":")[0] for h in hosts})
        elif what == _MAP:
            if per := re.match(r"ppr:(\d+):node", value, re.ASCII):
                found[_PER_NODE] = int(per[1])
        elif number := re.match(r"(\d{1,8})(?:-\1)?$", value, re.ASCII):
            found[what] = int(number[1])
    return found


def _shape(launcher: str, found: dict[str, int]) -> tuple[int | None, int | None, int | None]:
    """(ranks, nodes, ranks per node) as far as the options fix them."""
    ranks, nodes, per_node = found.get(_RANKS), found.get(_NODES), found.get(_PER_NODE)
    if sets := found.get(_SETS):
        per_set = found.get(_PER_SET, 1)
        ranks = ranks or sets * per_set
        if on_node := found.get("sets_per_node"):
            per_node, nodes = on_node * per_set, -(-sets // on_node)
    if ranks is None and nodes and per_node:
        ranks = nodes * per_node
    if ranks is None and nodes and launcher in ("srun", "flux"):  # both start one task a node if told no more
        ranks = nodes
    if nodes is None and ranks and per_node:
        nodes = -(-ranks // per_node)
    if per_node is None and ranks and nodes and ranks % nodes == 0:
        per_node = ranks // nodes
    return ranks or None, nodes or None, per_node or None


def _variables(words: list[str]) -> dict[str, str]:
    found = {}
    for i, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and VARIABLES.fullmatch(name):
            found[name] = value.strip("'\"")
        elif word in ("-genv", "-env") and i + 2 < len(words) and VARIABLES.fullmatch(words[i + 1]):
            found[words[i + 1]] = words[i + 2]
        elif word in ("-mca", "--mca") and i + 2 < len(words):
            found[f"OMPI_MCA_{words[i + 1]}"] = words[i + 2]
    return found
