"""Workers that wait for each other but not for a server: BSP and SSP as a recurrence over iterations.

With F_p(k) the end of iteration k of worker p and m(j) = max_q F_q(j), a bound of s on the lead means
F_p(k) = max(F_p(k−1), m(k−s−1)) + X_p(k) (Ho et al. 2013); s = 0 is BSP. One step serves all workers of all replicas.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.cycles import Workers, numbered
from sprintprof.model.simulate.order import order_of, ranks_of
from sprintprof.model.simulate.run import MOST_EVENTS, MOST_NUMBERS, Plan, Run, Spans, check_effort
from sprintprof.model.special import Floats


def simulate_rounds(setting: Setting, plan: Plan, bound: int) -> Run:
    """SSP with the given bound on the lead; each push is one update, pulled weights are those at the start.

    `plan.updates` is met by whole iterations of all workers. The first iterations, in which leads build up, are not
    counted.
    """
    workers = numbered(setting.groups)
    count = setting.gpus
    warm = 20 + 10 * (bound + 1)
    iterations = warm + max(-(-plan.updates // count), 2 * (bound + 1))
    check_effort("iterations", iterations * count * plan.replicas, MOST_EVENTS)
    check_effort("iterations of one replica", iterations * count, MOST_NUMBERS)
    rng = plan.rng()
    totals = _Totals()
    spans: tuple[Spans, ...] = ()
    together = max(1, TOGETHER // (count * iterations))
    for first in range(0, plan.replicas, together):
        replicas = min(together, plan.replicas - first)
        ends, levels = _recur(workers, (iterations, replicas, count), bound, plan, rng)
        totals.add(ends, levels, bound, warm)
        if first == 0 and plan.keep_spans:
            spans = _iterations(ends[:, 0], levels[:, 0], bound)
    batch = Discrete.certain(1, setting.sub_batch)
    stale = Discrete.of(0, totals.stale.astype(np.float64))
    return Run(totals.duration, totals.pushes, totals.pushes, batch, stale, {"skew": totals.waited}, spans)


TOGETHER = 1 << 20
"""Iterations of all workers of the replicas that are simulated at once."""
BLOCK = 1 << 14
"""Of these, drawn or counted at once: a few arrays of 128 KiB stay in the cache of a core."""


def _draw(workers: list[Workers], shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Cycles of shape (…, all workers)."""
    if len(workers) == 1:
        return workers[0][0].sample(rng, shape)
    x = np.empty(shape)
    for cycle, numbers in workers:
        x[..., numbers[0] : numbers[-1] + 1] = cycle.sample(rng, (*shape[:-1], len(numbers)))
    return x


