"""The CPU engine: NumPy operands, BLAS through NumPy, the host's clock."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.case import Skip
from sprintprof.bench.engines.numpy_ops import OPERATIONS
from sprintprof.bench.engines.numpy_ops.precision import check_supported, dtype_of
from sprintprof.records import InputError
from sprintprof.units import parse_size_bytes

Array = npt.NDArray[Any]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNKNOWN_CACHE_BYTES = 1 << 26
"""Half of what is written to flush where the size of the cache is unknown."""


class HostInterval:
    """The host's clock since it was made."""

    __slots__ = ("_started_ns",)

    def __init__(self) -> None:
        self._started_ns = time.perf_counter_ns()

    def stop(self) -> tuple[float, float]:
        """The seconds since then, twice: host and device are one."""
        seconds = (time.perf_counter_ns() - self._started_ns) * 1e-9
        return seconds, seconds


class NumpyEngine:
    """Implements `sprintprof.bench.engines.base.Engine` on the host.

    `threads` limits the threads of BLAS (process-wide, from here on); None leaves what the environment decided. All
    other operations use one thread, that of the caller.
    """

    name = "numpy"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None:
            if threads < 1:
                raise InputError("threads", f"{threads} is not positive", "give a number of BLAS threads ≥ 1")
            from threadpoolctl import threadpool_limits

            threadpool_limits(limits=threads, user_api="blas")
        self._flush_buffer: Array | None = None

    def device_name(self) -> str:
        """Processor, cores this process may use, BLAS with its threads."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        blas = ", ".join(f"{b['internal_api']} {b['version']} × {b['num_threads']} threads" for b in self.blas())
        return f"{_processor()}, {cores} cores, {blas or 'unknown BLAS'}"

    def blas(self) -> list[dict[str, Any]]:
        """What threadpoolctl says of each BLAS that is loaded: internal_api, version, num_threads, architecture …"""
        from threadpoolctl import threadpool_info

        return [{"version": None, **info} for info in threadpool_info() if info["user_api"] == "blas"]

    def random(self, shape: tuple[int, ...], precision: str = "fp32", *, seed: int = 0, fill: str = "random") -> Array:
        """Standard normal by `seed`, or all ones or zeros."""
        dtype = dtype_of(precision)
        if fill == "random":
            drawn = np.float64 if dtype == np.float64 else np.float32
            values = np.random.default_rng(seed).standard_normal(shape, dtype=drawn)
            return values.astype(dtype, copy=False)
        if fill not in ("ones", "zeros"):
            raise InputError("fill", f"'{fill}' is unknown", "random, ones or zeros")
        return np.full(shape, 1 if fill == "ones" else 0, dtype)

    def zeros(self, shape: tuple[int, ...], precision: str = "fp32") -> Array:
        """Zeros that were written, so that their pages exist."""
        return np.full(shape, 0, dtype_of(precision))

    def integers(self, shape: tuple[int, ...], high: int, *, seed: int = 0) -> Array:
        """int64 labels in [0, high)."""
        return np.random.default_rng(seed).integers(0, high, shape, dtype=np.int64)

    def to_host(self, array: Array) -> Array:
        """The array itself."""
        return array

    def op(self, name: str, precision: str | None = None) -> Callable[..., object]:
        """The operation of that name. Raises Skip where there is none, or none in that precision."""
        if name not in OPERATIONS:
            raise Skip(f"the numpy engine has no operation {name}")
        if precision is not None:
            check_supported(name, precision)
        return OPERATIONS[name]

    def flush_caches(self) -> None:
        """Read and write a buffer of twice the last-level cache, from the calling thread."""
        if self._flush_buffer is None:
            size = 2 * (self.last_level_cache_bytes() or _UNKNOWN_CACHE_BYTES)
            self._flush_buffer = np.full(size // 8, 0, np.int64)
        np.add(self._flush_buffer, 1, out=self._flush_buffer)

    def last_level_cache_bytes(self) -> int:
        """Size of the largest cache of the first processor; 0 where the system does not say."""
        sizes = []
        for index in _CACHES.glob("index*"):
            try:
                if (index / "type").read_text().strip() != "Instruction":
                    sizes.append(parse_size_bytes((index / "size").read_text().strip()))
            except (OSError, InputError):
                continue
        return max(sizes, default=0)

    def start(self) -> HostInterval:
        """Start the host's clock."""
        return HostInterval()

    def synchronize(self) -> None:
        """Nothing to wait for: calls return when they are done."""


def _processor() -> str:
    """The model name of the processor, or its architecture where the system does not say."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
