"""Which NumPy type stands for which precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from sprintprof.bench.case import Skip
from sprintprof.records import InputError

_TYPES: dict[str, type] = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16}
_LACKING = {"bf16": "NumPy has no bfloat16", "tf32": "TF32 is a mode of NVIDIA's tensor cores"}
_PRODUCTS = ("gemm", "linear_", "conv_")


def dtype_of(precision: str) -> np.dtype[Any]:
    """The type of a precision. Raises Skip where NumPy has none, InputError where the name is unknown."""
    if precision in _LACKING:
        raise Skip(f"{_LACKING[precision]}: no {precision} on the CPU engine")
    if precision not in _TYPES:
        raise InputError("precision", f"'{precision}' is unknown", f"one of {', '.join([*_TYPES, *_LACKING])}")
    return np.dtype(_TYPES[precision])


def check_supported(operation: str, precision: str) -> None:
    """Raises Skip where an operation is not worth measuring in a precision."""
    dtype_of(precision)
    if precision == "fp16" and operation.startswith(_PRODUCTS):
        raise Skip("NumPy multiplies fp16 matrices without BLAS, thousands of times slower: no fp16 products")
