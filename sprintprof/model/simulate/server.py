"""A parameter server that serves one push after the other: ASP, SSP, DSSP and softsync with queue and waiting rules.

All replicas take one step together: in each the next push to arrive is served, then its worker and whoever waited
for it go on or not. First come, first served: a worker that goes on arrives after everybody who is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sprintprof.model.discrete import Discrete
from sprintprof.model.jitter import Jitter
from sprintprof.model.setting import Setting
from sprintprof.model.simulate.run import MOST_NUMBERS, MOST_STEPS, Plan, Run, Spans, check_effort
from sprintprof.model.special import Floats

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass
class State:
    """What the server knows, for all replicas: pushes and the last two arrival times, shape (replicas, workers)."""

    pushes: Ints
    last_s: Floats
    before_s: Floats


class Rule(Protocol):
    """Who may go on after a push."""

    @property
    def bound(self) -> float:
        """A worker that waits goes on once its lead is at most this."""
        ...

    def begin(self, replicas: int, workers: int) -> None:
        """Forget everything and make room for that many."""
        ...

    def goes_on(self, state: State, pusher: Ints, lead: Ints) -> Flags:
        """Whether the pusher of each replica, with that lead over the slowest, goes on at once; shape (replicas,)."""
        ...


@dataclass
class Bound:
    """SSP: a lead of at most `bound`; infinity is ASP."""

    bound: float

    def begin(self, replicas: int, workers: int) -> None:
        """Nothing to keep."""

    def goes_on(self, state: State, pusher: Ints, lead: Ints) -> Flags:
        return lead <= self.bound


def simulate_server(
    setting: Setting,
    plan: Plan,
    rule: Rule,
    service: Jitter | None,
    latency_s: float = 0.0,
    gradients_per_update: int = 1,
) -> Run:
    """Serve `plan.updates` updates in each replica after leads and queue have built up.

    `service` is the time of the server for one push (None: none); `latency_s` is added to each cycle outside of the
    queue. Each update is made of `gradients_per_update` gradients. Staleness counts versions from 0.
    """
    R, N = plan.replicas, setting.gpus
    factors = np.concatenate([np.full(n, cycle.mean_s / setting.gpu_cycle.mean_s) for n, cycle in setting.groups])
    lead = 0 if np.isinf(rule.bound) else int(rule.bound)
    warm = N * (12 + 4 * lead)
    events = warm + plan.updates * gradients_per_update
    check_effort("pushes one after the other", events, MOST_STEPS)
    check_effort("pushes", events * R, MOST_NUMBERS)
    check_effort("workers of all replicas", R * N, MOST_NUMBERS)
    engine = _Engine(setting, plan, rule, factors, latency_s, gradients_per_update)
    rng = plan.rng()
    draws = _Pool(setting.gpu_cycle, rng)
    engine.arrival[:] = factors * setting.gpu_cycle.residual(rng, R * N).reshape(R, N)
    served = service.sample(rng, (events, R)) if service is not None and service.mean_s > 0 else np.zeros((events, R))
    for event in range(events):
        if event == warm:
            engine.measure()
        engine.step(served[event], draws)
    return engine.result(events - warm, float(served[warm:].sum()))


class _Pool:
    """Draws of a cycle, taken one after the other."""

    def __init__(self, cycle: Jitter, rng: np.random.Generator) -> None:
        self.cycle, self.rng, self.used = cycle, rng, 0
        self.values: Floats = np.empty(0)

    def take(self, number: int) -> Floats:
        if self.used + number > len(self.values):
            self.values = self.cycle.sample(self.rng, max(1 << 14, 2 * number))
            self.used = 0
        self.used += number
        return self.values[self.used - number : self.used]


class _Engine:
    """State of all replicas and what is measured of it."""

    def __init__(
        self, setting: Setting, plan: Plan, rule: Rule, factors: Floats, latency_s: float, gradients_per_update: int
    ) -> None:
        R, N = plan.replicas, setting.gpus
        self.setting, self.plan, self.rule, self.factors = setting, plan, rule, factors
        self.latency_s, self.c = latency_s, gradients_per_update
        self.rows = np.arange(R)
        self.arrival: Floats = np.zeros((R, N))
        self.blocked_since: Floats = np.full((R, N), np.inf)
        self.blocked: Flags = np.zeros((R, N), bool)
        self.anyone_blocked = False
        self.slowest: Ints = np.zeros(R, np.int64)
        self.at_slowest: Ints = np.full(R, N)
        self.pulled: Ints = np.zeros((R, N), np.int64)
        self.gradients: Ints = np.zeros(R, np.int64)
        self.free: Floats = np.zeros(R)
        self.state = State(np.zeros((R, N), np.int64), np.zeros((R, N)), np.full((R, N), -np.inf))
        rule.begin(R, N)
        self.stale: list[Ints] = []
        self.queued = self.waited = 0.0
        self.started: Floats = np.zeros(R)
        self.begun: Floats = np.zeros((R, N))
        self.spans: list[tuple[int, float, float]] = []

    def measure(self) -> None:
        """Start counting."""
        self.started = self.free.copy()
        self.stale, self.queued, self.waited, self.spans = [], 0.0, 0.0, []

    def step(self, service: Floats, draws: _Pool) -> None:
        """Serve the next push of every replica."""
        rows, state = self.rows, self.state
        p = self.arrival.argmin(axis=1)
        arrived = self.arrival[rows, p]
        begin = np.maximum(arrived, self.free)
        now = begin + service
        self.free = now
        self.queued += float((begin - arrived).sum())
        if self.plan.keep_spans:
            self.spans.append((int(p[0]), float(self.begun[0, p[0]]), float(arrived[0])))
        self.stale.append(self.gradients // self.c - self.pulled[rows, p])
        self.gradients += 1
        self._count(p)
        state.before_s[rows, p] = state.last_s[rows, p]
        state.last_s[rows, p] = arrived
        lead = state.pushes[rows, p] - self.slowest
        go = self.rule.goes_on(state, p, lead)
        self.arrival[rows, p] = np.inf
        self.blocked_since[rows, p] = now
        if go.all() and not self.anyone_blocked:
            self._release(rows, p, now, draws)
            return
        self.blocked[rows, p] = True
        freed = self.blocked & (state.pushes - self.slowest[:, None] <= self.rule.bound)
        freed[rows, p] |= go
        r, w = np.nonzero(freed)
        if len(r):
            self._release(r, w, now, draws)
            self.blocked[r, w] = False
        self.anyone_blocked = bool(self.blocked.any())

    def _count(self, p: Ints) -> None:
        """One push more for worker p of each replica; the least number of pushes follows."""
        rows, pushes = self.rows, self.state.pushes
        was_slowest = pushes[rows, p] == self.slowest
        pushes[rows, p] += 1
        self.at_slowest -= was_slowest
        passed = np.flatnonzero(self.at_slowest == 0)
        if len(passed):
            self.slowest[passed] += 1
            self.at_slowest[passed] = (pushes[passed] == self.slowest[passed][:, None]).sum(axis=1)

    def _release(self, r: Ints, w: Ints, now: Floats, draws: _Pool) -> None:
        """Workers w of replicas r pull and begin their next cycle."""
        at = now[r]
        think = draws.take(len(r)) * self.factors[w]
        if self.plan.stragglers is not None:
            think = think * self.plan.stragglers.factors(w, at)
        self.waited += float((at - self.blocked_since[r, w]).sum())
        self.begun[r, w] = at
        self.arrival[r, w] = at + think + self.latency_s
        self.pulled[r, w] = self.gradients[r] // self.c

    def result(self, events: int, served_s: float) -> Run:
        """What was measured since `measure`."""
        R = self.plan.replicas
        stale = np.concatenate(self.stale)
        waits = {
            "skew": self.waited,
            "server_queue": self.queued,
            "update": served_s,
            "exposed_communication": self.latency_s * events * R,
        }
        spans: tuple[Spans, ...] = ()
        if self.plan.keep_spans:
            worker, begin, end = zip(*self.spans, strict=True)
            spans = (Spans(np.array(worker), np.array(begin), np.array(end), "gradient"),)
        return Run(
            float((self.free - self.started).sum()),
            events * R,
            events * R // self.c,
            Discrete.certain(self.c, self.setting.sub_batch),
            Discrete.counted(stale),
            waits,
            spans,
        )
