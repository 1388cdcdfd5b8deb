"""The loops of loops.c, compiled once by the MPI's own mpicc and kept in a cache; None where that cannot be done."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("loops.c")
FLAGS = ("-O2", "-fPIC", "-shared")
COMPILE_TIMEOUT_S = 60.0


class Table(ctypes.Structure):
    """`Table` of loops.c."""

    _fields_ = (("steps", ctypes.c_void_p), ("step_count", ctypes.c_int64), ("count", ctypes.c_int64))


def load(comm: Any) -> ctypes.CDLL | str:
    """The compiled loops, on every rank of `comm` alike, or the reason why there are none. Collective.

    Rank 0 compiles where its cache has nothing; the bytes go to the other ranks, which may have no compiler and no
    common disk. SPRINTPROF_NO_COMPILER=1 turns it off. What was linked with another MPI than mpi4py's is refused.
    """
    from mpi4py import MPI

    library = MPI.Get_library_version().strip("\0 \n")
    outcome: bytes | str = _build(library) if comm.rank == 0 else ""
    outcome = comm.bcast(outcome, root=0)
    if isinstance(outcome, str):
        return outcome
    loaded = _open(outcome, library)
    troubles = [reason for reason in comm.allgather(loaded if isinstance(loaded, str) else "") if reason]
    return troubles[0] if troubles else loaded


def cache_folder() -> Path:
    """Where compiled loops are kept: $SPRINTPROF_CACHE, $XDG_CACHE_HOME/sprintprof or ~/.cache/sprintprof; a private
    folder for this user under the system's temporary one where that cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path(os.path.expanduser("~")) / ".cache")
    wanted = Path(os.environ.get("SPRINTPROF_CACHE") or Path(base) / "sprintprof")
    for folder in (wanted, Path(tempfile.gettempdir()) / f"sprintprof-{os.getuid()}"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="sprintprof-"))


def find_mpicc() -> str | None:
    """The mpicc of this Python environment, else the first on PATH."""
    own = Path(sys.executable).parent / "mpicc"
    return str(own) if own.is_file() else shutil.which("mpicc")


def _build(library: str) -> bytes | str:
    """The shared object as bytes, from the cache or newly compiled, or why not."""
    if os.environ.get("SPRINTPROF_NO_COMPILER", "") not in ("", "0"):
        return "SPRINTPROF_NO_COMPILER is set"
    mpicc = find_mpicc()
    if mpicc is None:
        return "no mpicc"
    kept = cache_folder() / f"loops-{_key(library, mpicc)}.so"
    try:
        if not kept.is_file():
            with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
                made = Path(folder) / kept.name
                done = subprocess.run(
                    [mpicc, *FLAGS, "-o", str(made), str(SOURCE)],
                    capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False,
                )  # fmt: skip
                if done.returncode:
                    return f"mpicc failed: {(done.stderr.strip().splitlines() or ['no message'])[0]}"
                os.replace(made, kept)
        return kept.read_bytes()
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"mpicc could not be run ({error})"


def _key(library: str, mpicc: str) -> str:
    """Changes with the source, the flags, the MPI library and where it lies."""
    body = "\0".join((SOURCE.read_text(), *FLAGS, library, os.path.realpath(mpicc)))
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _open(code: bytes, library: str) -> ctypes.CDLL | str:
    """Load the shared object and check that it speaks to the MPI that mpi4py speaks to."""
    from mpi4py import MPI

    try:
        with tempfile.NamedTemporaryFile(dir=cache_folder(), suffix=".so") as file:
            file.write(code)
            file.flush()
            loops = ctypes.CDLL(file.name)
    except OSError as error:
        return f"the compiled loops do not load ({error})"
    text = ctypes.create_string_buffer(MPI.MAX_LIBRARY_VERSION_STRING)
    if loops.sp_sizeof_comm() != MPI._sizeof(MPI.Comm) or loops.sp_library(text):
        return "mpicc and mpi4py disagree about MPI_Comm"
    linked = text.value.decode(errors="replace").strip("\0 \n")
    if linked != library:
        return f"mpicc belongs to another MPI ({linked.splitlines()[0] if linked else 'unknown'})"
    _declare(loops, MPI._sizeof(MPI.Comm))
    return loops


def _declare(loops: ctypes.CDLL, handle_bytes: int) -> None:
    """Argument types of every function, so that ctypes converts and checks."""
    comm: Any = ctypes.c_int if handle_bytes == 4 else ctypes.c_void_p
    pointer, whole, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    elapsed = ctypes.POINTER(ctypes.c_double)
    loops.sp_pingpong.argtypes = [comm, pointer, pointer, long, whole, whole, long]
    loops.sp_stream.argtypes = [comm, pointer, pointer, whole, whole, whole, whole, whole, long]
    loops.sp_collective.argtypes = [comm, whole, pointer, pointer, whole, whole, long, elapsed]
    buffers = [pointer] * 5
    loops.sp_buckets.argtypes = [comm, *buffers, whole, long, long, long, ctypes.POINTER(Table), long, elapsed]
