"""NVML of every kind users met: the right value or missing(reason), never 0 and never the end of a run."""

from __future__ import annotations

from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest
from fake_nvml import FakeNvml, FakeNvmlError, gpu

from sprintprof.environment import nvml as nvml_room
from sprintprof.environment.devices import all_devices, visible_devices
from sprintprof.environment.gpu import gpu_record
from sprintprof.environment.gpu_fields import THROTTLE_BITS, gpu_readers, throttle_words
from sprintprof.environment.nvml import Nvml, binding_package, open_nvml
from sprintprof.records import Missing


def opened(*gpus: dict[str, Any], **functions: Any) -> Nvml:
    found = open_nvml(lambda: FakeNvml(list(gpus), **functions))
    assert isinstance(found, Nvml)
    return found


def test_without_a_driver_every_field_is_missing_with_that_reason() -> None:
    found = open_nvml(lambda: FakeNvml([], init=FakeNvmlError("NVML Shared Library Not Found")))
    assert found == Missing("no driver (NVML Shared Library Not Found)")
    record = gpu_record(nvml=found)
    assert record["gpu.name"] == record["gpu.count"] == record["gpu.power_limit_W"] == found


def test_the_real_binding_says_so_too_where_there_is_no_driver() -> None:
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    found = open_nvml()
    if isinstance(found, Nvml):
        found.close()
        pytest.skip("this machine has an NVIDIA driver")
    assert found.reason.startswith("no driver")


def test_u50_library_and_driver_that_do_not_match() -> None:
    found = open_nvml(lambda: FakeNvml([], init=FakeNvmlError("Driver/library version mismatch")))
    assert found == Missing("Driver/library version mismatch")


def test_u49_two_packages_own_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"nvidia-ml-py": "12.0", "pynvml": "11.4.1"}

    def version(name: str) -> str:
        if name in versions:
            return versions[name]
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(nvml_room.metadata, "version", version)
    both = binding_package()
    assert isinstance(both, str)
    assert "nvidia-ml-py 12.0" in both
    assert "pynvml 11.4.1" in both
    assert "keep nvidia-ml-py" in both
    del versions["pynvml"]
    assert binding_package() == "nvidia-ml-py 12.0"
    versions.clear()
    assert binding_package() == Missing("nvidia-ml-py is not installed")


def test_another_module_called_pynvml_is_noticed() -> None:
    assert "another one" in str(open_nvml(SimpleNamespace))


def test_u43_under_mig_utilisation_is_missing_and_memory_works() -> None:
    part = {
        "uuid": "MIG-1",
        "name": "NVIDIA A100 MIG 1g.10gb",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=10 << 30, used=5),
    }
    nvml = opened(gpu(0, mig=[part]))
    readers = gpu_readers(nvml, part)
    assert readers["utilisation"]() == Missing("Not Supported")
    assert readers["power_W"]() == Missing("Not Supported")
    assert readers["memory_used_bytes"]() == 5


def test_u46_unified_memory_falls_back_to_the_system_and_says_so() -> None:
    nvml = opened(gpu(0, name="NVIDIA GB10", nvmlDeviceGetMemoryInfo=FakeNvmlError("Not Supported")))
    record = gpu_record(nvml=nvml)
    assert record["gpu.unified_memory"] is True
    assert record["gpu.memory_bytes"] > 1 << 20


@pytest.mark.parametrize("name", [b"Tesla V100", "Tesla V100"])
def test_u47_only_bytes_are_decoded(name: object) -> None:
    assert gpu_record(nvml=opened(gpu(0, name=name)))["gpu.name"] == "Tesla V100"


def test_u48_an_old_driver_lacks_the_new_name_of_the_throttle_call() -> None:
    old = gpu(
        0,
        nvmlDeviceGetCurrentClocksEventReasons=FakeNvmlError("Function Not Found"),
        nvmlDeviceGetCurrentClocksThrottleReasons=0x4,
    )
    assert gpu_readers(opened(old), old)["throttle_reasons"]() == 4
    del old["nvmlDeviceGetCurrentClocksThrottleReasons"]
    assert gpu_readers(opened(old), old)["throttle_reasons"]() == Missing("Function Not Found")


def test_no_permission_is_a_reason_not_a_zero() -> None:
    closed = gpu(0, nvmlDeviceGetPowerUsage=FakeNvmlError("Insufficient Permissions"))
    assert gpu_readers(opened(closed), closed)["power_W"]() == Missing("Insufficient Permissions")