def _recur(
    workers: list[Workers], shape: tuple[int, int, int], bound: int, plan: Plan, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """End of every iteration, shape (iterations, replicas, workers), and m(j), shape (iterations, replicas)."""
    ends, levels = np.empty(shape), np.empty(shape[:2])
    numbers = np.broadcast_to(np.arange(shape[2]), shape[1:])
    rows = max(1, BLOCK // (shape[1] * shape[2]))
    begin = np.zeros(shape[1:])
    for k in range(shape[0]):
        if k % rows == 0:
            x = _draw(workers, (min(rows, shape[0] - k), *shape[1:]), rng)
        if k > bound:
            np.maximum(ends[k - 1], levels[k - bound - 1][:, None], out=begin)
        elif k:
            begin[:] = ends[k - 1]
        else:  # fresh phases
            for cycle, own in workers:
                x[0][:, own] = cycle.residual(rng, shape[1] * len(own)).reshape(shape[1], len(own))
        if plan.stragglers is not None:
            x[k % rows] *= plan.stragglers.factors(numbers, begin)
        np.add(begin, x[k % rows], out=ends[k])
        ends[k].max(axis=1, out=levels[k])
    return ends, levels


def _iterations(ends: Floats, levels: Floats, bound: int) -> tuple[Spans, ...]:
    """Spans of one replica: ends of shape (iterations, workers), m(j) of shape (iterations,)."""
    begins = np.zeros_like(ends)
    begins[1:] = ends[:-1]
    begins[bound + 1 :] = np.maximum(begins[bound + 1 :], levels[: len(ends) - bound - 1, None])
    owner = np.tile(np.arange(ends.shape[1]), len(ends))
    return (Spans(owner, begins.ravel(), ends.ravel(), "iteration"),)


class _Totals:
    """Pushes, staleness and waiting inside the part of each replica in which all workers are at work."""

    def __init__(self) -> None:
        self.duration = self.waited = 0.0
        self.pushes = 0
        self.stale: npt.NDArray[np.int64] = np.zeros(1, np.int64)

    def add(self, ends: Floats, levels: Floats, bound: int, warm: int) -> None:
        for replica in range(ends.shape[1]):
            self._add_one(ends[:, replica], levels[:, replica], bound, warm)

    def _add_one(self, ends: Floats, levels: Floats, bound: int, warm: int) -> None:
        start, stop = float(levels[warm - 1]), float(ends[-1].min())
        flat = ends.ravel()
        order = order_of(flat)
        rank = np.reshape(ranks_of(order), ends.shape)
        # pushes by the time that a worker which waits is let go
        arrived = np.searchsorted(flat, levels, side="right", sorter=order).astype(np.int32)
        freed = slice(0, len(ends) - bound - 1)
        let_go = np.concatenate([np.full(bound + 1, -np.inf), levels[freed]])
        seen = np.concatenate([np.zeros(bound + 1, np.int32), arrived[freed]])
        rows = max(1, BLOCK // ends.shape[1])
        first = max(1, int(np.searchsorted(ends.max(axis=1), start)))  # iterations before it end too early
        for k in range(first, len(ends), rows):
            self._count(
                ends[k - 1 : k + rows], rank[k - 1 : k + rows], let_go[k : k + rows], seen[k : k + rows], start, stop
            )
        self.duration += stop - start

    def _count(
        self,
        ends: Floats,
        rank: npt.NDArray[np.int32],
        let_go: Floats,
        seen: npt.NDArray[np.int32],
        start: float,
        stop: float,
    ) -> None:
        """Count the iterations of all rows but the first, which is the iteration before them."""
        before, now = ends[:-1], ends[1:]
        waiting = let_go[:, None] - before
        waited = waiting > 0
        # a worker that waited pulled when it was let go, another right after its own push
        stale = rank[1:] - np.where(waited, seen[:, None], rank[:-1] + 1)
        measured = (now > start) & (now <= stop)
        whole = bool(measured.all())
        here: npt.NDArray[np.int64] = np.bincount((stale if whole else stale[measured]).ravel())
        if len(here) > len(self.stale):
            self.stale = np.pad(self.stale, (0, len(here) - len(self.stale)))
        self.stale[: len(here)] += here
        self.pushes += int(measured.size if whole else np.count_nonzero(measured))
        waited &= measured
        self.waited += float(waiting[waited].sum())


def simulate_barrier(setting: Setting, plan: Plan, waited_for: int, after: Floats) -> Run:
    """BSP: each iteration ends when `waited_for` gradients are there, then `after` (s) passes; S = 0.

    `after`, shape (replicas, updates), is what comes between compute and the next iteration. Late gradients of
    back-up workers are thrown away.
    """
    check_effort("iterations", plan.updates * setting.gpus * plan.replicas, MOST_EVENTS)
    check_effort("iterations of one replica", plan.updates * setting.gpus, MOST_NUMBERS)
    rng = plan.rng()
    duration = skew = 0.0
    spans: tuple[Spans, ...] = ()
    for replica in range(plan.replicas):
        x = _draw(numbered(setting.groups), (plan.updates, setting.gpus), rng)
        if plan.stragglers is not None:
            x = _slowed(x, after[replica], waited_for, plan)
        last = np.partition(x, waited_for - 1, axis=1)[:, waited_for - 1]
        duration += float(last.sum() + after[replica].sum())
        late = setting.gpus - waited_for  # whose work of the whole iteration is thrown away
        skew += float(np.maximum(last[:, None] - x, 0.0).sum() + late * (last.sum() + after[replica].sum()))
        if replica == 0 and plan.keep_spans:
            spans = _barrier_spans(x, last, after[0])
    updates = plan.replicas * plan.updates
    waits = {"skew": skew, "exposed_communication": float(after.sum()) * setting.gpus}
    batch = Discrete.certain(waited_for, setting.sub_batch)
    return Run(duration, updates * waited_for, updates, batch, Discrete.certain(0), waits, spans)


def _slowed(x: Floats, after: Floats, waited_for: int, plan: Plan) -> Floats:
    assert plan.stragglers is not None
    numbers, now = np.arange(x.shape[1]), 0.0
    for k in range(len(x)):
        x[k] *= plan.stragglers.factors(numbers, np.full(x.shape[1], now))
        now += float(np.partition(x[k], waited_for - 1)[waited_for - 1]) + float(after[k])
    return x


def _barrier_spans(x: Floats, last: Floats, after: Floats) -> tuple[Spans, ...]:
    begins = np.concatenate([[0.0], np.cumsum(last + after)[:-1]])
    owner = np.tile(np.arange(x.shape[1]), len(x))
    ends = begins[:, None] + x
    compute = Spans(owner, np.repeat(begins, x.shape[1]), ends.ravel(), "compute")
    return compute, Spans(np.full(len(x), -1), begins + last, begins + last + after, "update")
