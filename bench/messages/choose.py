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
from sprintprof.bench.messages.nodes import nodes_of

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
LEAST_ROUNDS, FLOOR_BYTES = 50, 1 << 22
TRIES = 5
LONG_S = 0.02
"""A round as long as this is alone in its call, whatever the noise."""
CALM = 3
"""So many looks in a row must find no need for more rounds."""


def rounds_for(comm: Any, once: Callable[[int], object], round_bytes: int | None = None) -> int:
    """Rounds that take about CALIBRATION_S, the same on all ranks, 1 … MOST_ROUNDS. Collective; `once(n)` does n.

    So many that Python's share of a sample is below 1 %, yet few, so that a sample still is short. Where Python's clock
    times the call, `round_bytes` says what a round moves: rounds of few bytes inside a node, or short ones, are then at
    least LEAST_ROUNDS. Ranks that share a CPU during the calibration make messages look slow, however often one looks.
    """
    rounds, calm, least_s = 1, 0, float("inf")
    while True:
        least_s = min(least_s, _least(comm, once, rounds) / rounds)  # a busy machine makes outliers, all of them slow
        wanted = int(min(max(CALIBRATION_S / max(least_s, 1e-9), 1), MOST_ROUNDS))
        calm = calm + 1 if wanted <= 1.5 * rounds else 0
        if calm == CALM or least_s > LONG_S:
            fast = least_s < CALIBRATION_S or (round_bytes is not None and len(set(nodes_of(comm))) == 1)
            return max(wanted, _floor(round_bytes)) if fast and least_s <= LONG_S else wanted
        rounds = max(min(wanted, 4 * rounds), 1)


def _floor(round_bytes: int | None) -> int:
    """Least rounds of a call; fewer where a round moves much."""
    return 1 if round_bytes is None else min(max(FLOOR_BYTES // max(round_bytes, 1), 1), LEAST_ROUNDS)


def _least(comm: Any, once: Callable[[int], object], rounds: int) -> float:
    """Least seconds of the slowest rank in a few tries, fewer where they are long; the same on all ranks."""
    least_s, spent_s = float("inf"), 0.0
    for number in range(TRIES):
        began = time.perf_counter()
        once(rounds)
        took_s = float(comm.allreduce(time.perf_counter() - began, op=_max()))
        least_s, spent_s = min(least_s, took_s), spent_s + took_s
        if number and spent_s > LONG_S:
            break
    return least_s


def _max() -> Any:
    from mpi4py import MPI

    return MPI.MAX
