"""Device copies against the memory's peak: a copy that stays in a cache is faster than the memory can be."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from sprintprof.importers.rows import Table
from sprintprof.machine import list_machines, load_machine, machine_of_device
from sprintprof.records.tomlfile import read_toml
from sprintprof.units import format_rate_Bps

_DEVICE_COPIES = ("memory_copy", "triad", "stream_")
LEEWAY = 1.02
"""Rates up to this times the peak pass: clocks are rounded in data sheets."""


class Peak(msgspec.Struct, frozen=True):
    """The limit of a table's rates. `whose` names the device it is of."""

    limit_Bps: float  # noqa: N815  (the unit is spelled as it is)
    whose: str

    def exceeded(self, rate_Bps: float) -> str:
        """Why a rate cannot be the memory's, or ""."""
        if not rate_Bps > LEEWAY * self.limit_Bps:
            return ""
        limit = f"{format_rate_Bps(self.limit_Bps)} ({self.whose})"
        return f"{format_rate_Bps(rate_Bps)} is above the memory's {limit}: served by a cache, or wrong"


def above_peak(table: Table) -> Peak | None:
    """The limit for the rows of a table; None where none applies.

    A device that neither a machine file nor memory_peaks.toml knows is held against the fastest memory that is known.
    """
    if table.engine != "cupy" or not table.benchmark.startswith(_DEVICE_COPIES):
        return None
    return _peak_of(str(table.facts.get("device", "")))


@lru_cache(maxsize=64)
def _peak_of(device: str) -> Peak | None:
    machine = machine_of_device(device) if device else None
    if machine and machine.memory_bandwidth_Bps:
        return Peak(machine.memory_bandwidth_Bps, machine.title)
    listed = _data_sheets()
    if device in listed:
        return Peak(listed[device], device)
    known = dict(listed)
    for name in list_machines():
        found = load_machine(name)
        if found.gpu and found.gpu.memory_bandwidth_Bps:
            known[found.title] = found.gpu.memory_bandwidth_Bps
    fastest = max(known, key=lambda title: known[title], default="")
    return Peak(known[fastest], f"{fastest}, the fastest known") if fastest else None


@lru_cache(maxsize=1)
def _data_sheets() -> dict[str, float]:
    """Device name → memory bandwidth in B/s, of memory_peaks.toml."""
    tables = read_toml(Path(__file__).with_name("memory_peaks.toml"))["device"]
    return {name: float(entry["memory_bandwidth_Bps"]) for entry in tables for name in entry["names"]}
