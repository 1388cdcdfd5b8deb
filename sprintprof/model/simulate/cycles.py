"""Push times of workers that never wait, by the block: rows are workers of replicas, columns their cycles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sprintprof.model.counting import Group
from sprintprof.model.jitter import Jitter
from sprintprof.model.simulate.scratch import Scratch
from sprintprof.model.simulate.stragglers import Stragglers
from sprintprof.model.special import Floats

BLOCK = 1 << 15
"""Cycles drawn at once: a few arrays of 256 KiB stay in the cache of a core."""


@dataclass(frozen=True)
class Block:
    """Ends of cycles, shape (rows, columns), increasing along a row; the first column is the residual of a cycle that
    began before 0. `replica` and `worker`, shape (rows,), say whose they are."""

    ends_s: Floats
    replica: npt.NDArray[np.int64]
    worker: npt.NDArray[np.int64]


def columns_for(cycle: Jitter, length_s: float) -> int:
    """So many cycles outlast `length_s` with a chance of failure of about 1e-9 a row."""
    expected = length_s / cycle.mean_s
    return math.ceil(expected + 6.5 * cycle.cv * math.sqrt(expected + 1) + 3)


Workers = tuple[Jitter, npt.NDArray[np.int64]]
"""Workers with one distribution of their cycle: (cycle, numbers of the workers)."""


def numbered(groups: list[Group]) -> list[Workers]:
    """Workers numbered through the groups in order."""
    firsts = itertools.accumulate((number for number, _ in groups), initial=0)
    return [(cycle, np.arange(first, first + number)) for first, (number, cycle) in zip(firsts, groups, strict=False)]


def blocks(
    groups: list[Workers],
    replicas: int,
    length_s: float,
    rng: np.random.Generator,
    stragglers: Stragglers | None = None,
    scratch: Scratch | None = None,
) -> Iterator[Block]:
    """Blocks that cover every worker of every replica from 0 to at least `length_s`, phases stationary.

    With `scratch` a block's times are gone when the next one is asked for.
    """
    for cycle, workers in groups:
        columns = columns_for(cycle, length_s)
        total = replicas * len(workers)
        step = max(1, BLOCK // columns)
        for begin in range(0, total, step):
            row = np.arange(begin, min(begin + step, total))
            replica, worker = row // len(workers), workers[row % len(workers)]
            shape = (len(row), columns)
            ends = np.empty(shape) if scratch is None else scratch.floats("ends", shape)
            yield Block(_ends(cycle, ends, length_s, rng, worker, stragglers), replica, worker)


def _ends(
    cycle: Jitter,
    ends: Floats,
    length_s: float,
    rng: np.random.Generator,
    worker: npt.NDArray[np.int64],
    stragglers: Stragglers | None,
) -> Floats:
    """Fill `ends`, shape (rows, columns), and make it longer where that is not enough."""
    rows, columns = ends.shape
    cycle.fill(rng, ends)
    ends[:, 0] = cycle.residual(rng, rows)
    if stragglers is None:
        np.cumsum(ends, axis=1, out=ends)
    else:
        for k in range(1, columns):
            ends[:, k] = ends[:, k - 1] + ends[:, k] * stragglers.factors(worker, ends[:, k - 1])
    while ends[:, -1].min() < length_s:  # rare: heavy tails on the short side
        more = cycle.sample(rng, (rows, max(4, columns // 8)))
        np.cumsum(more, axis=1, out=more)
        ends = np.concatenate([ends, ends[:, -1:] + more], axis=1)
    return ends
