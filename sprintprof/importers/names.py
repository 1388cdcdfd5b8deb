"""Names, parameters and bytes of points: those of the benchmarks that measure the same, so that fits and comparisons
take imported points like measured ones.

Operations that no benchmark measures keep the names MPI gives them, in lower case, with `size_bytes` and `placement`.
"""

from __future__ import annotations

import math

from sprintprof.records import Value

AXES: dict[str, tuple[str, ...]] = {
    "pingpong": ("size_bytes", "placement"),
    "bandwidth": ("size_bytes", "window", "directions", "placement"),
    "message_rate": ("size_bytes", "window", "pairs", "placement"),
    **dict.fromkeys(
        ("broadcast", "reduce", "gather", "scatter", "allgather", "reduce_scatter"),
        ("size_bytes", "precision", "placement"),
    ),
    "allreduce": ("size_bytes", "algorithm", "precision", "placement"),
    "barrier": ("placement",),
    "memory_copy": ("size_bytes", "precision"),
    "triad": ("size_bytes", "precision"),
}  # fmt: skip
"""Axes of the benchmarks, in their order."""

USUAL: dict[str, Value] = {
    "window": 64, "directions": 1, "algorithm": "library", "precision": "fp32", "placement": "packed",
}  # fmt: skip
"""What an axis is where the log says nothing else: the benchmark's own default (and that of the tools for `window`)."""

NO_PLACEMENT = ("copy_", "stream_", "p2p_", "memory_", "triad", "nvbandwidth_")
"""Prefixes of benchmarks that are measured by one process."""

MOVES_ONLY = ("broadcast", "gather", "scatter", "allgather")
"""Operations to whose time the type of the elements does not matter: `precision` is the usual one."""

DATATYPES = {
    "MPI_FLOAT": "fp32", "MPI_DOUBLE": "fp64", "MPI_CHAR": "int8", "MPI_BYTE": "int8", "MPI_INT": "int32",
    "float": "fp32", "double": "fp64", "half": "fp16", "bfloat16": "bf16", "int8": "int8", "uint8": "uint8",
    "int32": "int32", "uint32": "uint32", "int64": "int64", "uint64": "uint64", "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2", "f8e4m3": "fp8_e4m3", "f8e5m2": "fp8_e5m2",
}  # fmt: skip
"""Types as the tools name them → precision."""

ITEM_BYTES = {"fp64": 8, "int64": 8, "uint64": 8, "fp32": 4, "int32": 4, "uint32": 4, "fp16": 2, "bf16": 2}
"""Bytes of an element; 1 for all others."""


def parameters_of(benchmark: str, given: dict[str, Value]) -> dict[str, Value]:
    """The point's parameters in the benchmark's order, usual values filled in; what is given beyond them follows."""
    axes = AXES.get(benchmark)
    if axes is None:
        axes = ("size_bytes",) if benchmark.startswith(NO_PLACEMENT) else ("size_bytes", "placement")
    full = {name: given.get(name, USUAL.get(name)) for name in axes}
    known = {name: value for name, value in full.items() if value is not None}
    return known | {name: value for name, value in given.items() if name not in known}


def declared_bytes(benchmark: str, size_bytes: int | None, ranks: int, parameters: dict[str, Value]) -> float:
    """Bytes of one operation as the benchmark of that name declares them (then rates are bytes / time); NaN: none.

    `size_bytes` is one rank's block for gather, scatter, allgather, reduce_scatter and alltoall.
    """
    if size_bytes is None:
        return math.nan
    if benchmark in ("allgather", "reduce_scatter", "alltoall"):
        return float(ranks * size_bytes) if ranks > 0 else math.nan
    if benchmark in ("gather", "scatter"):
        return float((ranks - 1) * size_bytes) if ranks > 0 else math.nan
    if benchmark in ("memory_copy", "stream_copy", "stream_scale"):
        return 2.0 * size_bytes
    if benchmark in ("triad", "stream_triad", "stream_add"):
        return 3.0 * size_bytes
    return float(parameters.get("copied_bytes", size_bytes))


def declared_flop(benchmark: str, size_bytes: int | None, precision: str) -> float:
    """FLOP of one operation; NaN where the notion does not apply."""
    if size_bytes is None:
        return math.nan
    elements = size_bytes / ITEM_BYTES.get(precision, 1)
    per_element = {"memory_copy": 0.0, "triad": 2.0, "stream_copy": 0.0, "stream_scale": 1.0, "stream_add": 1.0}
    per_element |= {"stream_triad": 2.0, "stream_dot": 2.0}
    return per_element.get(benchmark, math.nan) * elements
