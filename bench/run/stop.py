"""Ctrl-C and the scheduler's signals: stop cleanly, with what was measured."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)


class StopRequest:
    """Set by a signal. While `interruptible` (one process alone measures) the signal breaks the measurement off; else
    (ranks are inside messages that must be matched) the point is finished first."""

    def __init__(self) -> None:
        self.signal = ""
        self._interruptible = False

    def __bool__(self) -> bool:
        return bool(self.signal)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """In this block a signal raises KeyboardInterrupt."""
        self._interruptible = True
        try:
            if self.signal:
                raise KeyboardInterrupt
            yield
        finally:
            self._interruptible = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.signal = signal.Signals(number).name
        if self._interruptible:
            raise KeyboardInterrupt


@contextmanager
def catch_signals(leader: bool) -> Iterator[StopRequest]:
    """Install the handlers for a run. Ranks that do not lead ignore the signals: the leader tells them."""
    request = StopRequest()
    handler = request.handle if leader else signal.SIG_IGN
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield request
    finally:
        for number, old in before.items():
            signal.signal(number, old)
