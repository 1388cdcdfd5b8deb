"""Suites: TOML files that say which points to measure and how long each may take.

A suite has `description`, `extends` (another suite: its settings and rows come first), `[settings]` (fields of
HarnessSettings), and any number of
`[[network]]` (name, batch = [...]: every kernel call of a training step),
`[[grid]]`    (benchmark or benchmarks, axis = [values]: all combinations) and
`[[rows]]`    (benchmarks, each = [{axis = value}]: as listed).
Axes that are left out take the benchmark's default. `ranks = [2, 4]` limits a parallel benchmark; by default it runs
at 2, 4, … and all ranks there are.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.registry import Benchmark, get_benchmark, suggest
from sprintprof.bench.run.selection import axis_values
from sprintprof.networks import load_network
from sprintprof.records import InputError, Value

FOLDER = Path(__file__).parent / "suites"


class Row(msgspec.Struct, frozen=True):
    """One entry of a suite: a benchmark with complete parameters; `ranks` None = whatever there is."""

    benchmark: Benchmark
    parameters: dict[str, Value]
    ranks: tuple[int, ...] | None = None


class Suite(msgspec.Struct, frozen=True):
    """A suite read and checked: rows without doubles, in the order of the file."""

    name: str
    description: str
    settings: dict[str, Any]
    rows: list[Row]


def list_suites() -> list[str]:
    """Names of the suites that come with the package, shortest run first."""
    order = {"quick": 0, "standard": 1, "full": 2}
    return sorted((f.stem for f in FOLDER.glob("*.toml")), key=lambda n: (order.get(n, 9), n))


def load_suite(name_or_path: str) -> Suite:
    """A suite by name, or a user's own TOML file. Raises InputError with the place of what is wrong."""
    return _load(name_or_path, ())


def _load(name_or_path: str, extended_by: tuple[Path, ...]) -> Suite:
    path = FOLDER / f"{name_or_path}.toml"
    if not path.is_file():
        path = Path(name_or_path)
        if not path.is_file():
            raise InputError("suite", f"there is no '{name_or_path}'", suggest(name_or_path, list_suites()))
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise InputError(str(path), f"is not a suite file ({error})", "see the suites of the package") from None
    if path in extended_by:
        raise InputError(str(path), "extends itself", "take one 'extends' out of the circle")
    base = _load(str(raw.pop("extends")), (*extended_by, path)) if "extends" in raw else None
    return _read(path, raw, base)


def _read(path: Path, raw: dict[str, Any], base: Suite | None) -> Suite:
    unknown = sorted(set(raw) - {"description", "settings", "network", "grid", "rows"})
    if unknown:
        raise InputError(str(path), f"has an unknown table '{unknown[0]}'", "known: settings, network, grid, rows")
    settings = raw.get("settings", {})
    try:
        msgspec.convert({**msgspec.to_builtins(HarnessSettings()), **settings}, HarnessSettings)
        bad = set(settings) - set(HarnessSettings.__struct_fields__)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(f"{path} [settings]", str(error), "see sprintprof run --help") from None
    if bad:
        raise InputError(f"{path} [settings]", f"unknown setting '{min(bad)}'", "see sprintprof run --help")
    rows = {_identity(row): row for row in base.rows} if base else {}
    for table, reader in (("network", _network_rows), ("grid", _grid_rows), ("rows", _listed_rows)):
        entries = raw.get(table, [])
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise InputError(str(path), f"'{table}' is not a list of tables", f"write [[{table}]]")
        for number, entry in enumerate(entries, 1):
            for row in reader(f"{path} [[{table}]] {number}", entry):
                rows.setdefault(_identity(row), row)
    settings = {**base.settings, **settings} if base else settings
    return Suite(path.stem, str(raw.get("description", "")), settings, list(rows.values()))


def _identity(row: Row) -> tuple[Any, ...]:
    return row.benchmark.name, row.ranks, *row.parameters.items()


def _network_rows(where: str, entry: dict[str, Any]) -> Iterator[Row]:
    _check_keys(where, entry, {"name", "batch", "precision"})
    network = load_network(str(entry.get("name", "")))
    batches = entry.get("batch", [1])
    if not isinstance(batches, list) or not all(isinstance(b, int) and b > 0 for b in batches):
        raise InputError(where, "'batch' is not a list of integers > 0", "write batch = [1, 8, 32]")
    for batch in batches:
        for layer_call in network.kernel_calls(batch, precision=str(entry.get("precision", "fp32"))):
            bench = get_benchmark(layer_call.call.kernel)
            yield Row(bench, bench.parameters(layer_call.call.parameters))
        for kernel in ("weight_copy", "gradient_add", "momentum_update"):
            bench = get_benchmark(kernel)
            yield Row(bench, bench.parameters({"parameters": network.parameters}))


def _grid_rows(where: str, entry: dict[str, Any]) -> Iterator[Row]:
    for bench in _benchmarks(where, entry):
        axes = {k: v if isinstance(v, list) else [v] for k, v in entry.items() if k not in _NOT_AXES}
        _known_axes(where, bench, set(axes))
        typed = {name: axis_values(bench, name, [str(v) for v in values]) for name, values in axes.items()}
        for combo in itertools.product(*typed.values()):
            yield Row(bench, bench.parameters(dict(zip(typed, combo, strict=True))), _ranks(where, entry))


def _listed_rows(where: str, entry: dict[str, Any]) -> Iterator[Row]:
    _check_keys(where, entry, {"benchmark", "benchmarks", "each", "ranks"})
    each = entry.get("each", [])
    if not isinstance(each, list) or not all(isinstance(row, dict) for row in each):
        raise InputError(where, "'each' is not a list of tables", "write each = [{ batch = 1 }, { batch = 2 }]")
    for bench in _benchmarks(where, entry):
        for row in each:
            _known_axes(where, bench, set(row))
            typed = {name: axis_values(bench, name, [str(value)])[0] for name, value in row.items()}
            yield Row(bench, bench.parameters(typed), _ranks(where, entry))


_NOT_AXES = {"benchmark", "benchmarks", "ranks"}


def _benchmarks(where: str, entry: dict[str, Any]) -> list[Benchmark]:
    names = entry.get("benchmarks", [entry["benchmark"]] if "benchmark" in entry else [])
    if not isinstance(names, list) or not names:
        raise InputError(where, "names no benchmark", 'write benchmark = "gemm" or benchmarks = ["gemm", …]')
    try:
        return [get_benchmark(str(name)) for name in names]
    except InputError as error:
        raise InputError(where, error.what, error.remedy) from None


def _known_axes(where: str, bench: Benchmark, names: set[str]) -> None:
    unknown = sorted(names - {a.name for a in bench.axes})
    if unknown:
        raise InputError(
            where, f"{bench.name} has no axis '{unknown[0]}'", suggest(unknown[0], [a.name for a in bench.axes])
        )


def _ranks(where: str, entry: dict[str, Any]) -> tuple[int, ...] | None:
    ranks = entry.get("ranks")
    if ranks is None:
        return None
    if not isinstance(ranks, list) or not all(isinstance(r, int) and r > 0 for r in ranks):
        raise InputError(where, "'ranks' is not a list of integers > 0", "write ranks = [2, 4]")
    return tuple(ranks)


def _check_keys(where: str, entry: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise InputError(where, f"unknown key '{unknown[0]}'", f"known: {', '.join(sorted(known))}")
