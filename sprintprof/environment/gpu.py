"""What is known of a rank's GPU: static facts for the environment record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sprintprof.environment.devices import Device, all_devices, visible_devices
from sprintprof.environment.host import attempt, text
from sprintprof.environment.nvml import Nvml, binding_package, open_nvml
from sprintprof.environment.registry import KEYS, Record
from sprintprof.records import Missing

FIELDS = [name for name in KEYS if name.startswith("gpu.")]
CLOCK_SM, CLOCK_MEM = 1, 2
"""NVML_CLOCK_SM and NVML_CLOCK_MEM."""


def handle_of(nvml: Nvml, device: Device) -> Any:
    """NVML's handle of a device or slice, by UUID; Missing where it is gone."""
    return nvml.call("nvmlDeviceGetHandleByUUID", device.uuid)


def own_device(nvml: Nvml, local_rank: int = 0, environ: Mapping[str, str] | None = None) -> Device | Missing:
    """The GPU this rank uses: the local rank's among the visible ones, clamped where each rank sees only its own."""
    devices = all_devices(nvml)
    if isinstance(devices, Missing):
        return devices
    seen = visible_devices(devices, os.environ if environ is None else environ)
    if not seen.devices:
        return Missing(seen.note or "CUDA_VISIBLE_DEVICES hides every GPU")
    return seen.devices[min(local_rank, len(seen.devices) - 1)]


def gpu_record(local_rank: int = 0, nvml: Nvml | Missing | None = None) -> Record:
    """The `gpu.*` keys for this rank; all Missing with the reason where NVML does not answer."""
    nvml = open_nvml() if nvml is None else nvml
    package = {"gpu.binding_package": binding_package(), "gpu.cudnn": _cudnn()}
    if isinstance(nvml, Missing):
        return {**dict.fromkeys(FIELDS, nvml), **package}
    count = nvml.call("nvmlDeviceGetCount")
    version = nvml.first(("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"))
    record: Record = {
        "gpu.count": count,
        "gpu.driver": nvml.call("nvmlSystemGetDriverVersion"),
        "gpu.cuda_driver": version if isinstance(version, Missing) else f"{version // 1000}.{version % 1000 // 10}",
        **package,
    }
    device = own_device(nvml, local_rank)
    if isinstance(device, Missing):
        return {**dict.fromkeys(FIELDS, device), **record}
    return {**dict.fromkeys(FIELDS, Missing("not read")), **record, **_device_record(nvml, device)}


def _device_record(nvml: Nvml, device: Device) -> Record:
    handle = handle_of(nvml, device)
    if isinstance(handle, Missing):
        return dict.fromkeys(("gpu.name", "gpu.uuid", "gpu.pci"), handle)
    memory = nvml.call("nvmlDeviceGetMemoryInfo", handle)
    unified = isinstance(memory, Missing) and "not supported" in memory.reason.lower() and not device.is_mig
    ecc, mig = nvml.call("nvmlDeviceGetEccMode", handle), nvml.call("nvmlDeviceGetMigMode", handle)
    application = _mhz(nvml.call("nvmlDeviceGetApplicationsClock", handle, CLOCK_SM))
    limit = nvml.call("nvmlDeviceGetEnforcedPowerLimit", handle)
    return {
        "gpu.name": device.name,
        "gpu.uuid": device.uuid,
        "gpu.pci": device.pci,
        "gpu.memory_bytes": _system_memory() if unified else memory if isinstance(memory, Missing) else memory.total,
        "gpu.unified_memory": unified,
        "gpu.sm_clock_max_hz": _mhz(nvml.call("nvmlDeviceGetMaxClockInfo", handle, CLOCK_SM)),
        "gpu.sm_clock_application_hz": application,
        "gpu.memory_clock_max_hz": _mhz(nvml.call("nvmlDeviceGetMaxClockInfo", handle, CLOCK_MEM)),
        "gpu.clocks_locked": Missing("NVML does not tell whether clocks are locked"),
        "gpu.ecc": ecc if isinstance(ecc, Missing) else bool(ecc[0]),
        "gpu.mig": mig if isinstance(mig, Missing) else bool(mig[0]) or device.is_mig,
        "gpu.power_limit_W": limit if isinstance(limit, Missing) else limit / 1e3,
        "gpu.numa_node": attempt(lambda: int(text(Path("/sys/bus/pci/devices") / device.pci / "numa_node"))),
    }


def _system_memory() -> int:
    """Unified memory: what the system has is what the GPU has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _mhz(value: Any) -> Any:
    return value if isinstance(value, Missing) else value * 1e6


def _cudnn() -> str | Missing:
    from importlib import metadata

    for name in ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return Missing("no cuDNN package is installed")
