"""A module shaped like pynvml whose every field can be made to fail."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class FakeNvmlError(Exception):
    """Stands for pynvml.NVMLError."""


class FakeNvml:
    """GPUs as dicts: uuid, name, pci, and any `nvml…` function's answer (a value, or an exception to raise)."""

    NVMLError = FakeNvmlError

    def __init__(self, gpus: list[dict[str, Any]], init: Exception | None = None, **functions: Any) -> None:
        self.gpus = gpus
        self.init = init
        self.functions = functions
        self.calls = 0

    def nvmlInit(self) -> None:  # noqa: N802
        if self.init:
            raise self.init

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:  # noqa: N802
        if self.gpus[index].get("lost"):
            raise FakeNvmlError("GPU is lost")
        return self.gpus[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> dict[str, Any]:  # noqa: N802
        for gpu in self.gpus:
            for device in (gpu, *gpu.get("mig", [])):
                if _text(device["uuid"]) == uuid:
                    return device
        raise FakeNvmlError("Not Found")

    def nvmlDeviceGetUUID(self, handle: dict[str, Any]) -> Any:  # noqa: N802
        return handle["uuid"]

    def nvmlDeviceGetName(self, handle: dict[str, Any]) -> Any:  # noqa: N802
        return handle["name"]

    def nvmlDeviceGetPciInfo(self, handle: dict[str, Any]) -> Any:  # noqa: N802
        return SimpleNamespace(busId=handle.get("pci", "00000000:01:00.0"))

    def nvmlDeviceGetMigMode(self, handle: dict[str, Any]) -> list[int]:  # noqa: N802
        return [int(bool(handle.get("mig"))), 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: dict[str, Any]) -> int:  # noqa: N802
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: dict[str, Any], index: int) -> dict[str, Any]:  # noqa: N802
        slices: list[dict[str, Any]] = handle.get("mig", [])
        if index >= len(slices):
            raise FakeNvmlError("Not Found")
        return slices[index]

    def __getattr__(self, name: str) -> Any:
        """Any other function: per device by its key, else for all by the keyword; absent = not in this binding."""
        if not name.startswith("nvml"):
            raise AttributeError(name)
        if name not in self.functions and not any(name in g for g in self.gpus):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            self.calls += 1
            handle = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
            answer = handle.get(name, self.functions.get(name, FakeNvmlError("Not Supported")))
            if callable(answer) and not isinstance(answer, Exception):
                answer = answer()
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def gpu(number: int, **more: Any) -> dict[str, Any]:
    """A healthy GPU."""
    return {
        "uuid": f"GPU-{number:04x}aaaa-0000-0000-0000-00000000000{number}",
        "name": "NVIDIA A100",
        "pci": f"00000000:{number + 1:02X}:00.0",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 << 30, used=1 << 30, free=79 << 30),
        "nvmlDeviceGetClockInfo": 1410,
        "nvmlDeviceGetMaxClockInfo": 1410,
        "nvmlDeviceGetPowerUsage": 300_000,
        "nvmlDeviceGetTemperature": 55,
        "nvmlDeviceGetCurrentClocksEventReasons": 0,
        "nvmlDeviceGetTotalEnergyConsumption": 1000,
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=50, memory=10),
        **more,
    }
