"""The fields telemetry reads beside the samples, each with its unit and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sprintprof.environment.nvml import Nvml
from sprintprof.records import Missing

_SM, _MEM = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM
_TEMPERATURE_GPU = 0
_POWER_AVERAGE, _POWER_INSTANT = 185, 186  # NVML_FI_DEV_POWER_…: older bindings lack the names, not the ids

THROTTLE_BITS: dict[int, str] = {
    0x1: "idle", 0x2: "application clocks", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost",
    0x20: "thermal (software)", 0x40: "thermal (hardware)", 0x80: "power brake", 0x100: "display clocks",
}  # fmt: skip
THROTTLE_REASONS = "throttle_reasons"
SLOWED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
"""Reasons that mean the GPU ran slower than it was asked to."""


Read = Callable[[Nvml, Any], Any]
"""Reads one field of a handle: a number or Missing."""


def _scaled(name: str, factor: float, *arguments: int) -> Read:
    def read(nvml: Nvml, handle: Any) -> Any:
        value = nvml.call(name, handle, *arguments)
        return value if isinstance(value, Missing) else value * factor

    return read


def _attribute(name: str, attribute: str, factor: float = 1.0) -> Read:
    def read(nvml: Nvml, handle: Any) -> Any:
        value = nvml.call(name, handle)
        return value if isinstance(value, Missing) else getattr(value, attribute) * factor

    return read


def _reasons(nvml: Nvml, handle: Any) -> Any:
    """The renamed call first, then the one of older drivers."""
    names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    return nvml.first(names, handle)


def _power_field(identity: int) -> Read:
    """Power by field id, in W: which of average and instant a plain power query gives depends on the chip."""

    def read(nvml: Nvml, handle: Any) -> Any:
        values = nvml.call("nvmlDeviceGetFieldValues", handle, [identity])
        if isinstance(values, Missing):
            return values
        found = values[0]
        if found.nvmlReturn != 0:
            return Missing(f"NVML returned {found.nvmlReturn} for the field")
        return found.value.uiVal * 1e-3

    return read


GPU_FIELDS: dict[str, tuple[str, Read]] = {
    "sm_clock_Hz": ("Hz", _scaled("nvmlDeviceGetClockInfo", 1e6, _SM)),
    "sm_clock_max_Hz": ("Hz", _scaled("nvmlDeviceGetMaxClockInfo", 1e6, _SM)),
    "memory_clock_Hz": ("Hz", _scaled("nvmlDeviceGetClockInfo", 1e6, _MEM)),
    "power_W": ("W", _scaled("nvmlDeviceGetPowerUsage", 1e-3)),
    "power_average_W": ("W", _power_field(_POWER_AVERAGE)),
    "power_instant_W": ("W", _power_field(_POWER_INSTANT)),
    "energy_J": ("J", _scaled("nvmlDeviceGetTotalEnergyConsumption", 1e-3)),
    "temperature_C": ("°C", _scaled("nvmlDeviceGetTemperature", 1.0, _TEMPERATURE_GPU)),
    THROTTLE_REASONS: ("bits", _reasons),
    "utilisation": ("1", _attribute("nvmlDeviceGetUtilizationRates", "gpu", 0.01)),
    "memory_used_bytes": ("B", _attribute("nvmlDeviceGetMemoryInfo", "used")),
}
"""Column → unit and how it is read, in the order of the samples table."""


def gpu_readers(nvml: Nvml, handle: Any) -> dict[str, Callable[[], Any]]:
    """The fields bound to one device."""
    return {name: partial(read, nvml, handle) for name, (_, read) in GPU_FIELDS.items()}


def throttle_words(bits: int) -> list[str]:
    """The reasons in a bit mask, unknown bits included."""
    words = [word for bit, word in THROTTLE_BITS.items() if bits & bit]
    rest = bits & ~sum(THROTTLE_BITS)
    return words + ([f"unknown {rest:#x}"] if rest else [])
