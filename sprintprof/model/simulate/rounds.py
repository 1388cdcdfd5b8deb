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
from sprintprof.model.simulate.run import Plan, Run, Spans
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
    rng = plan.rng()
    totals = _Totals()
    spans: tuple[Spans, ...] = ()
    for replica in range(plan.replicas):
        x = _draw(workers, iterations, count, rng)
        begins, ends, levels = _recur(x, bound, plan, np.arange(count))
        totals.add(begins, ends, levels, bound, warm)
        if replica == 0 and plan.keep_spans:
            owner = np.tile(np.arange(count), iterations)
            spans = (Spans(owner, begins.ravel(), ends.ravel(), "iteration"),)
    batch = Discrete.certain(1, setting.sub_batch)
    waits = {"skew": totals.waited}
    return Run(
        totals.duration,
        totals.pushes,
        totals.pushes,
        batch,
        Discrete.of(0, totals.stale.astype(np.float64)),
        waits,
        spans,
    )


def _draw(workers: list[Workers], iterations: int, count: int, rng: np.random.Generator) -> Floats:
    x = np.empty((iterations, count))
    for cycle, numbers in workers:
        x[:, numbers] = cycle.sample(rng, (iterations, len(numbers)))
        x[0, numbers] = cycle.residual(rng, len(numbers))
    return x


def _recur(x: Floats, bound: int, plan: Plan, numbers: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Begin and end of every iteration, shape (iterations, workers), and m(j), shape (iterations,)."""
    begins, ends = np.zeros_like(x), np.empty_like(x)
    levels = np.zeros(len(x))
    before = np.zeros(x.shape[1])
    for k in range(len(x)):
        begin = begins[k]
        if k > bound:
            np.maximum(before, levels[k - bound - 1], out=begin)
        else:
            begin[:] = before
        if plan.stragglers is not None:
            x[k] *= plan.stragglers.factors(numbers, begin)
        before = np.add(begin, x[k], out=ends[k])
        levels[k] = before.max()
    return begins, ends, levels


class _Totals:
    """Pushes, staleness and waiting inside the part of each replica in which all workers are at work."""

    def __init__(self) -> None:
        self.duration = self.waited = 0.0
        self.pushes = 0
        self.stale: npt.NDArray[np.int64] = np.zeros(1, np.int64)

    def add(self, begins: Floats, ends: Floats, levels: Floats, bound: int, warm: int) -> None:
        start, stop = float(levels[warm - 1]), float(ends[-1].min())
        flat = ends.ravel()
        order = np.argsort(flat, kind="stable")
        rank = np.empty(len(flat), np.int64)
        rank[order] = np.arange(len(flat))
        rank = np.asarray(rank.reshape(ends.shape), np.int64)
        in_order = flat[order]
        # a worker that waited pulled when the slowest arrived, another right after its own push
        arrived = np.searchsorted(in_order, levels, side="right")
        pulled = rank[:-1] + 1
        freed = np.maximum(np.arange(1, len(ends)) - bound - 1, 0)
        waited = begins[1:] > ends[:-1]
        pulled = np.where(waited, arrived[freed][:, None], pulled)
        measured = (ends[1:] > start) & (ends[1:] <= stop)
        here: npt.NDArray[np.int64] = np.bincount((rank[1:] - pulled)[measured])
        size = max(len(here), len(self.stale))
        self.stale = np.pad(self.stale, (0, size - len(self.stale))) + np.pad(here, (0, size - len(here)))
        self.pushes += int(np.count_nonzero((ends > start) & (ends <= stop)))
        self.waited += float((begins[1:] - ends[:-1])[measured].sum())
        self.duration += stop - start


def simulate_barrier(setting: Setting, plan: Plan, waited_for: int, after: Floats) -> Run:
    """BSP: each iteration ends when `waited_for` gradients are there, then `after` (s) passes; S = 0.

    `after`, shape (replicas, updates), is what comes between compute and the next iteration. Late gradients of
    back-up workers are thrown away.
    """
    rng = plan.rng()
    duration = skew = 0.0
    spans: tuple[Spans, ...] = ()
    for replica in range(plan.replicas):
        x = _draw(numbered(setting.groups), plan.updates + 1, setting.gpus, rng)[1:]
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
