"""Compute to run beside messages: matrix products of one size on the case's engine, one BLAS share per rank."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from sprintprof.bench.engines.base import Engine
from sprintprof.bench.messages.nodes import nodes_of


class Compute:
    """Matrix products (dimension, dimension), fp32. BLAS gets the rank's share of its CPUs until `close`."""

    def __init__(self, engine: Engine, comm: Any, dimension: int, seed: int) -> None:
        """Collective."""
        from threadpoolctl import threadpool_limits

        nodes = nodes_of(comm)
        cpus = sorted(os.sched_getaffinity(0))
        mine = (nodes[comm.rank], cpus)
        sharing = sum(other == mine for other in zip(nodes, comm.allgather(cpus), strict=True))
        self.threads = max(len(cpus) // sharing, 1)
        self._limits = threadpool_limits(limits=self.threads, user_api="blas")
        self._engine = engine
        self._gemm = engine.op("gemm")
        shape = (dimension, dimension)
        self._a, self._b = (engine.random(shape, seed=seed + i) for i in (0, 1))
        self._out = engine.zeros(shape)
        self.bytes = 3 * 4 * dimension * dimension

    def run(self, products: int, between: Callable[[], object] | None = None) -> float:
        """So many products, `between` after each; seconds until the device is done."""
        began = time.perf_counter()
        for _ in range(products):
            self._gemm(self._a, self._b, self._out)
            if between is not None:
                between()
        self._engine.synchronize()
        return time.perf_counter() - began

    def products_for(self, comm: Any, target_s: float) -> int:
        """Products that take about `target_s` on the slowest rank, at least one. Collective."""
        self.run(2)
        one_s = statistics.median(self.run(1) for _ in range(5))
        return max(round(target_s / float(max(comm.allgather(one_s)))), 1)

    def close(self) -> None:
        """Give BLAS its threads back."""
        self._limits.restore_original_limits()
