"""A device with a known time on a clock of its own: nothing here depends on how busy the machine is."""

# A communicator has the names of mpi4py:
# ruff: noqa: N802

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sprintprof.bench.case import Work
from sprintprof.bench.harness.clock import RunClock
from sprintprof.records import Point

READ_S = 30e-9


class FakeInterval:
    def __init__(self, device: FakeDevice) -> None:
        self._device = device
        device.log.append("start")
        self._host_s = device.read()
        self._event_s = max(device.now_s, device.idle_at_s)

    def stop(self) -> tuple[float, float]:
        device = self._device
        event_s = max(device.now_s, device.idle_at_s)
        device.synchronize()
        host_s = device.read() - self._host_s
        device.log.append("stop")
        return device.seen(event_s) - device.seen(self._event_s), host_s


class FakeDevice:
    """Runs kernels in order behind an asynchronous queue.

    A launch costs the host `launch_s`, waiting for the device `wait_s`; where `depth` launches are outstanding it waits
    for the oldest. The timer shows whole ticks of `tick_s` (0: exact), or nothing at all if `blind`. `clock` is the run's
    clock on the same time.
    """

    name = "fake"

    def __init__(
        self, launch_s: float = 0.0, depth: int = 1_000_000, tick_s: float = 0.0, blind: bool = False, cache: int = 0
    ) -> None:
        self.launch_s = launch_s
        self.wait_s = 0.0
        self.depth = depth
        self.tick_s = tick_s
        self.blind = blind
        self.cache_bytes = cache
        self.now_s = 100.0
        self.idle_at_s = 0.0
        self.launches = 0
        self.waits = 0
        self.slept_s = 0.0
        self.log: list[str] = []
        self._ends_s: deque[float] = deque()
        self.clock = RunClock(self.read, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self.now_s += seconds

    def read(self) -> float:
        self.now_s += READ_S
        return self.seen(self.now_s)

    def seen(self, at_s: float) -> float:
        if self.blind:
            return 0.0
        return at_s if self.tick_s == 0 else np.floor(at_s / self.tick_s) * self.tick_s

    def launch(self, kernel_s: float) -> None:
        self.launches += 1
        self.log.append("kernel")
        while self._ends_s and self._ends_s[0] <= self.now_s:
            self._ends_s.popleft()
        if len(self._ends_s) >= self.depth:
            self.waits += 1
            self.now_s = self._ends_s.popleft()
        self.now_s += self.launch_s
        self.idle_at_s = max(self.now_s, self.idle_at_s) + kernel_s
        self._ends_s.append(self.idle_at_s)

    def start(self) -> FakeInterval:
        return FakeInterval(self)

    def synchronize(self) -> None:
        self.now_s = max(self.now_s, self.idle_at_s) + self.wait_s

    def flush_caches(self) -> None:
        self.log.append("flush")
        self.launch(1e-3)
        self.log.pop()

    def last_level_cache_bytes(self) -> int:
        return self.cache_bytes

    def random(self, shape: tuple[int, ...], precision: str = "fp32", *, seed: int = 0, fill: str = "random") -> Any:
        self.log += ["alloc", "fill"]
        return np.ones(shape)

    def kernel(self, times_s: Iterator[float] | Callable[[], float] | float) -> Callable[[], None]:
        """A call whose kernel takes the next of `times_s`, or always the same."""
        if isinstance(times_s, float):
            constant = times_s
            return lambda: self.launch(constant)
        following = times_s if callable(times_s) else times_s.__next__
        return lambda: self.launch(following())


@pytest.fixture
def make_device() -> type[FakeDevice]:
    return FakeDevice


@pytest.fixture
def point() -> Point:
    return Point("fake", "fake", {"n": 1, "precision": "fp32"})


@pytest.fixture
def warm() -> Callable[..., Work]:
    """Work that lets no cache be flushed."""
    return lambda call, **more: Work(call=call, cache="untouched", **more)


class ThreadComm:
    """A communicator whose ranks are threads, with the few calls of mpi4py that the harness uses.

    A rank that stays away breaks the barrier after 10 s instead of hanging the tests.
    """

    def __init__(self, rank: int, shared: dict[str, Any]) -> None:
        self._rank = rank
        self._shared = shared

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return int(self._shared["size"])

    def Barrier(self) -> None:
        self._shared["barrier"].wait(10)

    def _exchange(self, mine: Any) -> list[Any]:
        board = self._shared["board"]
        board[self._rank] = mine
        self.Barrier()
        everyone = list(board)
        self.Barrier()
        return everyone

    def allgather(self, mine: Any) -> list[Any]:
        return self._exchange(mine)

    def scatter(self, everyone: list[Any] | None) -> Any:
        return self._exchange(everyone)[0][self._rank]

    def Bcast(self, array: Any, root: int = 0) -> None:
        array[:] = self._exchange(array.copy())[root]

    def Gather(self, mine: Any, everyone: Any, root: int = 0) -> None:
        found = self._exchange(mine.copy())
        if self._rank == root:
            everyone[:] = found

    def Allreduce(self, mine: Any, total: Any) -> None:
        total[:] = sum(self._exchange(mine.copy()))

    def Send(self, array: Any, dest: int, tag: int = 0) -> None:
        self._shared["mail"][self._rank, dest].put(array.copy())

    def Recv(self, array: Any, source: int, tag: int = 0) -> None:
        array[:] = self._shared["mail"][source, self._rank].get(timeout=10)


@pytest.fixture
def on_ranks() -> Callable[[int, Callable[[ThreadComm], Any]], list[Any]]:
    """Run a function of a communicator on `size` threads; what each returned, or raise what one raised."""

    def run(size: int, body: Callable[[ThreadComm], Any]) -> list[Any]:
        shared: dict[str, Any] = {
            "size": size,
            "barrier": threading.Barrier(size),
            "board": [None] * size,
            "mail": {(a, b): queue.SimpleQueue() for a in range(size) for b in range(size)},
        }
        with concurrent.futures.ThreadPoolExecutor(size) as pool:
            ranks = [pool.submit(body, ThreadComm(rank, shared)) for rank in range(size)]
            return [rank.result() for rank in ranks]

    return run
