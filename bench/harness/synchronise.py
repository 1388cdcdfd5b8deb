"""Bringing ranks together before a sample: by a barrier, or by a start time that all clocks agree on."""

from __future__ import annotations

import statistics
from typing import Any, Protocol

import numpy as np

from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.clocksync import SharedClock

REFRESH_S = 1.0
"""Age at which clock offsets are estimated anew."""

LEAST_SLACK_S = 50e-6
MOST_SLACK_S = 20e-3
"""Bounds of the time between announcing a start and the start."""

PATIENCE = 4
"""Starts in a row with a late rank, at the greatest slack, after which barriers take over."""


BARRIERS = 11
"""Barriers timed to learn how long one takes."""


class Synchroniser(Protocol):
    """What makes ranks start together. `skew_s` bounds how far apart they start, as rank 0 knows it."""

    @property
    def skew_s(self) -> float:
        """That bound, in s."""
        ...

    def meet(self) -> bool:
        """Return on all ranks at the same time as far as possible (collective); True if this rank was late."""
        ...

    def report(self, any_late: bool) -> None:
        """Rank 0 learns whether any rank was late at the last start."""
        ...

    def name(self) -> str:
        """What was used, for the record."""
        ...


class BarrierStart:
    """A barrier before every sample. Ranks leave it at different times, within the time that it takes: the barrier's
    algorithm leaks into the result by as much.
    """

    def __init__(self, comm: Any, clock: RunClock) -> None:
        self._comm = comm
        taken = []
        for _ in range(BARRIERS):
            begin_s = clock.now_s()
            comm.Barrier()
            taken.append(clock.now_s() - begin_s)
        self.skew_s = statistics.median(taken)

    def meet(self) -> bool:
        self._comm.Barrier()
        return False

    def report(self, any_late: bool) -> None:
        pass

    def name(self) -> str:
        return "barrier"


class WindowStart:
    """A start time on rank 0's clock, announced ahead; every rank waits for it on its own clock.

    Rank 0 lengthens the notice while ranks come late, and falls back to barriers when the longest does not help.
    """

    def __init__(self, comm: Any, clock: RunClock) -> None:
        self._comm = comm
        self._clock = clock
        self._barrier = BarrierStart(comm, clock)
        self._root = comm.Get_rank() == 0
        self._shared = SharedClock(comm, clock)
        self._refreshed_s = clock.now_s()
        self._slack_s = LEAST_SLACK_S
        self._late_in_a_row = 0
        self._fallen_back = False

    @property
    def skew_s(self) -> float:
        return self._barrier.skew_s if self._fallen_back else 2 * self._shared.error_s

    def meet(self) -> bool:
        # the start on rank 0's clock, whether offsets are to be refreshed first, whether barriers have taken over
        notice = np.zeros(3)
        if self._root:
            old = self._clock.now_s() - self._refreshed_s > REFRESH_S
            notice[:] = self._clock.now_s() + self._slack_s, float(old), float(self._fallen_back)
        self._comm.Bcast(notice, root=0)
        if notice[2]:
            self._fallen_back = True
            return self._barrier.meet()
        if notice[1]:
            self._shared.refresh()
            self._refreshed_s = self._clock.now_s()
            return self.meet()
        start_s = self._shared.to_own_s(float(notice[0]))
        if self._clock.now_s() > start_s:
            return True
        while self._clock.now_s() < start_s:
            pass
        return False

    def report(self, any_late: bool) -> None:
        self._late_in_a_row = self._late_in_a_row + 1 if any_late else 0
        if not any_late:
            return
        if self._slack_s < MOST_SLACK_S:
            self._slack_s = min(2 * self._slack_s, MOST_SLACK_S)
            self._late_in_a_row = 0
        elif self._late_in_a_row >= PATIENCE:
            self._fallen_back = True

    def name(self) -> str:
        return "window, then barrier" if self._fallen_back else "window"


def synchroniser(kind: str, comm: Any, clock: RunClock) -> Synchroniser:
    """The Synchroniser of that kind for all ranks of `comm` (collective)."""
    return WindowStart(comm, clock) if kind == "window" else BarrierStart(comm, clock)
