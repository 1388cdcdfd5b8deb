"""The environment record of one rank."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sprintprof.environment.cpu_fields import RAPL, RaplEnergy
from sprintprof.environment.fabric import fabric_record, file_system
from sprintprof.environment.gpu import gpu_record
from sprintprof.environment.host import host_record
from sprintprof.environment.registry import KEYS, Record
from sprintprof.environment.software import software_record
from sprintprof.records import Missing


def collect(
    command: list[str],
    *,
    world: Mapping[str, Any] | None = None,
    results: Path | None = None,
    scratch: Path | None = None,
) -> Record:
    """Everything the registry knows about this process, each field a value or Missing(reason).

    `world` holds the fields that only the MPI world knows (`mpi.*`, `node.index`), keyed as in the registry, and
    `local_rank`, by which the rank's GPU is chosen.
    `results` and `scratch` are folders whose file systems are named.
    """
    facts = dict(world or {})
    local_rank = facts.pop("local_rank", 0)
    record = {**host_record(), **software_record(command), **fabric_record(), **gpu_record(local_rank)}
    record |= dict.fromkeys((k for k in KEYS if k.startswith("mpi.")), Missing("no MPI world"))
    record |= {"node.index": Missing("no MPI world"), "energy.rapl": not isinstance(RaplEnergy(RAPL)(), Missing)}
    record |= facts
    for name, folder in (("results", results), ("scratch", scratch)):
        record[f"storage.{name}"] = file_system(folder) if folder else Missing("no folder given")
    return record


def to_plain(record: Record) -> dict[str, Any]:
    """The record as plain JSON data; Missing becomes {"status": "missing", "reason": …}."""
    return {k: {"status": "missing", "reason": v.reason} if isinstance(v, Missing) else v for k, v in record.items()}


def from_plain(plain: Mapping[str, Any]) -> Record:
    """The inverse of `to_plain`."""
    return {
        k: Missing(str(v.get("reason", ""))) if isinstance(v, dict) and v.get("status") == "missing" else v
        for k, v in plain.items()
    }
