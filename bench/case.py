"""What a benchmark function gets (Case) and gives back (Work)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from sprintprof.records import Value

if TYPE_CHECKING:
    from sprintprof.bench.engines.base import Engine


class Case(msgspec.Struct, frozen=True):
    """One point as a benchmark function sees it.

    `engine` holds operands and operations; `comm` is the mpi4py communicator of exactly the ranks that take part
    (None for serial benchmarks); `seed` and `fill` ("random", "zeros", "ones") determine the operands; `scratch`
    is a folder for files.
    """

    parameters: dict[str, Value]
    engine: Engine
    comm: Any = None
    seed: int = 0
    fill: str = "random"
    scratch: str = "."

    def int(self, name: str) -> int:
        """An integer parameter."""
        return int(self.parameters[name])

    def str(self, name: str) -> str:
        """A text parameter."""
        return str(self.parameters[name])


class Skip(Exception):  # noqa: N818  (it is an outcome, not an error)
    """Raised by a benchmark function: the point cannot be measured here, with the reason."""


class Work(msgspec.Struct):
    """What is to be timed. Operands exist when it is returned; `call` allocates nothing on the device.

    `call` is one call; it performs `operations` operations, and times are reported per operation (a ping-pong call
    is one round trip = 2 one-way messages). `flop` and `bytes` are per operation. `working_set_bytes` decides
    whether cold caches matter. `cache` "cold" lets the harness flush before each sample; benchmarks that manage
    caches themselves (storage) or for which it means nothing (messages) say "untouched". `before_sample` runs
    untimed before each sample (drop a page cache, reset a buffer). `verify` returns "" or what is wrong with the
    result of the last call. `close` frees files and requests. `timed`, if given, replaces the harness's own timing of
    one sample: it performs one call and returns its seconds (for benchmarks where only part of a call counts).
    `path` says what `bytes` move through, and so which limit of the machine applies: "memory", "link" (host to
    device), "network", or "none". `symmetric` is False where ranks have different jobs (a root), so that a slower one
    is no straggler. `prime` runs untimed after a flush: the same operation on small operands of its own, so that its
    code is warm again and only the operands are cold (on a CPU a flush evicts code too: 30-60 µs a call). `flags` are
    those of `sprintprof.records.FLAGS` that only the benchmark can know: "staged", "emulated".
    """

    call: Callable[[], object]
    flop: float = float("nan")
    bytes: float = float("nan")
    operations: int = 1
    working_set_bytes: int = 0
    cache: str = "cold"
    before_sample: Callable[[], None] | None = None
    verify: Callable[[], str] | None = None
    close: Callable[[], None] | None = None
    timed: Callable[[], float] | None = None
    path: str = "memory"
    symmetric: bool = True
    prime: Callable[[], object] | None = None
    flags: tuple[str, ...] = ()
    extra: dict[str, Value] = {}
