"""Copy and triad: bytes as STREAM counts them, results checked, sizes refused that are none."""

from __future__ import annotations

from typing import Any

import pytest

from sprintprof.bench.case import Case, Skip
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.registry import all_benchmarks, get_benchmark
from sprintprof.records import InputError, Value


def case(name: str, engine: Any = None, **given: Value) -> Case:
    return Case(get_benchmark(name).parameters(given), engine or NumpyEngine(), seed=1)


def test_the_group() -> None:
    assert {"memory_copy", "triad"} <= {b.name for b in all_benchmarks() if b.group == "memory"}


@pytest.mark.parametrize(("name", "arrays", "flop"), [("memory_copy", 2, 0), ("triad", 3, 2 * 12_500)])
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_bytes_are_those_of_stream(name: str, arrays: int, flop: int, precision: str) -> None:
    work = get_benchmark(name).build(case(name, size_bytes=100_000, precision=precision))
    work.call()
    assert work.verify() == ""
    work.prime()
    assert work.verify() == ""
    assert work.bytes == work.working_set_bytes == arrays * 100_000
    assert work.flop == flop * (2 if precision == "fp32" else 1)


@pytest.mark.parametrize("name", ["memory_copy", "triad"])
def test_its_check_sees_a_wrong_result(name: str) -> None:
    class Idle(NumpyEngine):
        def op(self, name: str, precision: str | None = None) -> Any:
            return lambda *_: None

    work = get_benchmark(name).build(case(name, Idle(), size_bytes=800))
    work.call()
    assert "expected" in work.verify()


@pytest.mark.parametrize("size_bytes", [0, -8, 12])
def test_sizes_that_are_none(size_bytes: int) -> None:
    with pytest.raises(InputError, match="size_bytes"):
        get_benchmark("triad").build(case("triad", size_bytes=size_bytes))


def test_precisions_that_are_none() -> None:
    with pytest.raises(Skip, match="bfloat16"):
        get_benchmark("triad").build(case("triad", precision="bf16"))
    with pytest.raises(InputError, match="fp8"):
        get_benchmark("triad").build(case("triad", precision="fp8"))
