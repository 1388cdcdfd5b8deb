"""Buckets of fused tensors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.messages.schedules import Algorithm
from sprintprof.bench.messages.sums import fused_tensors, plan_sums


@pytest.mark.parametrize(
    ("size", "tensors", "fusion", "together"),
    [(4096, 50, 0, 1), (4096, 50, 16384, 4), (4096, 3, 1 << 20, 3), (1 << 20, 8, 65536, 1), (4096, 50, 20000, 4)],
)
def test_how_many_go_together(size: int, tensors: int, fusion: int, together: int) -> None:
    assert fused_tensors(size, tensors, fusion) == together


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 20))
def test_buckets_cover_every_tensor_once(tensors: int, fused: int, count: int) -> None:
    plan = plan_sums(Algorithm("ring"), 1, [0, 0, 0], "fp32", count, tensors, min(fused, tensors))
    covered = [t for first, here, _ in plan.buckets() for t in range(first, first + here)]
    assert covered == list(range(tensors))
    full, last = plan.bucket_counts()
    assert full == min(fused, tensors) * count
    assert last == plan.buckets()[-1][1] * count
    if plan.fused > 1:
        assert plan.packed.size == plan.summed.size == full


def test_the_library_needs_no_steps_and_what_is_not_fused_no_buffers() -> None:
    plan = plan_sums(Algorithm("library"), 0, [0, 0], "fp64", 10, 5, 1)
    assert plan.steps == (None, None)
    assert plan.packed.size == plan.spare.size == 0


def test_spare_holds_what_is_added() -> None:
    assert plan_sums(Algorithm("ring"), 0, [0] * 4, "fp32", 100, 1, 1).spare.size == 25
    assert plan_sums(Algorithm("recursive-doubling"), 0, [0] * 4, "fp32", 100, 1, 1).spare.size == 100
