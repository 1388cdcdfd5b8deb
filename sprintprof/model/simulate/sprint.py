"""SPRINT, event by event: pushes of all GPUs sorted into the windows of the update threads.

Every gradient is one event. All replicas are laid one after the other on a single time axis, so that one look-up
serves all of them. A window's mini-batch counts the pushes in it; a gradient's staleness is the number of its window
less that of its read, plus one.
"""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from sprintprof.model.counting import Group
from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.cycles import Block, Workers, blocks, numbered
from sprintprof.model.simulate.run import MOST_EVENTS, MOST_NUMBERS, Plan, Run, Spans, check_effort
from sprintprof.model.simulate.scratch import Scratch
from sprintprof.model.simulate.windows import Windows
from sprintprof.model.special import Floats

THREADS = 2
Ints = npt.NDArray[np.int64]


def simulate_sprint(setting: Setting, plan: Plan) -> Run:
    """Mini-batches and staleness of `plan.updates` windows in each replica, phases stationary from the start.

    Windows before the measured ones are as long as the longest cycle, so that every counted gradient was read inside.
    """
    rng = plan.rng()
    groups = setting.groups
    longest = max(cycle.bounds()[1] for _, cycle in groups)
    if plan.stragglers is not None:
        longest *= max(1.0, float(plan.stragglers.factor.max()))
    warm = math.ceil(longest / setting.update_cycle.mean_s) + 2
    count = warm + plan.updates
    each = sum(n / cycle.mean_s for n, cycle in groups) * count * setting.update_cycle.mean_s
    check_effort("gradients", each * plan.replicas, MOST_EVENTS)
    check_effort("windows", plan.replicas * count, MOST_NUMBERS)
    check_effort("cycles of one GPU", each / setting.gpus, MOST_NUMBERS)
    boundaries = np.zeros((plan.replicas, count + 1))
    np.cumsum(setting.update_cycle.sample(rng, (plan.replicas, count)), axis=1, out=boundaries[:, 1:])
    length = float(boundaries[:, -1].max())
    beyond = length * 1.000001
    origins: Floats = np.arange(plan.replicas, dtype=np.float64) * (beyond + longest)
    windows = Windows((boundaries + origins[:, None]).ravel())
    cuts = [plan.replicas * i // THREADS for i in range(THREADS + 1)]
    if plan.replicas < THREADS:  # one long run: deal out its GPUs instead
        parts = [(share, 0, plan.replicas) for share in _dealt(groups)]
    else:
        parts = [(numbered(groups), *cut) for cut in itertools.pairwise(cuts)]
    streams = rng.spawn(len(parts))

    def work(part: int) -> _Totals:
        mine, begin, end = parts[part]
        totals = _Totals(plan.replicas, warm, count, plan.keep_spans and begin == 0)
        for block in blocks(mine, end - begin, length, streams[part], plan.stragglers, totals.scratch):
            totals.add(block, windows, origins, beyond, begin)
        return totals

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(len(parts))))
    batches = np.sum([t.batches for t in found], axis=0).reshape(plan.replicas, count + 1)[:, warm + 1 :]
    stale = np.zeros(max(len(t.staleness) for t in found))
    for totals in found:
        stale[: len(totals.staleness)] += totals.staleness
    stale[0] = 0
    return Run(
        float((boundaries[:, -1] - boundaries[:, warm]).sum()),
        int(batches.sum()),
        batches.size,
        Discrete.counted(batches.ravel(), setting.sub_batch),
        Discrete.of(0, stale),
        spans=_spans(found, boundaries[0]) if plan.keep_spans else (),
    )


def _dealt(groups: list[Group]) -> list[list[Workers]]:
    shares = [[(cycle, workers[i::THREADS]) for cycle, workers in numbered(groups)] for i in range(THREADS)]
    return [share for share in shares if any(len(w) for _, w in share)]


class _Totals:
    """Counts by window (of all replicas) and by staleness."""

    def __init__(self, replicas: int, warm: int, count: int, keep_spans: bool) -> None:
        self.batches: Ints = np.zeros(replicas * (count + 1), np.int64)
        self.staleness: Ints = np.zeros(16, np.int64)
        self.warm, self.count, self.keep_spans = warm, count, keep_spans
        self.spans: list[tuple[Ints, Floats, Floats]] = []
        self.scratch = Scratch()

    def add(self, block: Block, windows: Windows, origins: Floats, beyond_s: float, first_replica: int) -> None:
        """Sort one block's pushes into windows; only those in measured windows of their own replica count."""
        replica = block.replica + first_replica
        moments = block.ends_s
        if self.keep_spans:
            self._keep(moments[replica == 0], block.worker[replica == 0])
        moments += origins[replica][:, None]
        np.minimum(moments, (origins[replica] + beyond_s)[:, None], out=moments)  # not into the next replica
        index = windows.index(moments, self.scratch)
        # counted from the first boundary of the block's first replica; a push after the last window has the index of
        # the next replica's first boundary, which no push can have
        stride = self.count + 1
        start = int(replica[0]) * stride
        index -= start
        counts = np.bincount(index.ravel())[: len(self.batches) - start]
        self.batches[start : start + len(counts)] += counts
        first = replica * stride + self.warm + 1 - start
        shape = (index.shape[0], index.shape[1] - 1)
        stale, after = self.scratch.ints("stale", shape), self.scratch.ints("after", shape)
        measured = self.scratch.flags("measured", shape)
        np.subtract(index[:, 1:], index[:, :-1], out=stale)
        stale += 1
        np.subtract(index[:, 1:], first[:, None], out=after)
        np.less(after.view(np.uint64), self.count - self.warm, out=measured)
        stale *= measured  # others count as 0, which no gradient has
        histogram = np.bincount(stale.ravel())
        if len(histogram) > len(self.staleness):
            self.staleness = np.pad(self.staleness, (0, len(histogram) - len(self.staleness)))
        self.staleness[: len(histogram)] += histogram

    def _keep(self, ends: Floats, worker: Ints) -> None:
        if len(worker):
            owners = np.repeat(worker, ends.shape[1] - 1)
            self.spans.append((owners, ends[:, :-1].ravel().copy(), ends[:, 1:].ravel().copy()))


def _spans(found: list[_Totals], boundaries: Floats) -> tuple[Spans, ...]:
    """GPU cycles and update cycles of the first replica; the update thread has number −1."""
    kept = [s for totals in found for s in totals.spans]
    worker, begin, end = (np.concatenate(column) for column in zip(*kept, strict=True))
    shown = begin < boundaries[-1]
    update = np.full(len(boundaries) - 1, -1)
    return (
        Spans(worker[shown], begin[shown], end[shown], "gradient"),
        Spans(update, boundaries[:-1], boundaries[1:], "update"),
    )
