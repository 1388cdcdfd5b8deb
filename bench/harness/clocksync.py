"""Clocks of several ranks: how far each is from rank 0's, now and as it drifts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sprintprof.bench.harness.clock import RunClock

ROUNDS = 20
"""Ping-pongs per rank and estimate; the one with the shortest round trip counts."""

KEPT = 8
"""Estimates the drift is fitted to."""

TAG = 7301


class SharedClock:
    """Rank 0's clock as every rank of `comm` sees it. `refresh` is collective, and so is the constructor.

    The offset is that of the ping-pong with the shortest round trip, taken at its middle (Cristian 1989); it errs by at
    most half of that round trip: `error_s` (on rank 0 the greatest of all ranks). With several estimates a straight
    line through them follows the drift (Hunold and Carpen-Amarie 2015). Rank 0 asks the others in turn: 40 messages a
    rank.
    """

    def __init__(self, comm: Any, clock: RunClock) -> None:
        self._comm = comm
        self._clock = clock
        self._rank: int = comm.Get_rank()
        self._size: int = comm.Get_size()
        self._points: list[tuple[float, float]] = []
        self.error_s = 0.0
        self.refresh()

    def refresh(self) -> None:
        """Estimate once more (collective)."""
        if self._rank == 0:
            estimates = [(self._clock.now_s(), 0.0, 0.0)]
            estimates += [self._ask(rank) for rank in range(1, self._size)]
        else:
            self._answer()
            estimates = []
        at_s, offset_s, trip_s = self._comm.scatter(estimates if self._rank == 0 else None)
        self._points = [*self._points, (at_s, offset_s)][-KEPT:]
        self.error_s = trip_s / 2 if self._rank else max(trip / 2 for _, _, trip in estimates)

    def to_own_s(self, root_s: float) -> float:
        """The time on this rank's clock when rank 0's shows `root_s`."""
        at_s, offset_s = np.array(self._points).T
        if len(at_s) > 1 and np.ptp(at_s) > 0:
            slope, level = np.polyfit(at_s - at_s[-1], offset_s, 1)
            return float(root_s + level + slope * (root_s - at_s[-1]))
        return root_s + float(offset_s[-1])

    def _ask(self, rank: int) -> tuple[float, float, float]:
        """(rank 0's time, that rank's clock less rank 0's, round trip), all in s."""
        ball = np.zeros(1)
        best = (0.0, 0.0, np.inf)
        for _ in range(ROUNDS):
            sent_s = self._clock.now_s()
            self._comm.Send(ball, dest=rank, tag=TAG)
            self._comm.Recv(ball, source=rank, tag=TAG)
            back_s = self._clock.now_s()
            if back_s - sent_s < best[2]:
                middle_s = (sent_s + back_s) / 2
                best = (middle_s, float(ball[0]) - middle_s, back_s - sent_s)
        return best

    def _answer(self) -> None:
        ball = np.zeros(1)
        for _ in range(ROUNDS):
            self._comm.Recv(ball, source=0, tag=TAG)
            ball[0] = self._clock.now_s()
            self._comm.Send(ball, dest=0, tag=TAG)
