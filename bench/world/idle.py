"""Ranks that do not take part wait without spinning; rank 0 wakes them with a message."""

from __future__ import annotations

import time
from typing import Any

from sprintprof.bench.world.world import World

TAG = 4711
POLL_S = 0.01
"""Pause between two looks of a rank that does not hear the bell: it bounds the wake-up latency."""
EAGER_POLL_S, EAGER_S = 0.0002, 0.05
"""After a ring a rank looks often for a while: a library may need several looks to bring a message up."""
SAFETY_S = 0.5
"""Pause of a rank that does hear it; it looks now and then all the same."""


def wake(world: World, message: object) -> None:
    """Rank 0: hand `message` (any picklable object) to every other rank that is or will be in `idle_until`."""
    if world.control is None:
        return
    requests = [world.control.isend(message, dest=rank, tag=TAG) for rank in range(1, world.size)]
    if world.bell is not None:
        world.bell.ring()
    for request in requests:
        request.wait()


def idle_until(world: World) -> Any:
    """Other ranks: sleep until rank 0 wakes them, and return its message.

    Latency: tens of µs on rank 0's machine (a bell), at most about POLL_S elsewhere.
    """
    bell = world.bell
    if bell is None:
        raise RuntimeError("a serial world has no ranks that could idle")
    pause_s = SAFETY_S if bell.hears else POLL_S
    eager_until_s = 0.0
    while True:
        message = world.control.improbe(source=0, tag=TAG)
        if message is not None:
            return message.recv()
        eager = time.monotonic() < eager_until_s
        if bell.wait(EAGER_POLL_S if eager else pause_s):
            eager_until_s = time.monotonic() + EAGER_S
