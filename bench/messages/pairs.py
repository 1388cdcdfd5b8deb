"""Pairs of ranks: rounds in which everybody has one partner, and what the times of all pairs say about whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Pair = tuple[int, int]
Floats = npt.NDArray[np.float64]


def round_count(ranks: int) -> int:
    """Rounds after which every pair has met once."""
    return ranks - 1 if ranks % 2 == 0 else ranks


def pairs_of_round(ranks: int, number: int) -> list[Pair]:
    """Disjoint pairs (lower, higher) of round `number`, by the circle method; with an odd number one rank rests."""
    turning = ranks + ranks % 2 - 1
    met = [(turning, number % turning)]  # the last seat stays, the others turn
    met += [((number + k) % turning, (number - k) % turning) for k in range(1, (turning + 1) // 2)]
    return sorted((min(a, b), max(a, b)) for a, b in met if max(a, b) < ranks)


def partner_of(ranks: int, number: int, rank: int) -> int | None:
    """Whom `rank` meets in that round; None where it rests."""
    for a, b in pairs_of_round(ranks, number):
        if rank in (a, b):
            return b if rank == a else a
    return None


def covering_rounds(ranks: int, most: int) -> list[int]:
    """At most `most` rounds, spread evenly: every rank is in each of them, so every node is covered that often."""
    total = round_count(ranks)
    return sorted({i * total // most for i in range(most)}) if most < total else list(range(total))


def pair_times(ranks: int, number: int, rank_times_s: Floats) -> dict[Pair, Floats]:
    """Samples of every pair of a round, in s: the slower end's time. `rank_times_s` is (samples, ranks)."""
    return {
        (a, b): np.maximum(rank_times_s[:, a], rank_times_s[:, b]) for a, b in pairs_of_round(ranks, number)
    }  # fmt: skip


class Slow(msgspec.Struct, frozen=True):
    """Something slower than the rest: a node `(i,)` or a link `(i, j)`; its time over what the others lead one to
    expect, with a 95 % interval over resampled samples."""

    who: tuple[int, ...]
    factor: float
    low: float
    high: float


class PairMap(msgspec.Struct, frozen=True):
    """Typical time of a pair in s, each node's factor on it, what is slow."""

    typical_s: float
    node_factors: dict[int, float]
    slow_nodes: list[Slow]
    slow_links: list[Slow]


SLOW = 1.2
"""Slower than expected by this much, with its whole interval: then it is named."""
DRAWS = 200


def map_pairs(times: Mapping[Pair, Floats], seed: int = 0) -> PairMap:
    """Which nodes and links are slow, from samples of every pair (or of a covering set of rounds).

    Robust fit of log t_ij = µ + max(n_i, n_j) + link_ij: a pair is as slow as its slower node, and medians keep a few
    slow ones from colouring the rest. A node is told from its links only by several partners: with fewer than three
    pairs for a node only links are named.
    """
    if not times:
        raise ValueError("no pairs were measured")
    pairs = list(times)
    fit = _fit(pairs, _resampled_logs([times[p] for p in pairs], np.random.default_rng(seed)))
    slow_nodes = [_slow((n,), fit.excess[:, k]) for k, n in enumerate(fit.nodes) if _partners(pairs, n) >= 3]
    slow_links = [_slow(p, fit.links[:, k]) for k, p in enumerate(pairs)]
    return PairMap(
        typical_s=float(np.exp(fit.typical[0])),
        node_factors={n: float(np.exp(fit.excess[0, k])) for k, n in enumerate(fit.nodes)},
        slow_nodes=sorted((s for s in slow_nodes if s.low > SLOW), key=lambda s: -s.factor),
        slow_links=sorted((s for s in slow_links if s.low > SLOW), key=lambda s: -s.factor),
    )


def _resampled_logs(samples: list[Floats], rng: np.random.Generator) -> Floats:
    """log of the median of each pair, (1 + DRAWS, pairs): first as measured, then of samples drawn with replacement."""
    columns = []
    for taken in samples:
        drawn = taken[rng.integers(0, len(taken), (DRAWS, len(taken)))]
        columns.append(np.concatenate([[np.median(taken)], np.median(drawn, axis=1)]))
    logs: Floats = np.log(np.array(columns).T)
    return logs


class _Fit(NamedTuple):
    """Arrays over draws: the typical log time (draws,), each node's excess ≥ 0 (draws, nodes), each link's excess
    beyond its nodes (draws, pairs)."""

    nodes: list[int]
    typical: Floats
    excess: Floats
    links: Floats


def _fit(pairs: list[Pair], logs: Floats) -> _Fit:
    """Nodes whose usual pair is not slow are healthy; the pairs among them are typical; a node's excess is that of its
    usual pair with a healthy one, so that two slow nodes do not excuse each other."""
    nodes = sorted({n for p in pairs for n in p})
    at = {n: k for k, n in enumerate(nodes)}
    ends = np.array([(at[a], at[b]) for a, b in pairs])
    of_node = [np.flatnonzero((ends == k).any(axis=1)) for k in range(len(nodes))]
    usual = np.array([np.median(logs[:, mine], axis=1) for mine in of_node]).T
    middle = np.median(logs, axis=1)
    healthy = usual <= (middle + np.log(SLOW))[:, None]
    typical = _masked_median(logs, healthy[:, ends].all(axis=2), middle)
    excess = np.zeros_like(usual)
    for k, mine in enumerate(of_node if len(nodes) > 2 else []):
        other = np.where(ends[mine, 0] == k, ends[mine, 1], ends[mine, 0])
        excess[:, k] = np.maximum(_masked_median(logs[:, mine], healthy[:, other], usual[:, k]) - typical, 0.0)
    links = logs - typical[:, None] - excess[:, ends].max(axis=2)
    return _Fit(nodes, typical, excess, links)


def _masked_median(values: Floats, keep: npt.NDArray[np.bool_], otherwise: Floats) -> Floats:
    """Median of each row over the kept columns; `otherwise` where a row keeps none."""
    some = keep.any(axis=1)
    result = otherwise.copy()
    result[some] = np.nanmedian(np.where(keep[some], values[some], np.nan), axis=1)
    return result


def _partners(pairs: list[Pair], node: int) -> int:
    return sum(node in p for p in pairs)


def _slow(who: tuple[int, ...], excess: Floats) -> Slow:
    """From its log excess, as measured and over draws."""
    low, high = np.quantile(excess[1:], (0.025, 0.975))
    return Slow(who, float(np.exp(excess[0])), float(np.exp(low)), float(np.exp(high)))
