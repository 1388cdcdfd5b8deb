"""Waiting for the lock of a node's gradient buffer: a closed queue of G threads and one server."""

from __future__ import annotations


def lock_wait_s(threads: int, think_s: float, hold_s: float, hold_cv: float = 0.0) -> float:
    """Mean wait (s) of one push for the lock that each of `threads` GPU threads holds for `hold_s` once a cycle.

    `think_s` is the rest of the cycle. Mean value analysis of the closed queue, first in first out, with the residual
    of a hold in progress (Reiser and Lavenberg 1980; residual as in Pollaczek–Khinchine). 0 for one thread. Phases
    count as independent: at low jitter a single run may settle in an order without any wait.
    """
    if threads < 2 or hold_s <= 0:
        return 0.0
    residual = hold_s * (1 + hold_cv**2) / 2
    queue = busy = 0.0
    stay = hold_s
    for n in range(1, threads + 1):
        stay = hold_s + max(queue - busy, 0.0) * hold_s + busy * residual
        rate = min(n / (think_s + stay), 1 / hold_s)
        stay = max(stay, n * hold_s - think_s)  # one server gives no more than 1/hold
        queue, busy = rate * stay, rate * hold_s
    return stay - hold_s
