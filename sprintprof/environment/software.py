"""Libraries, packages, variables, modules, git state, command line."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from sprintprof.environment.host import attempt
from sprintprof.environment.registry import Record
from sprintprof.records import Missing

PACKAGES = (
    "sprintprof", "numpy", "scipy", "scikit-learn", "h5py", "msgspec", "mpi4py", "mpich", "openmpi", "impi-rt",
    "cupy-cuda12x", "cupy-cuda13x", "nvidia-ml-py", "pynvml", "nvidia-cudnn-frontend", "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13", "numba",
)  # fmt: skip

VARIABLES = re.compile(
    r"(SLURM|SBATCH|PMI|PMIX|OMPI|PRTE|MPICH|I_MPI|HYDRA|UCX|UCC|FI|NCCL|OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|CUDA|CUPY|CUDNN"
    r"|NVIDIA|NUMEXPR|ROCR|HIP|PSM2|LSB|PBS|SPRINTPROF)_.+|LD_PRELOAD|LD_LIBRARY_PATH|OMP_NUM_THREADS|VIRTUAL_ENV"
)
OUR_OWN = re.compile(r"SPRINTPROF_(LAUNCH|TERMINAL).*")
"""Between a parent and the ranks it started: they say nothing about the machine."""
SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|JWT|(^|_)KEY", re.IGNORECASE)
"""Variables of these names are recorded as present, never with their value."""

LONGEST_VALUE = 2000


def software_record(command: list[str]) -> Record:
    """What software this process runs with."""
    variables = dict(os.environ)  # before anything else: threadpoolctl sets one of its own
    record: Record = {
        **_blas(),
        "python.version": platform.python_version(),
        "python.executable": sys.executable,
        "module.loaded": [m for m in os.environ.get("LOADEDMODULES", "").split(":") if m],
        "command.line": command,
        "command.directory": attempt(os.getcwd),
        **_git(),
    }
    for name in PACKAGES:
        try:
            record[f"package.{name}"] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    for name, value in sorted(variables.items()):
        if VARIABLES.fullmatch(name) and not OUR_OWN.fullmatch(name):
            record[f"variable.{name}"] = "(set, not recorded)" if SECRET.search(name) else value[:LONGEST_VALUE]
    return record


def _blas() -> Record:
    missing = dict.fromkeys(("blas.library", "blas.kernel", "blas.threads"), Missing("threadpoolctl finds no BLAS"))
    try:
        import numpy as np
        import threadpoolctl
    except ImportError as error:
        return dict.fromkeys(missing, Missing(str(error)))
    np.dot(np.ones((2, 2)), np.ones((2, 2)))  # loads the library
    pools: list[dict[str, Any]] = threadpoolctl.threadpool_info()
    # scipy brings a second OpenBLAS; NumPy's own is the one that measures
    pools = [p for p in pools if p["user_api"] == "blas"]
    pools.sort(key=lambda p: "numpy" not in p["filepath"])
    if not pools:
        return dict(missing)
    first = pools[0]
    kernel = first.get("architecture")
    return {
        "blas.library": f"{first['internal_api']} {first.get('version') or 'of unknown version'}",
        "blas.kernel": kernel or Missing("the library does not tell"),
        "blas.threads": first["num_threads"],
    }


def _git() -> Record:
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return {"git.commit": Missing("not a checkout"), "git.dirty": Missing("not a checkout")}

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True, timeout=5, check=True)
        return done.stdout.strip()

    try:
        return {"git.commit": git("rev-parse", "HEAD"), "git.dirty": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return {"git.commit": Missing("git does not answer"), "git.dirty": Missing("git does not answer")}
