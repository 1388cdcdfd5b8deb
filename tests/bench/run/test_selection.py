"""Names, wildcards and axis values from the command line."""

from __future__ import annotations

import pytest

from sprintprof.bench.registry import Axis, Benchmark, convert, get_benchmark
from sprintprof.bench.run.selection import axis_values, check_axes, override, parse_axes, select_benchmarks
from sprintprof.records import InputError, Value

FAKE = Benchmark(
    "fake", "kernels", build=lambda case: None, summary="", window="",
    axes=(Axis("batch", int, 1), Axis("size_bytes", int, 8), Axis("kind", str, "max"), Axis("on", bool, False)),
)  # fmt: skip


def test_wildcards_and_groups() -> None:
    names = {b.name for b in select_benchmarks(["conv_*"])}
    assert names == {"conv_forward", "conv_backward_data", "conv_backward_filter"}
    assert {b.group for b in select_benchmarks(["mpi"])} == {"mpi"}
    assert len(select_benchmarks([])) > 25


def test_a_name_that_matches_nothing_is_refused_with_near_ones() -> None:
    with pytest.raises(InputError, match="conv_forward"):
        select_benchmarks(["conv_forwrd"])


@pytest.mark.parametrize("text", ["batch", "=1", "batch=", "batch=1,,2", ""])
def test_axis_options_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="NAME=VALUE"):
        parse_axes([text])


def test_axis_values_are_typed_and_sizes_may_have_units() -> None:
    assert axis_values(FAKE, "batch", ["1", "32"]) == [1, 32]
    assert axis_values(FAKE, "size_bytes", ["64K", "8"]) == [65536, 8]
    assert axis_values(FAKE, "on", ["true", "0"]) == [True, False]


@pytest.mark.parametrize(
    ("axis", "text"), [("batch", "x"), ("batch", "1.5"), ("batch", "-1"), ("on", "maybe"), ("size_bytes", "4X")]
)
def test_values_of_another_type_are_refused(axis: str, text: str) -> None:
    with pytest.raises(InputError, match=axis):
        axis_values(FAKE, axis, [text])


def test_override_crosses_and_drops_doubles() -> None:
    rows: list[dict[str, Value]] = [
        FAKE.parameters({"batch": 1, "kind": "max"}),
        FAKE.parameters({"batch": 2, "kind": "max"}),
    ]
    changed = override(FAKE, rows, {"batch": ["4", "8"], "unknown": ["1"]})
    assert [r["batch"] for r in changed] == [4, 8]  # the two rows differed in the axis that was replaced
    crossed = override(FAKE, rows, {"kind": ["max", "average"]})
    assert [(r["batch"], r["kind"]) for r in crossed] == [(1, "max"), (1, "average"), (2, "max"), (2, "average")]


def test_an_axis_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match="batch"):
        check_axes([FAKE], {"bach": ["1"]})


def test_parameters_are_completed_in_axis_order_and_checked() -> None:
    assert list(FAKE.parameters({"kind": "x", "batch": "3"}).items()) == [
        ("batch", 3),
        ("size_bytes", 8),
        ("kind", "x"),
        ("on", False),
    ]
    with pytest.raises(InputError, match="no axis 'bogus'"):
        FAKE.parameters({"bogus": 1})
    with pytest.raises(InputError, match="is not int"):
        convert("fake", FAKE.axes[0], 1.5)


def test_an_unknown_benchmark_is_refused_with_near_ones() -> None:
    with pytest.raises(InputError, match="gemm"):
        get_benchmark("gem")
