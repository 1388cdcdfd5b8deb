"""A machine: the facts of its file, and those of its GPU's file, under one roof."""

from __future__ import annotations

from typing import Any

import msgspec

from sprintprof.machine.schema import Cluster, Gpu, Limits, Link, Network, Node, Scheduler
from sprintprof.records import Missing

SECTIONS = ("gpu", "node", "network", "cluster")


class Fact(msgspec.Struct, frozen=True):
    """One fact: `name` is e.g. `gpu.memory_bandwidth_Bps`, `source` a citation or missing."""

    name: str
    value: Any
    source: str | Missing


class Machine(msgspec.Struct, frozen=True):
    """A GPU, a node or a cluster. `gpu` is of this file or of the one that `node.gpu` names."""

    name: str
    title: str
    sources: dict[str, str]
    gpu: Gpu | None = None
    node: Node | None = None
    network: Network | None = None
    cluster: Cluster | None = None
    limits: Limits = Limits()
    scheduler: Scheduler | None = None
    note: str | None = None

    @property
    def peak_FLOPps(self) -> dict[str, float]:  # noqa: N802  (the unit is spelled as it is)
        """Peak FLOP/s of one device by precision: the GPU's, else the whole node's CPU."""
        table = self.gpu or self.node
        return {str(precision): peak for precision, peak in table.peak_FLOPps.items()} if table else {}

    @property
    def memory_bandwidth_Bps(self) -> float | None:  # noqa: N802  (likewise)
        """Peak memory bandwidth of one device: the GPU's, else the node's."""
        table = self.gpu or self.node
        return table.memory_bandwidth_Bps if table else None

    @property
    def host_link(self) -> Link | None:
        """Host to device: the node's word holds over the GPU's."""
        return (self.node and self.node.host_link) or (self.gpu and self.gpu.host_link) or None

    @property
    def peer_link(self) -> Link | None:
        """Device to device in a node: the node's word holds over the GPU's."""
        return (self.node and self.node.peer_link) or (self.gpu and self.gpu.peer_link) or None

    @property
    def network_bandwidth_Bps(self) -> float | None:  # noqa: N802  (likewise)
        """What all network ports of a node carry in one direction."""
        if not self.network or self.network.port_bandwidth_Bps is None:
            return None
        return self.network.ports * self.network.port_bandwidth_Bps

    def facts(self) -> list[Fact]:
        """Every fact that is known, with its source, by section."""
        found = []
        for section in SECTIONS:
            table = getattr(self, section)
            if table is None:
                continue
            for name, value in msgspec.to_builtins(table).items():
                if name not in ("source", "source_of") and value not in (None, [], {}):
                    known = {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value
                    found.append(Fact(f"{section}.{name}", known, self.source_of(section, name)))
        return found

    def source_of(self, section: str, name: str) -> str | Missing:
        """The citation behind a fact, e.g. ("gpu", "clock_Hz")."""
        table = getattr(self, section)
        key = table.source_of.get(name, table.source) if table else None
        return self.sources[key] if key else Missing("the file names no source")
