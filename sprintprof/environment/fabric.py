"""Network interfaces, InfiniBand devices, file systems: what messages and files go through."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from sprintprof.environment.host import attempt, text
from sprintprof.environment.registry import Record
from sprintprof.records import Missing

NET = Path("/sys/class/net")
INFINIBAND = Path("/sys/class/infiniband")


def fabric_record() -> Record:
    """Interfaces that are up, InfiniBand devices, and the node's place in the network where the site shows one."""
    address = os.environ.get("SLURM_TOPOLOGY_ADDR")
    return {
        "network.interfaces": attempt(lambda: [_interface(p) for p in sorted(NET.iterdir()) if _is_up(p)]),
        "network.infiniband": attempt(
            lambda: [_infiniband(p) for p in sorted(INFINIBAND.iterdir())], "no InfiniBand devices"
        ),
        "network.topology_address": address or Missing("SLURM_TOPOLOGY_ADDR is not set"),
    }


def file_system(folder: Path) -> str | Missing:
    """`ext4 on /dev/sda1` for the mount that holds the folder, which may not exist yet."""
    try:
        place = folder.resolve()
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError as error:
        return Missing(str(error))
    found = [m for m in mounts if len(m) > 2 and place.is_relative_to(m[1].encode().decode("unicode_escape"))]
    if not found:
        return Missing("no mount holds the folder")
    # of two mounts on one place the later one is seen
    device, _, kind, *_ = max(enumerate(found), key=lambda pair: (len(pair[1][1]), pair[0]))[1]
    return f"{kind} on {device}"


def _is_up(interface: Path) -> bool:
    state = text(interface / "operstate")
    return state == "up" or (state == "unknown" and interface.name != "lo")


def _numa(device: Path) -> str:
    try:
        node = text(device / "numa_node")
    except OSError:
        return "?"
    return node if node != "-1" else "?"


def _interface(interface: Path) -> str:
    device = interface / "device"
    driver = (device / "driver").resolve().name if (device / "driver").exists() else "virtual"
    try:
        megabits = int(text(interface / "speed"))
    except (OSError, ValueError):
        megabits = -1
    speed = f"{megabits} Mbit/s" if megabits > 0 else "speed unknown"
    return f"{interface.name} ({driver}, {speed}, NUMA {_numa(device)})"


def _infiniband(device: Path) -> str:
    ports = ", ".join(_port(port) for port in sorted((device / "ports").iterdir()))
    return f"{device.name} (NUMA {_numa(device / 'device')}, {ports})"


def _port(port: Path) -> str:
    shown = {"rate": "", "state": "", "lid": "lid ", "sm_lid": "subnet manager lid "}
    fields = " ".join(f"{word}{attempt(partial(text, port / name))}" for name, word in shown.items())
    return f"port {port.name} {fields}"
