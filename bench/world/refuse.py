"""Why a world is not what was asked for: pure decisions, tested without MPI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from sprintprof.bench.world.detect import Launcher
from sprintprof.records import InputError


class Starter(msgspec.Struct, frozen=True):
    """An mpiexec: its path and the first telling line of `mpiexec --version`."""

    path: str
    version: str

    @property
    def kind(self) -> str:
        """`mpich` (Hydra; also Intel MPI and MVAPICH), `openmpi`, or `unknown`."""
        return mpi_kind(self.version)


def mpi_kind(text: str) -> str:
    """The family an MPI library string or an `mpiexec --version` text belongs to."""
    lower = text.lower()
    if any(word in lower for word in ("open mpi", "openrte", "open-mpi", "prrte", "prterun")):
        return "openmpi"
    if any(word in lower for word in ("mpich", "hydra", "intel(r) mpi", "mvapich", "cray mpi")):
        return "mpich"
    return "unknown"


def environment_mpiexec() -> str | None:
    """The mpiexec of this Python environment, else the first on PATH."""
    own = Path(sys.executable).parent / "mpiexec"
    return str(own) if own.is_file() else shutil.which("mpiexec")


def ask_version(path: str) -> Starter:
    """Run `path --version`; what cannot be asked has the version `unknown`."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return Starter(path, "unknown")
    lines = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if lines and "hydra" in lines[0].lower():
        version = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("Version:")), "")
        return Starter(path, f"HYDRA (MPICH) {version}".strip())
    return Starter(path, lines[0] if lines else "unknown")


def check_world(launcher: Launcher, size: int, library: str, ranks_wanted: int | None, on_path: Starter | None) -> None:
    """Raise InputError where `size` ranks are not the world that was asked for.

    `library` is MPI_Get_library_version, `on_path` the mpiexec that PATH finds first. N processes that are each alone
    (size 1) come from a launcher that speaks to another MPI, or to none: the message names both sides.
    """
    short = library.splitlines()[0].strip() if library.strip() else "unknown MPI library"
    alone = size == 1 and ((launcher.size or 1) > 1 or (launcher.rank or 0) > 0)
    if alone:
        count = f"{launcher.size} processes" if launcher.size else "several processes"
        raise InputError("MPI", f"{launcher.name} started {count}, but each is alone in its world (library: {short})",
                         _advice(launcher, library, on_path))  # fmt: skip
    if launcher.size is not None and launcher.size != size and ranks_wanted is None:
        raise InputError("MPI", f"{launcher.name} started {launcher.size} processes, the world has {size} ({short})",
                         _advice(launcher, library, on_path))  # fmt: skip
    if ranks_wanted is not None and ranks_wanted != size:
        raise InputError("--ranks", f"{ranks_wanted} ranks were asked for, {launcher.name} started {size}",
                         f"leave --ranks out inside a launcher, or start {ranks_wanted} processes")  # fmt: skip


def _advice(launcher: Launcher, library: str, on_path: Starter | None) -> str:
    """What to do about singletons: the right srun plug-in, or the mpiexec that belongs to the library."""
    if launcher.name == "srun":
        plugin = {"mpich": "--mpi=pmi2", "openmpi": "--mpi=pmix"}.get(mpi_kind(library), "--mpi=pmi2 or --mpi=pmix")
        return f"start with srun {plugin} (srun --mpi=list shows what there is), or with the library's own mpiexec"
    found = f"mpiexec on PATH is {on_path.path} ({on_path.version})" if on_path else "there is no mpiexec on PATH"
    own = Path(sys.executable).parent / "mpiexec"
    right = str(own) if own.is_file() else f"the mpiexec of {mpi_kind(library)}"
    return f"{found}; it must belong to the library of mpi4py: start with {right}"
