"""Dynamic stale synchronous parallel (Zhao et al. 2019): the server lends a fast worker extra iterations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sprintprof.model.simulate.server import Flags, Ints, State
from sprintprof.model.special import Floats

Variant = Literal["literal", "capped"]


@dataclass
class Lending:
    """The rule of DSSP with bounds `lower` and `upper` on the lead.

    A push with credit spends one and goes on; within `lower` the worker goes on; beyond, the fastest worker is lent
    r* credits, at most upper − lower, if that shortens its wait; else it waits until its lead is at most `lower`.
    `literal` renews credits as printed, so that leads are not capped by `upper`; `capped` lends no more than
    upper − lead.
    """

    lower: int
    upper: int
    variant: Variant = "literal"
    credits: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))

    @property
    def bound(self) -> float:
        """A waiting worker goes on at this lead."""
        return float(self.lower)

    def begin(self, replicas: int, workers: int) -> None:
        """No credits."""
        self.credits = np.zeros((replicas, workers), np.int64)

    def goes_on(self, state: State, pusher: Ints, lead: Ints) -> Flags:
        """The decision for one push in every replica; credits change with it."""
        rows = np.arange(len(pusher))
        credit = self.credits[rows, pusher]
        spends = credit > 0
        self.credits[rows, pusher] = credit - spends
        go = spends | (lead <= self.lower)
        asked = np.flatnonzero(~go & (state.pushes[rows, pusher] == state.pushes.max(axis=1)))
        if len(asked):
            lent = self._lend(state, asked, pusher[asked], lead[asked])
            self.credits[asked, pusher[asked]] = lent
            go[asked] = lent > 0
        return go

    def _lend(self, state: State, rows: Ints, pusher: Ints, lead: Ints) -> Ints:
        """r*: the number of further pushes whose time is nearest to a push of the slowest worker."""
        slowest = state.pushes[rows].argmin(axis=1)
        now = state.last_s[rows, pusher]
        own = now - state.before_s[rows, pusher]
        theirs_last = state.last_s[rows, slowest]
        theirs = theirs_last - state.before_s[rows, slowest]
        known = np.isfinite(own) & np.isfinite(theirs) & (theirs > 0) & (state.pushes[rows, slowest] >= 2)
        most = self.upper - self.lower
        room = np.full(len(rows), most) if self.variant == "literal" else np.clip(self.upper - lead, 0, most)
        lent = np.zeros(len(rows), np.int64)
        if known.any():
            distance = _distances(now[known], own[known], theirs_last[known], theirs[known], most)
            distance[np.arange(most + 1)[None, :] > room[known][:, None]] = np.inf
            lent[known] = distance.argmin(axis=1)  # the first of equals: the smaller r
        return lent


def _distances(now: Floats, own: Floats, last: Floats, theirs: Floats, most: int) -> Floats:
    """|own push i − the slowest's nearest push| in s, shape (n, most + 1): i = 0 is the push just made."""
    pushes = now[:, None] + own[:, None] * np.arange(most + 1)
    beside = np.maximum(np.round((pushes - last[:, None]) / theirs[:, None]), 1.0)
    return np.asarray(np.abs(pushes - last[:, None] - beside * theirs[:, None]), np.float64)