def test_u52_average_and_instant_power_are_told_apart() -> None:
    def field(value: int) -> SimpleNamespace:
        return SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=value))

    asked: list[int] = []
    device = gpu(0)
    fake = FakeNvml([device])
    fake.nvmlDeviceGetFieldValues = lambda handle, ids: [
        asked.append(ids[0]) or field({185: 250_000, 186: 400_000}[ids[0]])
    ]  # type: ignore[attr-defined]
    readers = gpu_readers(Nvml(fake), device)
    assert (readers["power_average_W"](), readers["power_instant_W"]()) == (250.0, 400.0)
    fake.nvmlDeviceGetFieldValues = lambda handle, ids: [SimpleNamespace(nvmlReturn=3)]  # type: ignore[attr-defined]
    assert isinstance(readers["power_instant_W"](), Missing)


def test_a_function_the_binding_lacks_is_missing() -> None:
    assert "not in this binding" in str(opened(gpu(0)).call("nvmlDeviceGetSomethingNew", {}))


def test_values_have_si_units() -> None:
    device = gpu(0)
    readers = gpu_readers(opened(device), device)
    assert readers["sm_clock_Hz"]() == 1.41e9
    assert readers["power_W"]() == 300.0
    assert readers["energy_J"]() == 1.0
    assert readers["utilisation"]() == 0.5


def test_a_lost_gpu_does_not_hide_the_others() -> None:
    devices = all_devices(opened(gpu(0, lost=True), gpu(1)))
    assert not isinstance(devices, Missing)
    assert [d.index for d in devices] == [0, 1]
    assert devices[1].uuid.startswith("GPU-0001")


def test_pci_ids_are_those_of_the_system() -> None:
    devices = all_devices(opened(gpu(0, pci=b"0000C3FF:0A:00.0")))
    assert not isinstance(devices, Missing)
    assert devices[0].pci == "c3ff:0a:00.0"


FOUR = [gpu(n) for n in range(4)]


def uuids(mask: str | None, *gpus: dict[str, Any], **environ: str) -> tuple[list[str], bool]:
    devices = all_devices(opened(*(gpus or FOUR)))
    assert not isinstance(devices, Missing)
    seen = visible_devices(devices, environ if mask is None else {"CUDA_VISIBLE_DEVICES": mask, **environ})
    return [d.uuid for d in seen.devices], seen.sure


def test_u44_indices_are_sure_only_where_the_order_is_known() -> None:
    wanted = [FOUR[3]["uuid"], FOUR[1]["uuid"]]
    assert uuids("3,1") == (wanted, True)  # equal GPUs: CUDA's order is the PCI order
    mixed = [*FOUR[:3], gpu(3, name="NVIDIA T4")]
    assert uuids("3,1", *mixed) == (wanted, False)
    assert uuids("3,1", *mixed, CUDA_DEVICE_ORDER="PCI_BUS_ID") == (wanted, True)


def test_u45_uuids_in_the_mask_whole_or_cut() -> None:
    assert uuids(f"{FOUR[2]['uuid']},GPU-0000") == ([FOUR[2]["uuid"], FOUR[0]["uuid"]], True)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (None, [0, 1, 2, 3]), ("", []), ("-1", []), ("NoDevFiles", []), ("0,-1,1", [0]), ("1,9,2", [1]), ("0,0", [0]),
        (" 2 , 0 ", [2, 0]), ("GPU-", []), ("0x1", []), ("1.5", []), ("²", []), ("99999999999999999999", []), (",,", []),
    ],
)  # fmt: skip
def test_a_mask_ends_at_the_first_bad_entry(mask: str | None, expected: list[int]) -> None:
    assert uuids(mask)[0] == [FOUR[i]["uuid"] for i in expected]


def test_of_mig_slices_one_is_used() -> None:
    slices = [{"uuid": f"MIG-{n}", "name": "1g.10gb"} for n in range(3)]
    assert uuids("MIG-1,MIG-2", gpu(0, mig=slices)) == (["MIG-1"], True)


def test_throttle_reasons_in_words() -> None:
    assert throttle_words(0x4 | 0x40) == ["power cap", "thermal (hardware)"]
    assert throttle_words(1 << 20) == ["unknown 0x100000"]
    assert throttle_words(0) == []
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    assert {
        pynvml.nvmlClocksEventReasonSwPowerCap,
        pynvml.nvmlClocksEventReasonHwThermalSlowdown,
        pynvml.nvmlClocksThrottleReasonHwSlowdown,
    } <= set(THROTTLE_BITS)


def test_the_record_of_a_healthy_gpu() -> None:
    record = gpu_record(
        nvml=opened(gpu(0), gpu(1), nvmlSystemGetCudaDriverVersion_v2=12040, nvmlSystemGetDriverVersion=b"550.54"),
        local_rank=1,
    )
    assert record["gpu.count"] == 2
    assert record["gpu.driver"] == "550.54"
    assert record["gpu.cuda_driver"] == "12.4"
    assert str(record["gpu.uuid"]).startswith("GPU-0001")
    assert record["gpu.memory_bytes"] == 80 << 30
    assert record["gpu.sm_clock_max_hz"] == 1.41e9
    assert isinstance(record["gpu.power_limit_W"], Missing)
