"""Starting the MPI program: the right mpiexec, the right environment, one clear line where something is missing."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from sprintprof.bench.world.launch import find_starter, launch, launch_environment
from sprintprof.bench.world.refuse import Starter
from sprintprof.bench.world.world import needs_launch, open_world
from sprintprof.records import InputError

HYDRA = Starter("/e/bin/mpiexec", "HYDRA (MPICH) 5.0.2")
OPEN_MPI = Starter("/e/bin/mpiexec", "mpiexec (Open MPI) 5.0.11")


def test_variables_of_an_outer_launcher_do_not_reach_the_ranks() -> None:
    outer = {"PMI_RANK": "0", "PMIX_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4", "MPI_LOCALRANKID": "0", "HOME": "/h"}
    outer |= {"OMPI_MCA_pml": "ob1", "SLURM_JOB_ID": "1"}
    inner = launch_environment(HYDRA, outer)
    assert set(inner) - {"SPRINTPROF_TERMINAL"} == {"HOME", "OMPI_MCA_pml", "SLURM_JOB_ID"}


def test_open_mpi_may_run_as_root_and_oversubscribe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    inner = launch_environment(OPEN_MPI, {})
    assert inner["OMPI_ALLOW_RUN_AS_ROOT"] == inner["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert inner["PRTE_MCA_rmaps_default_mapping_policy"] == ":oversubscribe"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in launch_environment(OPEN_MPI, {})
    kept = launch_environment(OPEN_MPI, {"PRTE_MCA_rmaps_default_mapping_policy": "ppr:1:node"})
    assert kept["PRTE_MCA_rmaps_default_mapping_policy"] == "ppr:1:node"


def test_missing_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"mpi4py is not installed.*sprintprof\[mpi\]"):
        launch(2, ["run"])


def test_missing_mpiexec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"no mpiexec.*sprintprof\[mpi\]"):
        launch(2, ["run"])


def test_the_environments_own_mpiexec_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    own = tmp_path / "mpiexec"
    own.write_text("#!/bin/sh\necho 'mpiexec (Open MPI) 5.0.11'\n")
    own.chmod(0o755)
    assert find_starter(2) == Starter(str(own), "mpiexec (Open MPI) 5.0.11")


@pytest.mark.parametrize("ranks", [0, -3])
def test_no_ranks(ranks: int) -> None:
    with pytest.raises(InputError, match="not a number of ranks"):
        launch(ranks, ["run"])


def test_who_must_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PMI", "OMPI_COMM", "SLURM_")):
            monkeypatch.delenv(name)
    assert needs_launch(4)
    assert not needs_launch(1)
    assert not needs_launch(None)
    with pytest.raises(InputError, match="no launcher started them"):
        open_world(4)
    monkeypatch.setenv("PMI_RANK", "0")
    assert not needs_launch(4)
