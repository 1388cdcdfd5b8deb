"""Every kernel of the catalogue has its benchmark: same axes, same costs, results checked by a check that can fail."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.engines.numpy_engine import NumpyEngine
from sprintprof.bench.registry import all_benchmarks, get_benchmark
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import InputError, Value

TINY: dict[str, Value] = {
    "batch": 2,
    "channels": 4,
    "height": 7,
    "width": 6,
    "filters": 6,
    "features": 30,
    "spatial": 35,
    "kernel_h": 3,
    "kernel_w": 2,
    "stride_h": 2,
    "stride_w": 1,
    "pad_h": 1,
    "pad_w": 0,
    "in_features": 5,
    "out_features": 6,
    "parameters": 40,
    "classes": 5,
    "m": 4,
    "n": 5,
    "k": 6,
}
"""Axes that make a case small; every default is of a size that is worth measuring."""


def case(name: str, engine: Any = None, fill: str = "random", **changes: Value) -> Case:
    given = {k: v for k, v in {**TINY, **changes}.items() if k in KERNELS[name].parameters}
    return Case(get_benchmark(name).parameters(given), engine or NumpyEngine(), seed=3, fill=fill)


def build(chosen: Case, name: str) -> Work:
    work = get_benchmark(name).build(chosen)
    assert isinstance(work, Work)
    return work


def checked(work: Work) -> str:
    """What the benchmark's own check says after a call."""
    work.call()
    assert work.verify is not None
    return work.verify()


def test_kernel_benchmarks_are_those_of_the_catalogue() -> None:
    assert {b.name for b in all_benchmarks() if b.group == "kernels"} == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_axes_are_the_parameters_in_their_order(name: str) -> None:
    found = get_benchmark(name)
    assert [(a.name, a.type) for a in found.axes] == list(KERNELS[name].parameters.items())
    assert all(type(a.default) is a.type for a in found.axes)
    assert found.summary
    assert found.window


@pytest.mark.parametrize("name", KERNELS)
def test_it_runs_is_right_and_costs_what_the_catalogue_says(name: str) -> None:
    chosen = case(name)
    work = build(chosen, name)
    assert checked(work) == ""
    assert (work.flop, work.bytes) == (KERNELS[name].flop(chosen.parameters), KERNELS[name].bytes(chosen.parameters))
    assert work.operations == 1
    assert work.cache == "cold"


@pytest.mark.parametrize("name", KERNELS)
def test_priming_leaves_the_operands_alone(name: str) -> None:
    """A call, a prime, and the check of the call still holds; the prime calls the same operation on fewer samples."""
    calls: list[int] = []

    class Watched(NumpyEngine):
        def op(self, name: str, precision: str | None = None) -> Callable[..., object]:
            inner = super().op(name, precision)

            def watched(*arguments: Any) -> object:
                calls.append(sum(getattr(a, "nbytes", 0) for a in arguments))
                return inner(*arguments)

            return watched

    work = build(case(name, Watched(), batch=5, m=20, parameters=9000), name)
    work.call()
    whole = calls[-1]
    assert work.prime is not None
    work.prime()
    few = calls[-1]
    work.prime()
    assert calls[-1] == few < whole
    assert work.verify is not None
    assert work.verify() == ""


@pytest.mark.parametrize("name", KERNELS)
def test_the_working_set_holds_at_least_what_must_move(name: str) -> None:
    """`passes` says how often the catalogue counts operands that are read or written more than once."""
    chosen = case(name)
    passes = {"momentum_update": 5 / 3, "lars_update": 7 / 3, "gradient_add": 3 / 2}
    passes |= {f"{norm}_forward": 3 / 2 for norm in ("batchnorm", "layernorm", "lrn")}
    passes |= {f"{norm}_backward": 5 / 3 for norm in ("batchnorm", "layernorm", "lrn")}
    least = KERNELS[name].bytes(chosen.parameters) / passes.get(name, 1)
    assert least <= build(chosen, name).working_set_bytes


def test_the_working_set_holds_the_columns_of_a_convolution() -> None:
    """3×3 over 8×8 with padding: 9 columns an element, so the workspace is at least 9 images."""
    work = build(case("conv_forward", height=8, width=8, kernel_w=3, stride_h=1, pad_w=1), "conv_forward")
    image_bytes = 4 * 2 * 4 * 8 * 8
    assert work.working_set_bytes >= work.bytes + 9 * image_bytes


