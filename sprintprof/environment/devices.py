"""Which GPU is ours: CUDA_VISIBLE_DEVICES in every form, matched by UUID or PCI id, never by index alone.

NVML counts in PCI order; CUDA's default order is fastest first, so an index of CUDA's is not an index of NVML's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sprintprof.environment.nvml import Nvml
from sprintprof.records import Missing


class Device(msgspec.Struct, frozen=True):
    """A GPU or MIG slice as NVML knows it. `uuid` is that of the slice for MIG; `parent_uuid` that of its GPU."""

    index: int
    uuid: str
    pci: str
    name: str
    parent_uuid: str = ""

    @property
    def is_mig(self) -> bool:
        """Whether it is a slice."""
        return bool(self.parent_uuid)


class Visible(msgspec.Struct, frozen=True):
    """What a process may use. `devices` in the order of the mask; `sure` is False where CUDA's own order decides and
    it is not known (indices without CUDA_DEVICE_ORDER=PCI_BUS_ID on a node of unequal GPUs)."""

    devices: list[Device]
    sure: bool
    note: str = ""


def all_devices(nvml: Nvml) -> list[Device] | Missing:
    """Every GPU of the node in NVML's (PCI) order, and after each its MIG slices."""
    count = nvml.call("nvmlDeviceGetCount")
    if isinstance(count, Missing):
        return count
    found: list[Device] = []
    for index in range(count):
        handle = nvml.call("nvmlDeviceGetHandleByIndex", index)
        if isinstance(handle, Missing):  # a lost GPU does not hide the others
            found.append(Device(index, str(handle), "", ""))
            continue
        gpu = Device(
            index,
            _text(nvml, "nvmlDeviceGetUUID", handle),
            pci_id(nvml, handle),
            _text(nvml, "nvmlDeviceGetName", handle),
        )
        found += [gpu, *_slices(nvml, handle, gpu)]
    return found


def pci_id(nvml: Nvml, handle: object) -> str:
    """The PCI id in lower case with the 4-digit domain of CUDA and /sys (NVML writes 8 digits)."""
    info = nvml.call("nvmlDeviceGetPciInfo", handle)
    if isinstance(info, Missing):
        return ""
    raw = info.busId
    text = (raw.decode() if isinstance(raw, bytes) else str(raw)).lower()
    domain, _, rest = text.partition(":")
    return f"{domain[-4:]}:{rest}"


def _text(nvml: Nvml, name: str, handle: object) -> str:
    value = nvml.call(name, handle)
    return "" if isinstance(value, Missing) else str(value)


def _slices(nvml: Nvml, handle: object, gpu: Device) -> list[Device]:
    mode = nvml.call("nvmlDeviceGetMigMode", handle)
    if isinstance(mode, Missing) or not mode[0]:
        return []
    most = nvml.call("nvmlDeviceGetMaxMigDeviceCount", handle)
    slices = []
    for number in range(0 if isinstance(most, Missing) else most):
        part = nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
        if not isinstance(part, Missing):
            name = _text(nvml, "nvmlDeviceGetName", part)
            slices.append(
                Device(gpu.index, _text(nvml, "nvmlDeviceGetUUID", part), gpu.pci, name or gpu.name, gpu.uuid)
            )
    return slices


def visible_devices(devices: Sequence[Device], environ: Mapping[str, str]) -> Visible:
    """The devices that CUDA_VISIBLE_DEVICES leaves, by the rules of CUDA: the list ends at the first bad entry, a
    UUID may be cut short, one MIG slice at most is used, an unset variable shows all."""
    gpus = [d for d in devices if not d.is_mig]
    mask = environ.get("CUDA_VISIBLE_DEVICES")
    by_pci = environ.get("CUDA_DEVICE_ORDER", "") == "PCI_BUS_ID"
    equal = len({g.name for g in gpus}) <= 1
    if mask is None:
        return Visible(gpus, by_pci or equal, "" if by_pci or equal else "CUDA orders unequal GPUs fastest first")
    chosen: list[Device] = []
    for entry in (part.strip() for part in mask.split(",")):
        device = _pick(entry, devices, gpus)
        if device is None or device in chosen:
            stop = f"'{entry}' names no device: it and what follows is not used" if entry and entry != "-1" else ""
            return Visible(chosen, by_pci or equal, stop)
        chosen.append(device)
        if device.is_mig:
            more = "a process uses one MIG slice: the others are not used" if "," in mask else ""
            return Visible(chosen, sure=True, note=more)
    sure = by_pci or equal or not any(part.strip().isdigit() for part in mask.split(","))
    return Visible(chosen, sure, "" if sure else "indices count CUDA's order, which is not known here")


def _pick(entry: str, devices: Sequence[Device], gpus: Sequence[Device]) -> Device | None:
    if entry.isascii() and entry.isdigit():
        return gpus[int(entry)] if len(entry) < 6 and int(entry) < len(gpus) else None
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    hits = [d for d in devices if d.uuid.startswith(entry)]
    return hits[0] if len(hits) == 1 or (hits and hits[0].uuid == entry) else None
