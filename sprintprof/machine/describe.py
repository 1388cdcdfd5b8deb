"""A machine as plain data: what `sprintprof machines show` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from sprintprof.machine.machine import Machine
from sprintprof.machine.schema import Limits


def summary(machine: Machine) -> dict[str, Any]:
    """Name, title, nodes, GPUs a node, peaks and memory bandwidth of one device; JSON-ready, None where unknown."""
    return {
        "name": machine.name,
        "title": machine.title,
        "nodes": machine.cluster.nodes if machine.cluster else None,
        "gpus_per_node": machine.node.gpus if machine.node else None,
        "peak_FLOPps": machine.peak_FLOPps,
        "memory_bandwidth_Bps": machine.memory_bandwidth_Bps,
        "network_bandwidth_Bps": machine.network_bandwidth_Bps,
    }


def describe(machine: Machine) -> dict[str, Any]:
    """`summary`, `facts` (name, value, source), `limits` and `scheduler` (only what the file says), `note`."""
    return {
        **summary(machine),
        "note": machine.note,
        "facts": [msgspec.to_builtins(fact) for fact in machine.facts()],
        "limits": _said(machine.limits, Limits()),
        "scheduler": _said(machine.scheduler, None),
    }


def _said(table: msgspec.Struct | None, empty: msgspec.Struct | None) -> dict[str, Any] | None:
    """The keys of a table that hold something."""
    if table is None or table == empty:
        return None
    return {k: v for k, v in msgspec.to_builtins(table).items() if v not in (None, [], {})}