class Breaking:
    """The CPU engine until `fault` is set: then its operations do nothing, or leave 1.01 of what they should."""

    def __init__(self) -> None:
        self.inner, self.fault = NumpyEngine(), ""
        self.outputs: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def zeros(self, shape: tuple[int, ...], precision: str = "fp32") -> Any:
        self.outputs.append(self.inner.zeros(shape, precision))
        return self.outputs[-1]

    def op(self, name: str, precision: str | None = None) -> Callable[..., object]:
        right = self.inner.op(name, precision)

        def faulty(*arguments: object) -> object:
            before = [output.copy() for output in self.outputs]
            result = None if self.fault == "does nothing" else right(*arguments)
            if self.fault == "is one percent off":
                for output, old in zip(self.outputs, before, strict=True):
                    if (output != old).any():
                        output *= 1.01
            return result

        return faulty


@pytest.mark.parametrize("fault", ["does nothing", "is one percent off"])
@pytest.mark.parametrize("name", KERNELS)
def test_its_check_sees_a_wrong_result(name: str, fault: str) -> None:
    engine = Breaking()
    work = build(case(name, engine), name)
    engine.fault = fault
    assert "expected" in checked(work)


@pytest.mark.parametrize("fill", ["zeros", "ones"])
@pytest.mark.parametrize("name", KERNELS)
def test_other_fills_are_right_too(name: str, fill: str) -> None:
    assert checked(build(case(name, fill=fill), name)) == ""


@pytest.mark.parametrize("precision", ["fp64", "fp16"])
@pytest.mark.parametrize("name", KERNELS)
def test_other_precisions_are_right_or_skipped_with_a_reason(name: str, precision: str) -> None:
    chosen = case(name, precision=precision)
    if precision == "fp16" and ("gemm" in name or name.startswith(("linear", "conv"))):
        with pytest.raises(Skip, match="without BLAS"):
            build(chosen, name)
    else:
        assert checked(build(chosen, name)) == ""


@pytest.mark.parametrize("name", KERNELS)
def test_bf16_is_skipped_with_a_reason(name: str) -> None:
    with pytest.raises(Skip, match="bfloat16"):
        build(case(name, precision="bf16"), name)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("direction", ["forward", "backward_data", "backward_filter"])
def test_convolutions_with_groups_dilation_and_layout(direction: str, groups: int, layout: str) -> None:
    name = f"conv_{direction}"
    assert checked(build(case(name, groups=groups, filters=8, layout=layout, dilation=2, pad_w=2), name)) == ""


@pytest.mark.parametrize("kind", ["max", "average"])
@pytest.mark.parametrize("rounding", ["floor", "ceil"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_poolings_of_every_kind(direction: str, rounding: str, kind: str) -> None:
    name = f"pool_{direction}"
    assert checked(build(case(name, kind=kind, rounding=rounding), name)) == ""
    assert checked(build(case(name, kind=kind, kernel_h=7, kernel_w=6, pad_h=0), name)) == ""


@pytest.mark.parametrize("transpose", ["nn", "nt", "tn", "tt"])
def test_gemm_of_every_transpose(transpose: str) -> None:
    assert checked(build(case("gemm", transpose=transpose), "gemm")) == ""


def test_gemm_of_an_unknown_transpose_is_refused() -> None:
    with pytest.raises(InputError, match="transpose"):
        build(case("gemm", transpose="ny"), "gemm")


@pytest.mark.parametrize("name", KERNELS)
def test_a_call_allocates_no_operand(name: str) -> None:
    """Operands of about 1 MB; NumPy reports its memory to tracemalloc. Blocks of 64 KB are allowed."""
    size: dict[str, Value] = {
        "batch": 16,
        "channels": 16,
        "height": 32,
        "width": 32,
        "filters": 16,
        "features": 16384,
        "spatial": 1024,
        "in_features": 512,
        "out_features": 512,
        "parameters": 1 << 18,
        "classes": 16384,
        "m": 512,
        "n": 512,
        "k": 512,
        "kernel_w": 3,
        "stride_h": 1,
        "pad_w": 1,
    }
    work = build(case(name, **size), name)
    work.call()
    tracemalloc.start()
    try:
        work.call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000, f"{peak} bytes"
