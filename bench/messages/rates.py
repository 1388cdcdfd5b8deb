"""Rates as nccl-tests defines them, by named formulas over the two things that are stored: bytes and time.

algbw = bytes / time, with `bytes` as the benchmark declares them: the vector for allreduce, reduce and broadcast, all
ranks' blocks for allgather and reduce_scatter, what passes the root's link for gather, scatter and the fans.
busbw = algbw · factor; it is comparable with a link's speed when the algorithm is a ring. Trees and in-network
reduction on few nodes can exceed the link: that is no error, and busbw is therefore never stored.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Factor(NamedTuple):
    """A bus factor and its formula in words."""

    value: float
    formula: str


def bus_factor(benchmark: str, ranks: int) -> Factor:
    """Factor from algbw to busbw (nccl-tests, doc/PERFORMANCE.md). 1 where links carry the bytes once."""
    if benchmark.startswith("allreduce") and ranks > 1:
        return Factor(2 * (ranks - 1) / ranks, "2(p−1)/p")
    if benchmark in ("allgather", "reduce_scatter") and ranks > 1:
        return Factor((ranks - 1) / ranks, "(p−1)/p")
    return Factor(1.0, "1")


def algbw_Bps(bytes_: float, time_s: float) -> float:  # noqa: N802  (the unit is spelled as it is)
    """bytes / time in B/s; NaN where either is missing."""
    return bytes_ / time_s if time_s > 0 and math.isfinite(bytes_) else math.nan


def busbw_Bps(benchmark: str, ranks: int, bytes_: float, time_s: float) -> float:  # noqa: N802
    """algbw · factor in B/s."""
    return algbw_Bps(bytes_, time_s) * bus_factor(benchmark, ranks).value


def busbw_caution(ranks: int, busbw: float, link_Bps: float | None) -> str:
    """A line for a buyer where busbw exceeds the link, or ""; `link_Bps` None means that no link speed is known."""
    if link_Bps is None or not busbw > link_Bps:
        return ""
    few = " On two nodes a library may exchange without a ring." if ranks <= 2 else ""
    return f"busbw is above the link's speed: it assumes a ring, trees and in-network reduction move fewer bytes.{few}"
