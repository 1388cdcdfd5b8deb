"""N singletons instead of N ranks: stopped with the cause named (cases U18 and U19)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprintprof.bench.world.detect import Launcher, detect
from sprintprof.bench.world.refuse import Starter, ask_version, check_world, mpi_kind
from sprintprof.records import InputError

MPICH = "MPICH Version:      5.0.2\nMPICH Release date: 2026\nMPICH Device: ch4:ucx"
OPEN_MPI = "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11"


def test_srun_with_the_wrong_plugin() -> None:
    """U18: four tasks, each alone in its world."""
    environ = {"SLURM_NTASKS": "4", "SLURM_STEP_ID": "0", "SLURM_PROCID": "2"}
    launcher = detect(environ)
    assert launcher is not None
    with pytest.raises(InputError) as caught:
        check_world(launcher, 1, MPICH, None, None)
    text = str(caught.value)
    assert "srun started 4 processes" in text
    assert "alone" in text
    assert "MPICH Version: 5.0.2" in text
    assert "--mpi=pmi2" in text
    assert "\n" not in text
    with pytest.raises(InputError, match="--mpi=pmix"):
        check_world(launcher, 1, OPEN_MPI, None, None)


def test_mpiexec_of_another_mpi() -> None:
    """U19: the library is MPICH, the launcher Open MPI's; the message has both and the path."""
    launcher = Launcher("Open MPI mpiexec", 0, 2)
    with pytest.raises(InputError) as caught:
        check_world(launcher, 1, MPICH, 2, Starter("/usr/bin/mpiexec", "mpiexec (OpenRTE) 4.1.4"))
    text = str(caught.value)
    for part in ("/usr/bin/mpiexec", "OpenRTE", "MPICH Version: 5.0.2", "Open MPI mpiexec started 2 processes"):
        assert part in text
    assert caught.value.exit_code == 2


def test_a_rank_that_does_not_know_the_size_is_refused_too() -> None:
    with pytest.raises(InputError, match="several processes"):
        check_world(Launcher("PMIx launcher", 3, None), 1, MPICH, None, None)


def test_worlds_that_are_right_pass() -> None:
    check_world(Launcher("srun", 0, 4), 4, MPICH, None, None)
    check_world(Launcher("srun", 0, 4), 4, MPICH, 4, None)
    check_world(Launcher("PMI mpiexec", 0, 1), 1, MPICH, 1, None)
    check_world(Launcher("PMIx launcher", 0, None), 8, OPEN_MPI, None, None)


def test_another_number_than_asked_for() -> None:
    with pytest.raises(InputError, match="4 ranks were asked for, PMI mpiexec started 2"):
        check_world(Launcher("PMI mpiexec", 0, 2), 2, MPICH, 4, None)
    with pytest.raises(InputError, match="started 4 processes, the world has 2"):
        check_world(Launcher("srun", 0, 4), 2, MPICH, None, None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (MPICH, "mpich"), (OPEN_MPI, "openmpi"), ("Intel(R) MPI Library 2021.18 for Linux* OS", "mpich"),
        ("HYDRA build details:", "mpich"), ("mpiexec (OpenRTE) 4.1.4", "openmpi"), ("prterun (PRRTE) 3.0", "openmpi"),
        ("srun 23.02", "unknown"),
    ],
)  # fmt: skip
def test_kinds(text: str, kind: str) -> None:
    assert mpi_kind(text) == kind


def test_versions_of_launchers(tmp_path: Path) -> None:
    def fake(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        path.chmod(0o755)
        return str(path)

    hydra = ask_version(
        fake("a", "HYDRA build details:\n    Version:                                 5.0.2\n    CC: cc")
    )
    assert (hydra.version, hydra.kind) == ("HYDRA (MPICH) 5.0.2", "mpich")
    openmpi = ask_version(fake("b", "mpiexec (Open MPI) 5.0.11\n\nReport bugs to https://example.org"))
    assert (openmpi.version, openmpi.kind) == ("mpiexec (Open MPI) 5.0.11", "openmpi")
    assert ask_version(str(tmp_path / "missing")).version == "unknown"
