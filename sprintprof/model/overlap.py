"""How much of the gradient exchange hides behind backward compute: layer-wise overlap with tensor fusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bucket:
    """Tensors that are exchanged together: when the last is ready (s since backward began), bytes."""

    ready_s: float
    size_bytes: float


@dataclass(frozen=True)
class Exchange:
    """All exchange time (s), and the part after backward has ended."""

    total_s: float
    exposed_s: float

    @property
    def hidden_fraction(self) -> float:
        """Share that no GPU waits for."""
        return 1 - self.exposed_s / self.total_s if self.total_s > 0 else 0.0


def fuse(backward_s: Sequence[float], tensor_bytes: Sequence[float], fusion_bytes: float) -> list[Bucket]:
    """Pack tensors in the order in which backward makes them until a bucket holds at least `fusion_bytes`.

    `backward_s` and `tensor_bytes` are by layer in order of backward; a layer without parameters has 0 bytes.
    """
    buckets: list[Bucket] = []
    now = held = 0.0
    for took_s, size in zip(backward_s, tensor_bytes, strict=True):
        now += took_s
        held += size
        if size > 0 and held >= fusion_bytes:
            buckets.append(Bucket(now, held))
            held = 0.0
    if held > 0:
        buckets.append(Bucket(now, held))
    return buckets


def exchange(buckets: Sequence[Bucket], cost_s: Callable[[float], float], backward_s: float) -> Exchange:
    """Exchange the buckets one after the other, each as soon as it is ready and the channel is free."""
    free = total = 0.0
    for bucket in buckets:
        took = cost_s(bucket.size_bytes)
        free = max(free, bucket.ready_s) + took
        total += took
    return Exchange(total, max(free - backward_s, 0.0))
