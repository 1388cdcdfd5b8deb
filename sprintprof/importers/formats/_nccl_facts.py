"""What nccl-tests' tables say without saying it: the collective and the number of ranks, from algbw and busbw."""

from __future__ import annotations

import math
from collections.abc import Sequence

FORMULAS = {
    "allreduce": "algbw · 2(p−1)/p",
    "allgather": "algbw · (p−1)/p",
    "reduce_scatter": "algbw · (p−1)/p",
    "alltoall": "algbw · (p−1)/p",
}
"""busbw of each collective as nccl-tests defines it (doc/PERFORMANCE.md); for all others busbw = algbw."""

MOST_RANKS = 1 << 20


def bus_factor(benchmark: str, ranks: int) -> float:
    """busbw / algbw on that many ranks."""
    share = (ranks - 1) / ranks
    return 2 * share if benchmark == "allreduce" else share if benchmark in FORMULAS else 1.0


def ranks_from_rates(benchmark: str, rates: Sequence[tuple[float, float]], step: float = 0.005) -> int | None:
    """The one number of ranks that all rows' (algbw, busbw) allow, rounded as they are to ±`step`; None if not one."""
    if benchmark not in FORMULAS:
        return None
    low, high = 1.0, float(MOST_RANKS)
    for algbw, busbw in rates:
        if algbw <= 20 * step or busbw <= 20 * step:
            continue
        factor = 2.0 if benchmark == "allreduce" else 1.0
        least = (busbw - step) / (algbw + step) / factor
        most = (busbw + step) / (algbw - step) / factor
        low = max(low, 1 / (1 - least) if least < 1 else math.inf)
        high = min(high, 1 / (1 - most) if most < 1 else math.inf)
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    return first if first == last and first >= 2 else None


def collective_from_rates(redop: str, root: str, rates: Sequence[tuple[float, float]]) -> str | None:
    """An all-reduce shows itself: a sum without root whose busbw is above its algbw. None for all others."""
    clear = [(a, b) for a, b in rates if a > 1.0]
    above = bool(clear) and all(b > 1.005 * a for a, b in clear)
    return "allreduce" if redop not in ("", "none") and root in ("", "-1") and above else None
