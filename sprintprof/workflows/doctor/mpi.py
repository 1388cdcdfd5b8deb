"""MPI: is it installed, does the launcher belong to the library, how are ranks bound."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

from sprintprof.bench.world.detect import detect
from sprintprof.bench.world.launch import find_starter, launch_environment
from sprintprof.bench.world.refuse import Starter, ask_version, environment_mpiexec, mpi_kind
from sprintprof.records import InputError, SprintprofError
from sprintprof.workflows.doctor.finding import Finding

INSTALL = "pip install 'sprintprof[mpi]'"
_ASK_LIBRARY = "from mpi4py import MPI; print(MPI.Get_library_version())"
_ASK_WORLD = "from mpi4py import MPI; import os; os.write(1, b'<size %d>' % MPI.COMM_WORLD.size)"


def mpi_findings(ranks: int | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Library, launcher, a trial of two ranks; bindings where we are inside a launcher."""
    needed = bool(ranks and ranks > 1)
    if importlib.util.find_spec("mpi4py") is None:
        yield Finding("blocker" if needed else "note", "MPI", "mpi4py is not installed", INSTALL)
        return
    library = library_string()
    if library is None:
        yield Finding("blocker" if needed else "warning", "MPI", "mpi4py is there, but finds no MPI library", INSTALL)
        return
    yield Finding("ok", "MPI library", library)
    launcher = detect(environ)
    if launcher is not None:
        yield Finding("note", "launcher", f"inside {launcher.name}, {launcher.size} processes")
        return
    path = environment_mpiexec()
    if path is None:
        yield Finding("blocker" if needed else "note", "launcher", "there is no mpiexec here", INSTALL)
        return
    starter = ask_version(path)
    yield mismatch(library, starter) or Finding("ok", "launcher", f"{starter.path} ({starter.version})")
    yield trial()


def library_string() -> str | None:
    """First line of the MPI library's own text, asked in a child process: an MPI that aborts must not end us."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _ASK_LIBRARY], capture_output=True, text=True, timeout=30, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    lines = [" ".join(line.split()) for line in done.stdout.splitlines() if line.strip()]
    return lines[0] if done.returncode == 0 and lines else None


def mismatch(library: str, starter: Starter) -> Finding | None:
    """An mpiexec of one family with a library of another starts N worlds of one rank."""
    ours, theirs = mpi_kind(library), starter.kind
    if "unknown" in (ours, theirs) or ours == theirs:
        return None
    what = f"{starter.path} is {starter.version}, the library is {library}: every rank would be alone"
    return Finding("blocker", "launcher", what, f"use the mpiexec of {ours}")


def trial() -> Finding:
    """Start two ranks and see whether they find each other."""
    try:
        starter = find_starter(2)
        command = [starter.path, "-n", "2", sys.executable, "-c", _ASK_WORLD]
        done = subprocess.run(
            command, env=launch_environment(starter), capture_output=True, text=True, timeout=60, check=False
        )
    except InputError as error:
        return Finding("warning", "two ranks", error.what, error.remedy)
    except (OSError, subprocess.TimeoutExpired, SprintprofError) as error:
        return Finding("warning", "two ranks", f"did not end ({type(error).__name__})", "try it by hand")
    sizes = re.findall(r"<size (\d+)>", done.stdout)
    if sizes == ["2", "2"]:
        return Finding("ok", "two ranks", "find each other")
    if sizes:
        return Finding("blocker", "two ranks", "are each alone in their world", "use the mpiexec of mpi4py's library")
    words = " ".join(done.stderr.split())[:200] or f"exit code {done.returncode}"
    return Finding("warning", "two ranks", f"did not start: {words}", "normal on a login node; look there in a job")


def rank_findings(ranks: int | None, cpus: int) -> Iterator[Finding]:
    """More ranks than hardware threads on this node, for a run that starts them here."""
    if ranks and ranks > cpus and detect(os.environ) is None:
        what = f"{ranks} ranks on {cpus} hardware threads: messages between them will wait for the scheduler"
        yield Finding("warning", "ranks", what, f"fine for a trial; measure with at most {cpus}")
