"""What started us, read from the environment of every launcher we know."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sprintprof.bench.world.detect import Launcher, detect, in_slurm_step

SRUN = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_PROCID": "2"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"}, Launcher("PMI mpiexec", 1, 4)),
        (
            {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "PMIX_RANK": "3"},
            Launcher("Open MPI mpiexec", 3, 8),
        ),
        ({"MV2_COMM_WORLD_RANK": "0", "MV2_COMM_WORLD_SIZE": "2", "PMI_RANK": "0"}, Launcher("MVAPICH mpiexec", 0, 2)),
        ({"PALS_RANKID": "5", "PMI_SIZE": "16", "PMI_RANK": "5"}, Launcher("Cray PALS", 5, 16)),
        ({"JSM_NAMESPACE_RANK": "1", "JSM_NAMESPACE_SIZE": "6", "PMIX_RANK": "1"}, Launcher("jsrun", 1, 6)),
        ({"FLUX_TASK_RANK": "2", "FLUX_JOB_SIZE": "3"}, Launcher("flux", 2, 3)),
        (SRUN, Launcher("srun", 2, 4)),
        ({**SRUN, "PMI_RANK": "2", "PMI_SIZE": "4", "PMI_FD": "9"}, Launcher("srun", 2, 4)),
        ({**SRUN, "PMIX_RANK": "2"}, Launcher("srun", 2, 4)),
        ({"PMIX_RANK": "2"}, Launcher("PMIx launcher", 2, None)),
    ],
)
def test_launchers(environ: dict[str, str], expected: Launcher | None) -> None:
    assert detect(environ) == expected


def test_mpiexec_inside_an_allocation_is_mpiexec() -> None:
    """Hydra starts its helpers by srun: SLURM_NTASKS counts those, not the ranks."""
    environ = {**SRUN, "SLURM_NTASKS": "2", "PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALNRANKS": "4"}
    assert detect(environ) == Launcher("PMI mpiexec", 5, 8)


@pytest.mark.parametrize("step", [None, "4294967291", "4294967290"])
def test_batch_script_and_salloc_shell_are_no_launchers(step: str | None) -> None:
    """A job of four tasks whose script calls us directly asked for no world."""
    environ = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}
    if step is not None:
        environ["SLURM_STEP_ID"] = step
    assert not in_slurm_step(environ)
    assert detect(environ) is None


def test_a_step_of_one_task_is_alone() -> None:
    assert detect({**SRUN, "SLURM_NTASKS": "1", "SLURM_PROCID": "0"}) is None


def test_the_step_counts_its_own_tasks() -> None:
    assert detect({**SRUN, "SLURM_NTASKS": "16", "SLURM_STEP_NUM_TASKS": "4"}) == Launcher("srun", 2, 4)


def test_asking_does_not_import_mpi4py() -> None:
    code = "from sprintprof.bench.world import detect, world; w = world.open_world(); import sys; "
    code += "assert not w.parallel; assert w.size == 1; assert w.subcomm(1) is None; assert 'mpi4py' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": "/usr/bin:/bin"})
