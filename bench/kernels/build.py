"""What every kernel benchmark shares: axes from the catalogue, costs from the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.base import Array
from sprintprof.bench.registry import Axis, get_benchmark
from sprintprof.networks.kernels import KERNELS
from sprintprof.records import Value

_FEW = {"batch": 2, "m": 8, "parameters": 4096}
"""How far a kernel is cut down where only its code is to be warmed: not to 1, for which BLAS has code of its own."""

_HELP: dict[str, str] = {
    "precision": "fp64, fp32, tf32, fp16 or bf16",
    "layout": "NCHW or NHWC",
    "transpose": "nn, nt, tn or tt: which operands are stored transposed",
    "kind": "max or average",
    "rounding": "floor or ceil: whether the last window may hang over",
    "spatial": "height × width of a channel",
    "parameters": "weights in the array",
    "groups": "groups = channels is depthwise",
    "batch": "samples at once",
}


def kernel_axes(name: str, **defaults: Value) -> tuple[Axis, ...]:
    """The axes of a kernel of the catalogue, in its order, each with its default."""
    types = KERNELS[name].parameters
    return tuple(Axis(axis, types[axis], defaults[axis], _HELP.get(axis, "")) for axis in types)


def kernel_work(
    name: str,
    case: Case,
    call: Callable[[], object],
    operands: tuple[Array, ...],
    verify: Callable[[], str],
    workspace_bytes: int = 0,
) -> Work:
    """Work of a kernel: FLOP and bytes of the catalogue; the working set is the operands and the workspace.

    It is primed by the same kernel on few samples, which is built when it is first wanted.
    """
    spec = KERNELS[name]
    working_set = sum(int(operand.nbytes) for operand in operands) + workspace_bytes
    flop, traffic = spec.flop(case.parameters), spec.bytes(case.parameters)
    prime = _Prime(name, case)
    return Work(call=call, flop=flop, bytes=traffic, working_set_bytes=working_set, verify=verify, prime=prime)


class _Prime:
    """The kernel of a case on operands of its own, its scale axis cut down to `_FEW`."""

    def __init__(self, name: str, case: Case) -> None:
        self._name, self._case = name, case
        self._call: Callable[[], object] | None = None

    def __call__(self) -> None:
        if self._call is None:
            axis = KERNELS[self._name].scale_axis
            parameters = {**self._case.parameters, axis: min(self._case.int(axis), _FEW[axis])}
            few = msgspec.structs.replace(self._case, parameters=parameters)
            self._call = get_benchmark(self._name).build(few).call
        self._call()


def operand(case: Case, shape: tuple[int, ...], number: int) -> Array:
    """Operand `number` of the case: filled as the case says, each number with its own seed."""
    return case.engine.random(shape, case.str("precision"), seed=case.seed * 16 + number, fill=case.fill)


def empty(case: Case, shape: tuple[int, ...]) -> Array:
    """An output of the case."""
    return case.engine.zeros(shape, case.str("precision"))


def operation(case: Case, name: str) -> Callable[..., Any]:
    """The engine's operation in the case's precision. Raises Skip where it has none."""
    return case.engine.op(name, case.str("precision"))
