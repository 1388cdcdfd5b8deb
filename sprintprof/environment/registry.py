"""The one registry of environment keys: name → type, unit, how it is shown, whether results depend on it.

An environment record is a flat dict from these keys to a value or to Missing(reason). Names with a `*` stand for
families (`variable.OMP_NUM_THREADS` is of family `variable.*`, `package.numpy` of `package.*`).
"""

from __future__ import annotations

import fnmatch
from typing import Any

import msgspec

from sprintprof.records import Missing
from sprintprof.units import format_size

Record = dict[str, Any]
"""Flat: key → plain value or Missing."""


class Key(msgspec.Struct, frozen=True):
    """What a key holds. `matters` = a difference between two runs can explain a difference of their results;
    `per_rank` = differs between ranks of one node by nature (affinity, GPU of the rank)."""

    type: type
    unit: str
    help: str
    matters: bool = True
    per_rank: bool = False


KEYS: dict[str, Key] = {
    "cpu.model": Key(str, "", "model name of the processor"),
    "cpu.architecture": Key(str, "", "machine architecture"),
    "cpu.sockets": Key(int, "", "processor sockets"),
    "cpu.cores": Key(int, "", "physical cores"),
    "cpu.threads": Key(int, "", "hardware threads online"),
    "cpu.smt": Key(bool, "", "more than one hardware thread per core is active"),
    "cpu.governor": Key(str, "", "frequency governor of the first core"),
    "cpu.max_frequency_hz": Key(float, "Hz", "highest frequency the kernel allows"),
    "cpu.last_level_cache_bytes": Key(int, "B", "size of one last-level cache"),
    "cpu.numa_nodes": Key(int, "", "NUMA nodes"),
    "cpu.flags": Key(list, "", "vector instruction sets"),
    "affinity.cpus": Key(list, "", "hardware threads this rank may use", per_rank=True),
    "affinity.numa_nodes": Key(list, "", "NUMA nodes of these threads", per_rank=True),
    "memory.total_bytes": Key(int, "B", "memory of the node"),
    "memory.limit_bytes": Key(int, "B", "memory the control group allows"),
    "memory.huge_pages": Key(str, "", "transparent huge pages"),
    "os.kernel": Key(str, "", "kernel release"),
    "os.distribution": Key(str, "", "operating system"),
    "os.container": Key(str, "", "container runtime, empty where there is none"),
    "os.virtualisation": Key(str, "", "hypervisor as the processor shows it"),
    "os.load_1min": Key(float, "", "load average when the run began", matters=False),
    "node.host": Key(str, "", "host name, for the reader alone", matters=False),
    "node.boot_id": Key(str, "", "boot id of the kernel: what tells nodes apart", matters=False),
    "node.index": Key(int, "", "node number by boot id and shared-memory split", matters=False, per_rank=True),
    "mpi.library": Key(str, "", "library string of the MPI"),
    "mpi.build": Key(str, "", "how the MPI was built, as its library string tells"),
    "mpi.standard": Key(str, "", "version of the MPI standard"),
    "mpi.thread_level": Key(str, "", "thread level provided"),
    "mpi.launcher": Key(str, "", "what started the ranks"),
    "mpi.ranks": Key(int, "", "ranks of the world"),
    "mpi.ranks_on_node": Key(int, "", "ranks that share this rank's memory", per_rank=True),
    "blas.library": Key(str, "", "BLAS behind NumPy, with version"),
    "blas.kernel": Key(str, "", "kernel the BLAS chose for this processor"),
    "blas.threads": Key(int, "", "threads the BLAS uses"),
    "python.version": Key(str, "", "Python version"),
    "python.executable": Key(str, "", "Python that runs the tool", matters=False),
    "package.*": Key(str, "", "version of an installed package"),
    "variable.*": Key(str, "", "environment variable that steers MPI, threads, CUDA or the scheduler"),
    "module.loaded": Key(list, "", "environment modules"),
    "git.commit": Key(str, "", "commit of the tool's checkout", matters=False),
    "git.dirty": Key(bool, "", "the checkout had changes that were not committed", matters=False),
    "command.line": Key(list, "", "how the tool was called", matters=False),
    "command.directory": Key(str, "", "where it was called", matters=False),
    "gpu.count": Key(int, "", "GPUs that NVML sees"),
    "gpu.driver": Key(str, "", "driver version"),
    "gpu.cuda_driver": Key(str, "", "CUDA version of the driver"),
    "gpu.cudnn": Key(str, "", "cuDNN version"),
    "gpu.binding_package": Key(str, "", "package that provides pynvml"),
    "gpu.name": Key(str, "", "GPU of this rank", per_rank=True),
    "gpu.uuid": Key(str, "", "UUID of this rank's GPU or MIG slice", matters=False, per_rank=True),
    "gpu.pci": Key(str, "", "PCI id of this rank's GPU", matters=False, per_rank=True),
    "gpu.memory_bytes": Key(int, "B", "memory of the GPU"),
    "gpu.unified_memory": Key(bool, "", "GPU and CPU share one memory"),
    "gpu.sm_clock_max_hz": Key(float, "Hz", "highest SM clock"),
    "gpu.sm_clock_application_hz": Key(float, "Hz", "application SM clock"),
    "gpu.memory_clock_max_hz": Key(float, "Hz", "highest memory clock"),
    "gpu.clocks_locked": Key(bool, "", "clocks are locked"),
    "gpu.ecc": Key(bool, "", "ECC is on"),
    "gpu.mig": Key(bool, "", "MIG is on"),
    "gpu.power_limit_W": Key(float, "W", "enforced power limit"),
    "gpu.numa_node": Key(int, "", "NUMA node of the GPU", per_rank=True),
    "network.interfaces": Key(list, "", "interfaces that are up: name, driver, speed, NUMA node"),
    "network.infiniband": Key(list, "", "InfiniBand devices: name, rate, state, NUMA node, switch"),
    "network.topology_address": Key(str, "", "place in the network as the scheduler shows it", matters=False),
    "storage.results": Key(str, "", "file system of the results folder"),
    "storage.scratch": Key(str, "", "file system of the scratch folder"),
    "energy.rapl": Key(bool, "", "CPU energy counters can be read", matters=False),
}  # fmt: skip


def lookup(name: str) -> Key | None:
    """The registry entry of a key, families included; None for an unknown one."""
    if name in KEYS:
        return KEYS[name]
    return next((k for pattern, k in KEYS.items() if "*" in pattern and fnmatch.fnmatchcase(name, pattern)), None)


def show(name: str, value: Any) -> str:
    """A value as text, with the unit the registry gives it."""
    key = lookup(name)
    if value is None:
        return str(Missing("not recorded"))
    if isinstance(value, Missing):
        return str(value)
    if key and key.unit == "B":
        return format_size(value)
    if key and key.unit == "Hz":
        return f"{value / 1e6:.0f} MHz"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        numbers = all(isinstance(v, int) for v in value)
        return ranges(value) if numbers else " ".join(map(str, value))
    return f"{value} {key.unit}".strip() if key else str(value)


def ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] → `0-2,5`."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)
