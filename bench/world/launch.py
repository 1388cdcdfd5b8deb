"""Start the MPI program itself: `sprintprof run --ranks N` outside a launcher."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping

from sprintprof.bench.world.care import run_ranks
from sprintprof.bench.world.refuse import Starter, ask_version, environment_mpiexec
from sprintprof.bench.world.world import MPI_EXTRA
from sprintprof.records import InputError

_SCRUB = ("PMI_", "PMIX_", "OMPI_COMM_", "HYDRA_", "HYDI_", "MPI_LOCAL", "PRTE_LAUNCHED")
"""Variables of an outer launcher that would make the inner ranks believe they belong to it."""


def launch(ranks: int, arguments: list[str]) -> int:
    """Run `sprintprof ARGUMENTS` on `ranks` MPI ranks of this environment and return the exit code of rank 0.

    The first SIGINT or SIGTERM is passed to rank 0 once, which ends the run with what was measured; the second one
    kills all ranks. No rank outlives this call, nor this process. Raises InputError where mpi4py or mpiexec is missing.
    """
    starter = find_starter(ranks)
    command = [starter.path, "-n", str(ranks), sys.executable, "-m", "sprintprof", *arguments]
    return run_ranks(command, launch_environment(starter))


def find_starter(ranks: int) -> Starter:
    """The mpiexec of this environment. Raises InputError with what to install."""
    if ranks < 1:
        raise InputError("--ranks", f"{ranks} is not a number of ranks", "give 1 or more")
    if importlib.util.find_spec("mpi4py") is None:
        raise InputError("--ranks", "mpi4py is not installed", MPI_EXTRA)
    path = environment_mpiexec()
    if path is None:
        raise InputError("--ranks", "there is no mpiexec in this environment or on PATH", MPI_EXTRA)
    return ask_version(path)


def launch_environment(starter: Starter, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment of mpiexec: outer launchers' variables removed; Open MPI allowed to run as root and oversubscribed.

    What the user has set stays. `SPRINTPROF_TERMINAL` holds the columns where our stderr is a terminal, as ranks see
    a pipe.
    """
    environ = os.environ if environ is None else environ
    result = {k: v for k, v in environ.items() if not k.startswith(_SCRUB)}
    if starter.kind != "mpich":
        result.setdefault("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")  # Open MPI 5
        result.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")  # Open MPI 4
        if os.geteuid() == 0:
            result.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
            result.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    if sys.stderr.isatty():
        result["SPRINTPROF_TERMINAL"] = str(shutil.get_terminal_size().columns)
    return result
