"""What every engine offers: operands, operations, timing of device work, cache flush."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Array = Any
"""numpy.ndarray or cupy.ndarray."""


class Interval(Protocol):
    """One running timing between `Engine.start()` and `stop()`."""

    def stop(self) -> tuple[float, float]:
        """End it and wait for the work: (device seconds, host seconds). Equal on a CPU engine."""
        ...


class Engine(Protocol):
    """A device with its operations. NumPy and CuPy implement it with the same signatures."""

    name: str

    def device_name(self) -> str:
        """The device in words."""
        ...

    def random(self, shape: tuple[int, ...], precision: str = "fp32", *, seed: int = 0, fill: str = "random") -> Array:
        """An operand: standard normal by `seed`, or all ones or zeros, C order."""
        ...

    def zeros(self, shape: tuple[int, ...], precision: str = "fp32") -> Array:
        """A zeroed operand, pages touched."""
        ...

    def integers(self, shape: tuple[int, ...], high: int, *, seed: int = 0) -> Array:
        """int64 labels in [0, high)."""
        ...

    def to_host(self, array: Array) -> Any:
        """The array as numpy.ndarray."""
        ...

    def op(self, name: str, precision: str | None = None) -> Callable[..., object]:
        """The operation of that name, see `sprintprof.bench.engines.operations`.

        Raises Skip, with the reason, where the engine has none, or none in that precision.
        """
        ...

    def flush_caches(self) -> None:
        """Evict operands from the last-level cache: a buffer of at least its size, allocated once, is written."""
        ...

    def last_level_cache_bytes(self) -> int:
        """Size of what `flush_caches` flushes; 0 where unknown."""
        ...

    def start(self) -> Interval:
        """Start a timing."""
        ...

    def synchronize(self) -> None:
        """Wait until all work is done."""
        ...
