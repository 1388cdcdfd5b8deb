"""CPU, memory, operating system: read from /proc and /sys, each field on its own."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sprintprof.environment.registry import Record
from sprintprof.records import Missing

CPU = Path("/sys/devices/system/cpu")
NODE = Path("/sys/devices/system/node")


def attempt(read: Callable[[], Any], reason: str = "") -> Any:
    """The value, or Missing with why it could not be read."""
    try:
        value = read()
    except (OSError, ValueError, LookupError, AttributeError) as error:
        return Missing(reason or f"{type(error).__name__}: {error}")
    return Missing(reason or "not shown by this system") if value is None else value


def text(path: Path) -> str:
    """A small file of /sys or /proc, stripped."""
    return path.read_text("utf-8", errors="replace").strip()


def id_list(spec: str) -> list[int]:
    """`0-3,8` → [0, 1, 2, 3, 8], the format of /sys."""
    found: list[int] = []
    for part in filter(None, spec.split(",")):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def host_record() -> Record:
    """Everything about this node that needs no library."""
    cpuinfo = attempt(lambda: text(Path("/proc/cpuinfo")))
    info = cpuinfo if isinstance(cpuinfo, str) else ""
    return {
        "cpu.model": attempt(lambda: _field(info, "model name", "Model", "cpu"), "not in /proc/cpuinfo"),
        "cpu.architecture": platform.machine(),
        "cpu.sockets": attempt(lambda: len(_topology("physical_package_id"))),
        "cpu.cores": attempt(_cores),
        "cpu.threads": attempt(lambda: len(id_list(text(CPU / "online")))),
        "cpu.smt": attempt(lambda: text(CPU / "smt/active") == "1"),
        "cpu.governor": attempt(lambda: text(CPU / "cpu0/cpufreq/scaling_governor"), "no cpufreq here"),
        "cpu.max_frequency_hz": attempt(
            lambda: 1e3 * int(text(CPU / "cpu0/cpufreq/cpuinfo_max_freq")), "no cpufreq here"
        ),
        "cpu.last_level_cache_bytes": attempt(last_level_cache_bytes),
        "cpu.numa_nodes": attempt(lambda: len(id_list(text(NODE / "online")))),
        "cpu.flags": attempt(lambda: _vector_flags(info)),
        "affinity.cpus": sorted(os.sched_getaffinity(0)),
        "affinity.numa_nodes": attempt(_affinity_nodes),
        "memory.total_bytes": attempt(lambda: 1024 * int(_field(text(Path("/proc/meminfo")), "MemTotal").split()[0])),
        "memory.limit_bytes": attempt(_memory_limit, "no control group limit"),
        "memory.huge_pages": attempt(lambda: _chosen(text(Path("/sys/kernel/mm/transparent_hugepage/enabled")))),
        "os.kernel": platform.release(),
        "os.distribution": attempt(lambda: platform.freedesktop_os_release()["PRETTY_NAME"]),
        "os.container": attempt(container),
        "os.virtualisation": "hypervisor" if " hypervisor" in info else "",
        "os.load_1min": os.getloadavg()[0],
        "node.host": socket.gethostname(),
        "node.boot_id": attempt(boot_id),
    }


def boot_id() -> str:
    """The kernel's boot id: two nodes never share it, two containers of one node do."""
    return text(Path("/proc/sys/kernel/random/boot_id"))


def last_level_cache_bytes() -> int:
    """Size of the largest-level data cache of the first core."""
    best = (0, 0)
    for index in sorted((CPU / "cpu0/cache").glob("index*")):
        if text(index / "type") in ("Data", "Unified"):
            size = re.fullmatch(r"(\d+)([KM]?)", text(index / "size"))
            if size:
                best = max(
                    best, (int(text(index / "level")), int(size[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20}[size[2]])
                )
    if not best[1]:
        raise ValueError("no cache sizes in /sys")
    return best[1]


def container() -> str:
    """Name of the container runtime we run in, empty where there is none."""
    variables = {"SINGULARITY_NAME": "singularity", "APPTAINER_NAME": "apptainer", "SHIFTER_RUNTIME": "shifter"}
    for variable, name in variables.items():
        if variable in os.environ:
            return name
    marks = {"/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "singularity"}
    for mark, name in marks.items():
        if Path(mark).exists():
            return name
    return os.environ.get("container", "")  # noqa: SIM112  (systemd spells it so)


def _field(text_: str, *names: str) -> str:
    for name in names:
        match = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", text_, re.MULTILINE)
        if match:
            return match[1].strip()
    raise LookupError(names[0])


def _topology(name: str) -> set[str]:
    found = {text(cpu / "topology" / name) for cpu in CPU.glob("cpu[0-9]*") if (cpu / "topology" / name).exists()}
    if not found:
        raise LookupError(f"no {name} in /sys")
    return found


def _cores() -> int:
    pairs = {
        (text(cpu / "topology/physical_package_id"), text(cpu / "topology/core_id"))
        for cpu in CPU.glob("cpu[0-9]*")
        if (cpu / "topology/core_id").exists()
    }
    if not pairs:
        raise LookupError("no core_id in /sys")
    return len(pairs)


def _vector_flags(info: str) -> list[str]:
    flags = _field(info, "flags", "Features").split()
    return [f for f in flags if re.match(r"(sse4_2|avx|fma|amx|asimd|sve|f16c|vsx)", f)]


def _affinity_nodes() -> list[int]:
    mine = os.sched_getaffinity(0)
    return [n for n in id_list(text(NODE / "online")) if mine & set(id_list(text(NODE / f"node{n}/cpulist")))]


def _max_frequency_hz() -> float:
    return 1e3 * int(text(CPU / "cpu0/cpufreq/cpuinfo_max_freq"))


def _memory_limit() -> int | None:
    for path in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        if path.exists() and (limit := text(path)) != "max" and int(limit) < 1 << 60:
            return int(limit)
    return None


def _chosen(choices: str) -> str:
    match = re.search(r"\[(.+?)\]", choices)
    return match[1] if match else choices
