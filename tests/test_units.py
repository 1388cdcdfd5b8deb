"""Units: what is read and printed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintprof.records import InputError
from sprintprof.units import (
    format_flops,
    format_rate_Bps,
    format_share,
    format_size,
    format_time,
    parse_duration_s,
    parse_size_bytes,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("0", 0), ("8", 8), ("64K", 65536), ("64k", 65536), ("4M", 4194304), ("4MiB", 4194304), ("1.5G", 1610612736), ("2GB", 2147483648)],
)  # fmt: skip
def test_sizes_are_powers_of_1024(text: str, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "x", "-4", "4X", "0.3", "1e3", "K", "inf", "4 4"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a size"):
        parse_size_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("0.5", 0.5), ("90s", 90), ("10m", 600), ("10min", 600), ("1h30m", 5400), ("250us", 250e-6), ("2d", 172800), ("5ms", 5e-3)],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["", "x", "-1", "inf", "nan", "1h x", "m", "1y"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a duration"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (1.234e-9, "1.234 ns"), (12.3e-6, "12.3 µs"), (0.0045, "4.5 ms"), (1.0, "1 s"), (90.0, "1.5 min"), (7200.0, "2 h"), (math.nan, "–"), (0.9999999, "1 s")],
)  # fmt: skip
def test_times(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_few_digits_are_no_reason_for_an_exponent() -> None:
    assert format_time(0.413, 2) == "410 ms"
    assert format_time(3e6, 2) == "35 d"


def test_rates_are_decimal_and_sizes_binary() -> None:
    assert format_rate_Bps(3.35e12) == "3.35 TB/s"
    assert format_rate_Bps(12.15e9) == "12.15 GB/s"
    assert format_size(65536) == "64 KiB"
    assert format_size(0) == "0 B"
    assert format_flops(1.979e15) == "1.979 PFLOP/s"
    assert format_share(0.8657) == "86.6 %"
    assert format_share(math.nan) == "–"


@given(st.floats(1e-9, 1e6))
def test_a_printed_time_reads_back(seconds: float) -> None:
    assert parse_duration_s(format_time(seconds, 6).replace(" ", "")) == pytest.approx(seconds, rel=1e-5)


@given(st.integers(0, 1 << 50))
def test_a_printed_size_is_near(size: int) -> None:
    number, unit = format_size(size).split()
    factor = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[unit]
    assert float(number) * 2**factor == pytest.approx(size, rel=1e-3)
