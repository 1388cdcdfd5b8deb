"""GPUs: how many, which are ours, is somebody else on them, does CuPy see them."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from sprintprof.environment.devices import all_devices, visible_devices
from sprintprof.environment.gpu import handle_of
from sprintprof.environment.nvml import Nvml, binding_package, open_nvml
from sprintprof.records import Missing
from sprintprof.workflows.doctor.finding import Finding, Level


def gpu_findings(
    wanted: int | None, environ: Mapping[str, str], nvml: Nvml | Missing | None = None, host: str | None = None
) -> Iterator[Finding]:
    """Pre-flight of the GPUs. `wanted` is how many a run needs on this node, None where it says nothing."""
    nvml = open_nvml() if nvml is None else nvml
    host = host or socket.gethostname()
    package = binding_package()
    if isinstance(package, str) and " and " in package:
        yield Finding("warning", "pynvml", package)
    if isinstance(nvml, Missing):
        level: Level = "blocker" if wanted else "note"
        remedy = "run in a job on a GPU node" if wanted else ""
        yield Finding(level, "GPU", f"none: {nvml.reason}", remedy)
        return
    devices = all_devices(nvml)
    if isinstance(devices, Missing):
        yield Finding("blocker" if wanted else "warning", "GPU", f"cannot be counted: {devices.reason}")
        return
    gpus = [d for d in devices if not d.is_mig]
    lost = [d.index for d in gpus if not d.name]
    if lost:
        yield Finding("blocker", "GPU", f"{host}: GPU {lost} does not answer ({gpus[lost[0]].uuid})", "drain the node")
    alive = len(gpus) - len(lost)
    if wanted is not None and alive < wanted:
        yield Finding("blocker", "GPU", f"{host} has {alive} of {wanted} GPUs", "drain the node or ask for fewer")
    else:
        names = ", ".join(sorted({d.name for d in gpus if d.name}))
        yield Finding("ok", "GPU", f"{alive} ({names})")
    seen = visible_devices(devices, environ)
    if seen.note:
        remedy = "" if seen.sure else "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name UUIDs"
        yield Finding("note" if seen.sure else "warning", "CUDA_VISIBLE_DEVICES", seen.note, remedy)
    for device in seen.devices:
        handle = handle_of(nvml, device)
        busy = [] if isinstance(handle, Missing) else nvml.call("nvmlDeviceGetComputeRunningProcesses", handle)
        others = [] if isinstance(busy, Missing) else [p.pid for p in busy if p.pid != os.getpid()]
        if others:
            pids = ", ".join(map(str, others[:8]))
            yield Finding("warning", "GPU busy", f"GPU {device.index} runs process {pids}", "wait, or take another GPU")


def cupy_findings(needed: bool, environ: Mapping[str, str]) -> Iterator[Finding]:
    """CuPy and its kernel cache; nothing is imported that would touch a device."""
    if importlib.util.find_spec("cupy") is None:
        level: Level = "blocker" if needed else "note"
        yield Finding(level, "CuPy", "is not installed", "pip install 'sprintprof[gpu12]' or 'sprintprof[gpu13]'")
        return
    cache = Path(environ.get("CUPY_CACHE_DIR") or Path(environ.get("HOME", "/")) / ".cupy/kernel_cache")
    place = next((p for p in (cache, *cache.parents) if p.exists()), Path("/"))
    if not os.access(place, os.W_OK):
        remedy = "the run uses a folder of its own; set CUPY_CACHE_DIR to keep kernels between jobs"
        yield Finding("note", "CuPy", f"kernel cache {cache} cannot be written", remedy)
    if importlib.util.find_spec("cudnn") is None:
        yield Finding("note", "cuDNN", "nvidia-cudnn-frontend is not installed: convolutions are skipped")
