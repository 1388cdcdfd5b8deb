"""Which driver: compiled loops where there is a compiler, else mpi4py; and how many rounds make a call."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from sprintprof.bench.messages.compiled import CompiledDriver
from sprintprof.bench.messages.driver import Driver
from sprintprof.bench.messages.in_python import PythonDriver
from sprintprof.bench.messages.native import load

_known: dict[str, ctypes.CDLL | str] = {}


def choose_driver(comm: Any) -> Driver:
    """Compiled loops where every rank of `comm` has them, else mpi4py. Collective."""
    if not all(comm.allgather("loops" in _known)):
        _known["loops"] = load(comm)
    loops = _known["loops"]
    reason = next((why for why in comm.allgather(loops if isinstance(loops, str) else "") if why), "")
    return PythonDriver(comm, reason) if isinstance(loops, str) or reason else CompiledDriver(comm, loops)


CALIBRATION_S = 1e-3
MOST_ROUNDS = 1000


def rounds_for(comm: Any, once: Callable[[int], object]) -> int:
    """Rounds that take about CALIBRATION_S, the same on all ranks, 1 … MOST_ROUNDS. Collective; `once(n)` does n.

    So many that Python's share of a sample is below 1 %, yet few, so that a sample still is short.
    """
    rounds, level_s = 1, 0.0
    while True:
        level_s = min(_timed(comm, once, rounds) for _ in range(3))  # the least: a busy machine makes outliers
        if level_s >= CALIBRATION_S / 2 or rounds >= MOST_ROUNDS:
            return int(min(max(CALIBRATION_S * rounds / max(level_s, 1e-9), 1), MOST_ROUNDS))
        rounds = min(4 * rounds, MOST_ROUNDS)


def _timed(comm: Any, once: Callable[[int], object], rounds: int) -> float:
    """Seconds of the slowest rank."""
    began = time.perf_counter()
    once(rounds)
    return float(comm.allreduce(time.perf_counter() - began, op=_max()))


def _max() -> Any:
    from mpi4py import MPI

    return MPI.MAX
