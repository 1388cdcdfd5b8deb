"""Main memory and caches: copy and triad. Sweeping `size_bytes` shows the caches.

Bytes follow STREAM: each array that is read or written counts once; a write-allocate read of the target, which the
hardware may add, does not (it would make 3 of copy's 2 and 4 of triad's 3).
"""

from __future__ import annotations

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.base import Array
from sprintprof.bench.kernels.spot import compare, hosted, places
from sprintprof.bench.registry import Axis, benchmark
from sprintprof.networks.kernels import ELEMENT_BYTES
from sprintprof.records import InputError

_SCALAR = 3.0
_AXES = (
    Axis("size_bytes", int, 1 << 26, "bytes of each array"),
    Axis("precision", str, "fp64", "element type"),
)


def _elements(case: Case) -> tuple[int]:
    width = ELEMENT_BYTES[case.str("precision")]
    count, rest = divmod(case.int("size_bytes"), width)
    if count < 1 or rest:
        what = f"{case.int('size_bytes')} bytes are no whole number of {width}-byte elements"
        raise InputError("axis size_bytes", what, f"a positive multiple of {width}")
    return (count,)


def _few(case: Case, count: int) -> list[Array]:
    """Small arrays that warm the code and nothing else."""
    return [case.engine.zeros((64,), case.str("precision")) for _ in range(count)]


@benchmark(
    "memory_copy",
    group="memory",
    axes=_AXES,
    summary="copy of one array to another (STREAM copy)",
    window="target = source into an existing array, one thread on the CPU engine",
    formula="bandwidth = 2·size_bytes / time (source read, target written; no write-allocate)",
)
def memory_copy(case: Case) -> Work:
    """target = source."""
    run, shape = case.engine.op("memory_copy", case.str("precision")), _elements(case)
    source = case.engine.random(shape, case.str("precision"), seed=case.seed, fill=case.fill)
    target = case.engine.zeros(shape, case.str("precision"))
    size = case.int("size_bytes")

    def verify() -> str:
        (hs,) = hosted(case, source)
        return compare(case, target, places(hs.shape, case.seed), lambda i: [float(hs[i])])

    few = _few(case, 2)
    return Work(
        call=lambda: run(source, target),
        flop=0.0,
        bytes=2.0 * size,
        working_set_bytes=2 * size,
        verify=verify,
        prime=lambda: run(*few),
    )


@benchmark(
    "triad",
    group="memory",
    axes=_AXES,
    summary="a = b + 3·c (STREAM triad)",
    window="a = b + 3·c into an existing array, one thread on the CPU engine",
    formula="bandwidth = 3·size_bytes / time (b and c read, a written; no write-allocate)",
)
def triad(case: Case) -> Work:
    """a = b + scalar·c."""
    run, shape = case.engine.op("triad", case.str("precision")), _elements(case)
    b, c = (case.engine.random(shape, case.str("precision"), seed=case.seed * 16 + n, fill=case.fill) for n in (0, 1))
    a = case.engine.zeros(shape, case.str("precision"))
    size = case.int("size_bytes")

    def verify() -> str:
        hb, hc = hosted(case, b, c)
        return compare(case, a, places(hb.shape, case.seed), lambda i: [float(hb[i]), _SCALAR * float(hc[i])])

    few = _few(case, 3)
    return Work(
        call=lambda: run(b, c, a, _SCALAR),
        flop=2.0 * shape[0],
        bytes=3.0 * size,
        working_set_bytes=3 * size,
        verify=verify,
        prime=lambda: run(*few, _SCALAR),
    )
