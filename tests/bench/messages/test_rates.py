"""algbw and busbw by named formulas (U33)."""

from __future__ import annotations

import math

import pytest

from sprintprof.bench.messages.rates import algbw_Bps, bus_factor, busbw_Bps, busbw_caution


@pytest.mark.parametrize(
    ("benchmark", "ranks", "factor", "formula"),
    [
        ("allreduce", 2, 1.0, "2(p−1)/p"),
        ("allreduce", 16, 1.875, "2(p−1)/p"),
        ("allreduce_fused", 4, 1.5, "2(p−1)/p"),
        ("allgather", 4, 0.75, "(p−1)/p"),
        ("reduce_scatter", 8, 0.875, "(p−1)/p"),
        ("broadcast", 8, 1.0, "1"),
        ("reduce", 8, 1.0, "1"),
        ("pingpong", 2, 1.0, "1"),
        ("allreduce", 1, 1.0, "1"),
    ],
)
def test_factors(benchmark: str, ranks: int, factor: float, formula: str) -> None:
    """U33: n = 2 has the factor 1, n = 16 has 1.875."""
    assert bus_factor(benchmark, ranks) == (factor, formula)


def test_rates() -> None:
    assert algbw_Bps(1e9, 0.5) == 2e9
    assert busbw_Bps("allreduce", 16, 1e9, 0.5) == 3.75e9
    assert math.isnan(algbw_Bps(math.nan, 1.0))
    assert math.isnan(algbw_Bps(1.0, math.nan))
    assert math.isnan(algbw_Bps(1.0, 0.0))


def test_over_the_link_is_explained_not_hidden() -> None:
    """125 Gb/s over a link of 100 Gb/s, on two nodes."""
    line = busbw_caution(2, 125e9 / 8, 100e9 / 8)
    assert "above the link" in line
    assert "two nodes" in line
    assert busbw_caution(2, 90e9 / 8, 100e9 / 8) == ""
    assert busbw_caution(16, 125e9 / 8, None) == ""
    assert "two nodes" not in busbw_caution(16, 125e9 / 8, 100e9 / 8)
