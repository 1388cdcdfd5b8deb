"""A synchronous iteration from α and β alone: fused or not, ring, hierarchical or hybrid, gradients of any width.

Jia et al. 2018: tensors are fused up to θ bytes; those over η bytes go by ring, smaller ones by masters of groups; what
backward compute hides is a share of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sprintprof.model.collectives import Link, hierarchical_masters_s, ring_s
from sprintprof.model.overlap import fuse

Algorithm = Literal["ring", "hierarchical", "hybrid"]
ALGORITHMS: tuple[Algorithm, ...] = ("ring", "hierarchical", "hybrid")


@dataclass(frozen=True)
class Scheme:
    """How gradients are exchanged: `algorithm`, tensor fusion up to `fusion_bytes` (0: none), `element_bytes`.

    `ring_above_bytes` is η of the hybrid, `group` the ranks that share a master.
    """

    algorithm: Algorithm = "ring"
    fusion_bytes: float = 0.0
    element_bytes: int = 4
    ring_above_bytes: float = 4 << 20
    group: int = 8

    def cost_s(self, size_bytes: float, ranks: int, link: Link) -> float:
        """One all-reduce of `size_bytes` among `ranks`, in s."""
        ring = self.algorithm == "ring" or (self.algorithm == "hybrid" and size_bytes > self.ring_above_bytes)
        if ring or ranks <= self.group:
            return ring_s(size_bytes, ranks, link)
        return hierarchical_masters_s(size_bytes, ranks, self.group, link, link)

    def buckets_bytes(self, elements: Sequence[int]) -> list[float]:
        """Sizes of what is exchanged at once; `elements` of the tensors in the order of backward."""
        sizes = [float(n * self.element_bytes) for n in elements]
        if self.fusion_bytes <= 0:
            return sizes
        return [bucket.size_bytes for bucket in fuse([0.0] * len(sizes), sizes, self.fusion_bytes)]


def exposed_s(
    elements: Sequence[int], scheme: Scheme, link: Link, ranks: int, compute_s: float, hidden_fraction: float
) -> float:
    """Exchange that compute does not hide, in s: all of it less `hidden_fraction` of the compute, at least the last
    bucket, which is ready only when compute ends."""
    if ranks == 1:
        return 0.0
    costs = [scheme.cost_s(size, ranks, link) for size in scheme.buckets_bytes(elements)]
    return max(sum(costs) - hidden_fraction * compute_s, costs[-1])


def scaling_efficiency(
    elements: Sequence[int], scheme: Scheme, link: Link, ranks: int, compute_s: float, hidden_fraction: float
) -> float:
    """Throughput of `ranks` GPUs over `ranks` times one GPU's."""
    return compute_s / (compute_s + exposed_s(elements, scheme, link, ranks, compute_s, hidden_fraction))
