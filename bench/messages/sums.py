"""All-reduces of one or many tensors by any algorithm, fused into buckets or one by one: what a driver carries out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sprintprof.bench.messages.operands import DTYPES
from sprintprof.bench.messages.schedules import Algorithm, schedule

Steps = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SumPlan:
    """`tensors` tensors of `tensor_count` elements, `fused` of them summed at a time.

    `steps[0]` is the schedule of a full bucket, `steps[1]` that of the last one; None means the library's all-reduce.
    `packed` and `summed` hold a bucket (unused where fused is 1), `spare` what is to be added.
    """

    tensor_count: int
    tensors: int
    fused: int
    steps: tuple[Steps | None, Steps | None]
    packed: npt.NDArray[Any]
    summed: npt.NDArray[Any]
    spare: npt.NDArray[Any]

    def buckets(self) -> list[tuple[int, int, Steps | None]]:
        """(first tensor, tensors, steps) of each bucket."""
        found = []
        for first in range(0, self.tensors, self.fused):
            here = min(self.fused, self.tensors - first)
            found.append((first, here, self.steps[0] if here == self.fused else self.steps[1]))
        return found

    def bucket_counts(self) -> tuple[int, int]:
        """Elements of a full bucket and of the last one."""
        last = self.tensors % self.fused or self.fused
        return self.fused * self.tensor_count, last * self.tensor_count


def fused_tensors(tensor_bytes: int, tensors: int, fusion_bytes: int) -> int:
    """Tensors that go together in a bucket of at most `fusion_bytes` (0: no fusion); a larger tensor goes alone."""
    return min(max(fusion_bytes // tensor_bytes, 1), tensors)


def plan_sums(
    algorithm: Algorithm, rank: int, nodes: Sequence[int], precision: str, tensor_count: int, tensors: int, fused: int
) -> SumPlan:
    """The plan of rank `rank`; `nodes[r]` is rank r's node. Raises ValueError where the ranks do not suit."""
    dtype = np.dtype(DTYPES[precision])
    last = tensors % fused or fused

    def steps(count: int) -> Steps | None:
        if algorithm.name == "library":
            return None
        return np.ascontiguousarray(schedule(algorithm, rank, nodes, count, dtype.itemsize))

    full_steps, last_steps = steps(fused * tensor_count), steps(last * tensor_count)
    most = max((int(s[:, 5].max(initial=0)) for s in (full_steps, last_steps) if s is not None), default=0)
    bucket = fused * tensor_count if fused > 1 else 0
    return SumPlan(
        tensor_count, tensors, fused, (full_steps, last_steps),
        np.zeros(bucket, dtype), np.zeros(bucket, dtype), np.zeros(most, dtype),
    )  # fmt: skip
