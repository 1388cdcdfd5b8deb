"""What the user asks for on the command line: benchmark names and axis values."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterable, Sequence

from sprintprof.bench.registry import Benchmark, all_benchmarks, convert, suggest
from sprintprof.records import InputError, Value
from sprintprof.units import parse_size_bytes


def select_benchmarks(patterns: Sequence[str]) -> list[Benchmark]:
    """Benchmarks whose name or group matches one of the patterns (`conv_*`, `mpi`); all where there are none.

    Raises InputError for a pattern that matches nothing.
    """
    known = all_benchmarks()
    if not patterns:
        return known
    chosen: set[str] = set()
    for pattern in patterns:
        hits = {b.name for b in known if fnmatch.fnmatchcase(b.name, pattern) or b.group == pattern}
        if not hits:
            remedy = suggest(pattern, [b.name for b in known])
            raise InputError("benchmark", f"nothing is called '{pattern}'", remedy)
        chosen |= hits
    return [b for b in known if b.name in chosen]


def parse_axes(options: Iterable[str]) -> dict[str, list[str]]:
    """`["batch=1,8", "size_bytes=4K"]` → {"batch": ["1", "8"], …}. Raises InputError on anything else."""
    axes: dict[str, list[str]] = {}
    for option in options:
        name, equals, values = option.partition("=")
        texts = [v.strip() for v in values.split(",")]
        if not equals or not name.strip() or not all(texts):
            raise InputError("--axis", f"'{option}' is not NAME=VALUE,…", "write e.g. --axis batch=1,8,32")
        axes[name.strip()] = texts
    return axes


def axis_values(benchmark: Benchmark, name: str, texts: Sequence[str]) -> list[Value]:
    """The texts as values of the benchmark's axis; sizes may be written 64K, 4M."""
    axis = next(a for a in benchmark.axes if a.name == name)
    values: list[Value] = []
    for text in texts:
        is_size = axis.type is int and name.endswith("_bytes")
        value = parse_size_bytes(text, f"--axis {name}") if is_size else convert(benchmark.name, axis, text)
        if axis.type is int and isinstance(value, int) and value < 0:
            raise InputError(f"--axis {name}", f"{value} is negative", "sizes and counts are ≥ 0")
        values.append(value)
    return values


def override(
    benchmark: Benchmark, rows: Sequence[dict[str, Value]], axes: dict[str, list[str]]
) -> list[dict[str, Value]]:
    """Rows of parameters with the given axes replaced by the user's values, crossed, doubles removed in order."""
    mine = {name: axis_values(benchmark, name, texts) for name, texts in axes.items() if has_axis(benchmark, name)}
    if not mine:
        return list(rows)
    crossed = itertools.product(*mine.values())
    combos = [dict(zip(mine, combo, strict=True)) for combo in crossed]
    unique: dict[tuple[tuple[str, Value], ...], dict[str, Value]] = {}
    for row in rows:
        for combo in combos:
            full = benchmark.parameters({**row, **combo})
            unique.setdefault(tuple(full.items()), full)
    return list(unique.values())


def has_axis(benchmark: Benchmark, name: str) -> bool:
    """Whether the benchmark has an axis of that name."""
    return any(a.name == name for a in benchmark.axes)


def check_axes(benchmarks: Sequence[Benchmark], axes: dict[str, list[str]]) -> None:
    """Refuse an axis that none of the selected benchmarks has."""
    for name in axes:
        if not any(has_axis(b, name) for b in benchmarks):
            known = sorted({a.name for b in benchmarks for a in b.axes})
            raise InputError("--axis", f"no selected benchmark has an axis '{name}'", suggest(name, known))
