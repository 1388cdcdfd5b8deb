"""Costs of communication in closed form (n bytes, p ranks; α s, β s/B, γ reduce s/B): MODEL.md's table.

Sources: Thakur, Rabenseifner and Gropp 2005 (ring, recursive doubling, Rabenseifner); Jia et al. 2018 (hierarchical).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """α in s, β in s/B, γ in s/B of a reduction."""

    alpha_s: float
    beta_s_per_byte: float
    gamma_s_per_byte: float = 0.0


def point_to_point_s(n: float, link: Link) -> float:
    """One message of n bytes."""
    return link.alpha_s + link.beta_s_per_byte * n


def all_to_one_s(n: float, senders: int, link: Link, nic_s_per_byte: float) -> float:
    """`senders` messages of n bytes into one receiver whose interface takes `nic_s_per_byte`."""
    return link.alpha_s * senders + max(link.beta_s_per_byte * n, nic_s_per_byte * senders * n)


def ring_s(n: float, p: int, link: Link) -> float:
    """Ring all-reduce: reduce-scatter and all-gather in p − 1 steps each."""
    share = n * (p - 1) / p
    return 2 * (p - 1) * link.alpha_s + 2 * share * link.beta_s_per_byte + share * link.gamma_s_per_byte


def _fold_s(n: float, p: int, link: Link) -> float:
    """What ranks beyond a power of two cost: one step before and one after."""
    if p & (p - 1) == 0:
        return 0.0
    return 2 * link.alpha_s + 2 * n * link.beta_s_per_byte + n * link.gamma_s_per_byte


def recursive_doubling_s(n: float, p: int, link: Link) -> float:
    """Recursive doubling: the whole vector in each of ⌊log2 p⌋ steps."""
    steps = int(math.log2(p))
    return steps * (link.alpha_s + n * (link.beta_s_per_byte + link.gamma_s_per_byte)) + _fold_s(n, p, link)


def rabenseifner_s(n: float, p: int, link: Link) -> float:
    """Rabenseifner: reduce-scatter by halving, all-gather by doubling."""
    share = n * (p - 1) / p
    steps = 2 * int(math.log2(p)) * link.alpha_s
    return steps + 2 * share * link.beta_s_per_byte + share * link.gamma_s_per_byte + _fold_s(n, p, link)


def hierarchical_masters_s(n: float, p: int, k: int, inside: Link, between: Link, pipelined: bool = True) -> float:
    """Jia et al.: reduce in groups of k to a master, ring over the p/k masters, broadcast in the group.

    `pipelined`: the group's reduce and broadcast go in chunks around a chain of k: 4(k − 1) steps of α and the data
    twice; else by a tree of log2 k steps with the whole vector.
    """
    groups = max(p // k, 1)
    ring = ring_s(n, groups, between) if groups > 1 else 0.0
    if k == 1:
        return ring
    if pipelined:
        data = 2 * n * inside.beta_s_per_byte + n * inside.gamma_s_per_byte
        return 4 * (k - 1) * inside.alpha_s + data + ring
    steps = math.log2(k)
    tree = 2 * steps * (inside.alpha_s + n * inside.beta_s_per_byte) + steps * n * inside.gamma_s_per_byte
    return tree + ring


def hierarchical_scatter_s(n: float, g: int, k: int, inside: Link, between: Link, one_nic: bool = False) -> float:
    """Reduce-scatter in each of g nodes of k, all-reduce of the shares between nodes, all-gather in the node.

    With `one_nic` the k shares of a node pass one interface, so that the term between nodes carries n.
    """
    local = n * (k - 1) / k
    within = 2 * (k - 1) * inside.alpha_s + 2 * local * inside.beta_s_per_byte + local * inside.gamma_s_per_byte
    carried = n if one_nic else n / k
    return within + (ring_s(carried, g, between) if g > 1 else 0.0)
