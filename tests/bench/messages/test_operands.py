"""Operands whose sums are exact, and the check that must notice what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintprof.bench.case import Skip
from sprintprof.bench.messages.operands import block, block_sum, byte_pattern, difference, element_count


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 700), st.sampled_from(["fp32", "fp64"]), st.integers(0, 5), st.integers(0, 999)
)
def test_the_sum_is_that_of_the_blocks(ranks: int, count: int, precision: str, seed: int, start: int) -> None:
    total = np.zeros(count)
    for rank in range(ranks):
        total += block(rank, count, precision, seed, start)
    assert (total == block_sum(ranks, count, precision, seed, start)).all()


@settings(deadline=None)
@given(st.integers(0, 600), st.integers(1, 300))
def test_a_block_that_starts_later_is_a_slice(start: int, count: int) -> None:
    assert (block(3, count, "fp64", 1, start) == block(3, start + count, "fp64", 1)[start:]).all()


def test_blocks_differ_from_rank_to_rank_and_are_small_whole_numbers() -> None:
    blocks = [block(rank, 502, "fp32") for rank in range(8)]
    assert len({b.tobytes() for b in blocks}) == 8
    for b in blocks:
        assert (b == np.round(b)).all()
        assert abs(b).max() <= 8


def test_a_wrong_sum_a_shift_and_a_lost_element_are_noticed() -> None:
    good = block_sum(4, 1000, "fp32")
    assert difference(good, block_sum(4, 1000, "fp32"), "the sum") == ""
    wrong = good.copy()
    wrong[7] += 1
    assert "1 of 1000 elements differ, first at 7" in difference(wrong, good, "the sum")
    assert "differ" in difference(np.roll(good, 1), good, "the sum")
    assert "999 elements, expected 1000" in difference(good[1:], good, "the sum")
    assert "differ" in difference(block_sum(3, 1000, "fp32"), good, "the sum")


def test_byte_patterns() -> None:
    assert byte_pattern(0, 0).size == 0
    assert byte_pattern(1, 1000, 2).shape == (1000,)
    assert (byte_pattern(0, 300) != byte_pattern(1, 300)).any()
    assert (byte_pattern(0, 600)[:251] == byte_pattern(0, 600)[251:502]).all()


def test_element_counts() -> None:
    assert element_count(1 << 20, "fp32") == 1 << 18
    assert element_count(8, "fp64") == 1
    for size, precision in ((6, "fp32"), (4, "fp64"), (0, "fp32"), (-8, "fp32"), (8, "fp8")):
        with pytest.raises(Skip):
            element_count(size, precision)
