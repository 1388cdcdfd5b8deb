"""One benchmark = one function + one decorator. The registry holds them by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import Any

import msgspec

from sprintprof.records import InputError, Value

Group = str
"""`kernels`, `memory`, `storage` or `mpi`; groups order the output of `list`."""


class Axis(msgspec.Struct, frozen=True):
    """One typed parameter of a benchmark. `default` is used where a suite or the user says nothing."""

    name: str
    type: type
    default: Value
    help: str = ""


class Benchmark(msgspec.Struct, frozen=True):
    """A registered benchmark.

    `build` gets a Case and returns Work (see `sprintprof.bench.case`). `window` says in one sentence what is inside
    the timed window; `formula` how the rates follow. `columns` are the names and types of what it adds to
    Measurement.extra. `parallel` benchmarks run on all ranks of the case's communicator, at least `min_ranks`;
    `ranks_of(parameters)` says how many where the parameters fix it (k senders and a receiver: k + 1), else it is None.
    """

    name: str
    group: Group
    build: Callable[[Any], Any]
    axes: tuple[Axis, ...]
    summary: str
    window: str
    formula: str = ""
    engines: tuple[str, ...] = ("numpy",)
    parallel: bool = False
    min_ranks: int = 1
    ranks_of: Callable[[dict[str, Value]], int] | None = None
    columns: dict[str, type] = {}

    def parameters(self, given: dict[str, Value]) -> dict[str, Value]:
        """Complete and type-check parameters: axis order, defaults filled in. Raises InputError on unknown names."""
        unknown = sorted(set(given) - {a.name for a in self.axes})
        if unknown:
            remedy = f"axes are {', '.join(a.name for a in self.axes)}"
            raise InputError(self.name, f"has no axis '{unknown[0]}'", remedy)
        return {a.name: convert(self.name, a, given.get(a.name, a.default)) for a in self.axes}


def convert(benchmark: str, axis: Axis, value: Value) -> Value:
    """`value` as the axis' type; text is parsed. Raises InputError where it is not one."""
    try:
        if axis.type is bool and isinstance(value, str):
            return {"true": True, "false": False, "1": True, "0": False}[value.lower()]
        if axis.type is int and isinstance(value, float) and value != int(value):
            raise ValueError
        return axis.type(value)  # type: ignore[no-any-return]
    except (ValueError, KeyError, TypeError):
        what = f"'{value}' is not {axis.type.__name__}"
        raise InputError(f"{benchmark} axis {axis.name}", what, "see sprintprof list") from None


_REGISTRY: dict[str, Benchmark] = {}
_loaded = False


def benchmark(name: str, **declared: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register the decorated function as benchmark `name`; keywords are the fields of Benchmark."""

    def register(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if name in _REGISTRY and _REGISTRY[name].build.__module__ != build.__module__:
            first = _REGISTRY[name].build.__module__
            raise ValueError(f"benchmark {name} is registered twice: {first} and {build.__module__}")
        _REGISTRY[name] = Benchmark(name=name, build=build, **declared)
        return build

    return register


def _load() -> None:
    """Import every module of the benchmark folders, then the entry points of other packages."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    for folder in ("kernels", "memory", "storage", "comm"):
        package = importlib.import_module(f"sprintprof.bench.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for entry in entry_points(group="sprintprof.benchmarks"):
        entry.load()


def all_benchmarks() -> list[Benchmark]:
    """Every benchmark, by group and name."""
    _load()
    order = {"kernels": 0, "memory": 1, "storage": 2, "mpi": 3}
    return sorted(_REGISTRY.values(), key=lambda b: (order.get(b.group, 9), b.group, b.name))


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises InputError with near names where there is none."""
    _load()
    if name not in _REGISTRY:
        raise InputError("benchmark", f"there is no '{name}'", suggest(name, _REGISTRY))
    return _REGISTRY[name]


def suggest(name: str, known: Iterable[str]) -> str:
    """A remedy line naming near matches, or the command that lists all."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 3)
    return f"did you mean {', '.join(near)}?" if near else "sprintprof list shows all"
