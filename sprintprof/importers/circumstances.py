"""What logs say about the machine and the software, as an environment record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sprintprof.importers.rows import NOT_IN_LOG, Row, Table
from sprintprof.records import Value

FROM_FACTS = {
    "device": "gpu.name", "mpi_standard": "mpi.standard", "kernel": "os.kernel", "architecture": "cpu.architecture",
    "driver": "gpu.driver", "cuda_driver": "gpu.cuda_driver", "nccl": "package.nccl", "cuda_runtime": "package.cuda",
}  # fmt: skip
"""Facts of tables → keys of the environment."""

EXPECTED = ("cpu.model", "gpu.name", "mpi.library", "mpi.ranks", "mpi.launcher", "os.kernel")
"""Keys a reader looks for: missing(not in log) where no log says them."""


def environment_of(rows: Iterable[Row]) -> dict[str, Any]:
    """The environment that one log's tables agree on; missing where it does not say, or says several."""
    found: dict[str, set[Value]] = {}
    for table in {id(row.table): row.table for row in rows}.values():
        for key, value in _of_table(table):
            found.setdefault(key, set()).add(value)
    record: dict[str, Any] = {key: {"status": "missing", "reason": NOT_IN_LOG[8:-1]} for key in EXPECTED}
    for key, values in found.items():
        several = {"status": "missing", "reason": "differs within the log"}
        record[key] = next(iter(values)) if len(values) == 1 else several
    return record


def _of_table(table: Table) -> Iterable[tuple[str, Value]]:
    scene = table.scene
    if scene.mpi_library:
        yield "mpi.library", scene.mpi_library
    if scene.ranks:
        yield "mpi.ranks", scene.ranks
    if scene.launch.launcher:
        yield "mpi.launcher", scene.launch.launcher
    for name, value in scene.variables.items():
        yield f"variable.{name}", value
    for fact, key in FROM_FACTS.items():
        if fact in table.facts:
            yield key, table.facts[fact]
