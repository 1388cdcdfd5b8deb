"""The environment record: complete, honest about what it cannot read, comparable."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sprintprof.environment.collect import collect, from_plain, to_plain
from sprintprof.environment.diff import diff
from sprintprof.environment.fabric import file_system
from sprintprof.environment.host import id_list
from sprintprof.environment.of_run import common, of_rank, rank_groups
from sprintprof.environment.registry import KEYS, lookup, ranges, show
from sprintprof.records import InputError, Missing, RunHeader


@pytest.fixture(scope="module")
def record() -> dict[str, object]:
    return collect(["sprintprof", "run"], results=Path(), scratch=Path("/tmp"))


def test_every_key_is_in_the_registry_with_its_type(record: dict[str, object]) -> None:
    for key, value in record.items():
        entry = lookup(key)
        assert entry is not None, key
        assert isinstance(value, (entry.type, Missing)) or (entry.type is float and isinstance(value, int)), key


def test_every_plain_key_of_the_registry_is_in_the_record(record: dict[str, object]) -> None:
    families = {k for k in KEYS if "*" in k}
    assert set(KEYS) - families <= set(record)


def test_missing_has_a_reason(record: dict[str, object]) -> None:
    assert all(v.reason for v in record.values() if isinstance(v, Missing))


def test_affinity_is_the_mask_not_a_launcher_flag(record: dict[str, object]) -> None:
    assert record["affinity.cpus"] == sorted(os.sched_getaffinity(0))


def test_it_survives_json(record: dict[str, object]) -> None:
    assert from_plain(json.loads(json.dumps(to_plain(record)))) == record


def test_variables_are_recorded_and_secrets_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("SLURM_JWT", "abc")
    monkeypatch.setenv("NVIDIA_API_KEY", "abc")
    monkeypatch.setenv("HOME_OF_MINE", "x")
    monkeypatch.setenv("SPRINTPROF_LAUNCH_PID", "77")
    record = collect([])
    assert record["variable.OMP_NUM_THREADS"] == "3"
    assert record["variable.SLURM_JWT"] == record["variable.NVIDIA_API_KEY"] == "(set, not recorded)"
    assert "variable.HOME_OF_MINE" not in record
    assert "variable.SPRINTPROF_LAUNCH_PID" not in record


def test_modules_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADEDMODULES", "gcc/12:openmpi/5.0")
    assert collect([])["module.loaded"] == ["gcc/12", "openmpi/5.0"]


def test_diff_puts_what_matters_first_and_ignores_reasons() -> None:
    a = {"node.host": "n1", "mpi.library": "MPICH 5", "gpu.name": Missing("no driver"), "package.numpy": "2.4"}
    b = {"node.host": "n2", "mpi.library": "MPICH 4", "gpu.name": Missing("none"), "variable.UCX_TLS": "tcp"}
    assert [(d.key, d.matters) for d in diff(a, b)] == [
        ("mpi.library", True), ("package.numpy", True), ("variable.UCX_TLS", True), ("node.host", False),
    ]  # fmt: skip
    assert diff(a, a) == []


def test_u26_only_the_ucx_version_differs() -> None:
    a = {"mpi.library": "x", "package.ucx": "1.18"}
    (only,) = diff(a, a | {"package.ucx": "1.19"})
    assert (only.key, only.first, only.second) == ("package.ucx", "1.18", "1.19")


def header(*environments: dict[str, object], ranks: list[int]) -> RunHeader:
    return RunHeader("r", "", "m", [], "", [], {}, list(environments), ranks)


def test_u28_ranks_with_other_masks_are_groups() -> None:
    groups = rank_groups(
        header({"affinity.cpus": [0], "cpu.model": "X"}, {"affinity.cpus": [1], "cpu.model": "X"}, ranks=[0, 1, 0, 1])
    )
    assert [g.ranks for g in groups] == [[0, 2], [1, 3]]
    assert common(groups) == {"cpu.model": "X"}


def test_what_should_be_equal_and_is_not_is_told() -> None:
    merged = common(rank_groups(header({"cpu.model": "X"}, {"cpu.model": "Y"}, ranks=[0, 0, 1])))
    assert str(merged["cpu.model"]) == "missing(differs: rank 0-1: X; rank 2: Y)"


def test_a_rank_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="it has 2 ranks"):
        of_rank([header({}, ranks=[0, 0])], 2, "r.h5")


@pytest.mark.parametrize(
    ("text", "ids"), [("0", [0]), ("0-3", [0, 1, 2, 3]), ("0-1,8,10-11", [0, 1, 8, 10, 11]), ("", [])]
)
def test_lists_of_ids_read_and_show(text: str, ids: list[int]) -> None:
    assert id_list(text) == ids
    assert ranges(ids) == text.replace("0-1", "0-1")


def test_values_are_shown_with_units() -> None:
    assert show("memory.total_bytes", 64 << 30) == "64 GiB"
    assert show("cpu.max_frequency_hz", 3.2e9) == "3200 MHz"
    assert show("gpu.power_limit_W", 400.0) == "400.0 W"
    assert show("affinity.cpus", [0, 1, 2, 5]) == "0-2,5"
    assert show("cpu.smt", False) == "no"
    assert show("gpu.name", None) == "missing(not recorded)"


def test_the_file_system_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    assert file_system(tmp_path / "a/b") == file_system(tmp_path)
    assert " on " in str(file_system(Path("/proc")))
    assert str(file_system(Path("/proc"))).startswith("proc")
