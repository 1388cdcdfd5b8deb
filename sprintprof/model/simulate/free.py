"""Workers that never wait and a server without queue: every push is applied at once (or added up to an update)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sprintprof.model.discrete import Discrete
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.cycles import blocks, numbered
from sprintprof.model.simulate.order import order_of, ranks_of
from sprintprof.model.simulate.run import MOST_EVENTS, MOST_NUMBERS, Plan, Run, Spans, check_effort
from sprintprof.model.special import Floats


def simulate_free(setting: Setting, plan: Plan, gradients_per_update: int = 1) -> Run:
    """Staleness (versions between pull and apply, least 0) where a worker pulls right after each of its pushes.

    An update is made of `gradients_per_update` gradients. Phases are stationary from the start; gradients whose pull
    lies before it are not counted.
    """
    groups = setting.groups
    c = gradients_per_update
    rate = sum(n / cycle.mean_s for n, cycle in groups)
    warm = max(cycle.bounds()[1] for _, cycle in groups)
    length = warm + plan.updates * c / rate
    check_effort("gradients", rate * length * plan.replicas, MOST_EVENTS)
    check_effort("gradients of one replica", rate * length, MOST_NUMBERS)
    rng = plan.rng()
    stale = np.zeros(1, np.int64)
    gradients = 0
    spans: tuple[Spans, ...] = ()
    for replica in range(plan.replicas):
        found = list(blocks(numbered(groups), 1, length, rng, plan.stragglers))
        if replica == 0 and plan.keep_spans:
            spans = _spans([(b.worker, b.ends_s) for b in found], length)
        first = rng.integers(c)  # gradients that an update already holds
        histogram, number = _count([b.ends_s for b in found], warm, length, c, int(first))
        size = max(len(stale), len(histogram))
        stale = np.pad(stale, (0, size - len(stale))) + np.pad(histogram, (0, size - len(histogram)))
        gradients += number
    batch = Discrete.certain(c, setting.sub_batch)
    return Run(
        (length - warm) * plan.replicas,
        gradients,
        gradients // c,
        batch,
        Discrete.of(0, stale.astype(np.float64)),
        spans=spans,
    )


def _count(ends: list[Floats], warm: float, length: float, c: int, first: int) -> tuple[npt.NDArray[np.int64], int]:
    """Histogram of staleness of the pushes in (warm, length], and their number."""
    flat = np.concatenate([e.ravel() for e in ends])
    rank = ranks_of(order_of(flat)).astype(np.int64) + first
    histogram, start, number = np.zeros(1, np.int64), 0, 0
    for e in ends:
        mine = rank[start : start + e.size].reshape(e.shape)
        start += e.size
        # the version a push is applied to, less the version pulled after the worker's push before it
        stale = mine[:, 1:] // c - (mine[:, :-1] + 1) // c
        measured = (e[:, 1:] > warm) & (e[:, 1:] <= length)
        here = np.bincount(stale[measured])
        size = max(len(here), len(histogram))
        histogram = np.pad(histogram, (0, size - len(histogram))) + np.pad(here, (0, size - len(here)))
        number += int(np.count_nonzero((e > warm) & (e <= length)))
    return histogram, number


def _spans(found: list[tuple[npt.NDArray[np.int64], Floats]], length: float) -> tuple[Spans, ...]:
    parts = [
        (np.repeat(worker, ends.shape[1] - 1), ends[:, :-1].ravel(), ends[:, 1:].ravel()) for worker, ends in found
    ]
    worker, begin, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    shown = begin < length
    return (Spans(worker[shown], begin[shown], end[shown], "gradient"),)
