"""docs/benchmarks.md names every benchmark of kernels, memory and storage."""

from __future__ import annotations

import re
from pathlib import Path

from sprintprof.bench.registry import all_benchmarks

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


def test_every_benchmark_is_documented() -> None:
    named: set[str] = set()
    wild: set[str] = set()
    stem = ""
    for name in re.findall(r"`([a-z0-9_*]+)`", DOCS.read_text()):
        if name.startswith("_"):
            named.add(stem + name)
        elif name.endswith("*"):
            wild.add(name[:-1])
        else:
            named.add(name)
            stem = re.sub(r"_forward$", "", name)
    benchmarks = [b.name for b in all_benchmarks() if b.group in ("kernels", "memory", "storage")]
    missing = [b for b in benchmarks if b not in named and not any(b.startswith(w) for w in wild)]
    assert len(benchmarks) > 25
    assert missing == []
