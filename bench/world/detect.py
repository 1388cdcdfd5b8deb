"""Are we inside an MPI launcher? Answered from the environment alone, without importing mpi4py."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec


class Launcher(msgspec.Struct, frozen=True):
    """What started this process as one of several: its name, this process' rank and the number of processes.

    `rank` and `size` are None where the launcher does not say.
    """

    name: str
    rank: int | None
    size: int | None


_TABLE: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Open MPI mpiexec", ("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_SIZE",)),
    ("MVAPICH mpiexec", ("MV2_COMM_WORLD_RANK", "MVP_COMM_WORLD_RANK"), ("MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE")),
    ("Cray PALS", ("PALS_RANKID",), ("PALS_NRANKS", "PMI_SIZE")),
    ("jsrun", ("JSM_NAMESPACE_RANK",), ("JSM_NAMESPACE_SIZE",)),
    ("flux", ("FLUX_TASK_RANK",), ("FLUX_JOB_SIZE",)),
    ("PMI mpiexec", ("PMI_RANK",), ("PMI_SIZE",)),
    ("PMIx launcher", ("PMIX_RANK",), ("SLURM_STEP_NUM_TASKS", "PRTE_JOB_SIZE")),
)
"""Launcher, variables that hold the rank, variables that hold the size; the first that is there decides."""

_PSEUDO_STEPS = 0xFFFFFFF0
"""Slurm numbers the batch, interactive and extern steps from here on: no srun started those processes."""


def _number(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    """The first of the variables that holds a whole number."""
    return next((int(environ[n]) for n in names if environ.get(n, "").isdecimal()), None)


def in_slurm_step(environ: Mapping[str, str]) -> bool:
    """Whether srun started this process (a batch script or salloc shell is not a step of its own)."""
    step = _number(environ, ("SLURM_STEP_ID", "SLURM_STEPID"))
    return step is not None and step < _PSEUDO_STEPS and "SLURM_PROCID" in environ


def detect(environ: Mapping[str, str] | None = None) -> Launcher | None:
    """The launcher of this process, or None for a process that was started alone.

    An srun step of one task without any process manager counts as alone: that is what `srun --pty bash` gives, and
    people start MPI programs from there.
    """
    environ = os.environ if environ is None else environ
    step = in_slurm_step(environ)
    for name, ranks, sizes in _TABLE:
        rank = _number(environ, ranks)
        if rank is not None:
            by_srun = step and name in ("PMI mpiexec", "PMIx launcher") and "MPI_LOCALNRANKS" not in environ
            size = _number(environ, sizes)
            if by_srun and size is None:
                size = _number(environ, ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"))
            return Launcher("srun" if by_srun else name, rank, size)
    if step:
        size = _number(environ, ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"))
        if size is not None and size > 1:
            return Launcher("srun", _number(environ, ("SLURM_PROCID",)), size)
    return None
