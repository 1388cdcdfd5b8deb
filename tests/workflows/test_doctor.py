"""Doctor: each thing that spoils runs is found, named and given a remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_nvml import FakeNvml, gpu

from sprintprof.bench.world.refuse import Starter
from sprintprof.environment.collect import collect
from sprintprof.environment.nvml import Nvml
from sprintprof.records import Missing
from sprintprof.workflows.doctor import Finding
from sprintprof.workflows.doctor import mpi as mpi_room
from sprintprof.workflows.doctor.files import file_findings
from sprintprof.workflows.doctor.gpu import cupy_findings, gpu_findings
from sprintprof.workflows.doctor.host import host_findings
from sprintprof.workflows.doctor.mpi import mismatch, mpi_findings, rank_findings


def levels(findings: list[Finding]) -> dict[str, str]:
    return {f.subject: f.level for f in findings}


def test_u16_a_node_with_7_of_8_gpus_is_named_with_its_count() -> None:
    nvml = Nvml(FakeNvml([gpu(n) for n in range(7)]))
    findings = list(gpu_findings(8, {}, nvml, host="n042"))
    assert [(f.level, f.what) for f in findings if f.subject == "GPU"] == [("blocker", "n042 has 7 of 8 GPUs")]


def test_a_gpu_that_does_not_answer_blocks() -> None:
    nvml = Nvml(FakeNvml([gpu(0), gpu(1, lost=True)]))
    (first, *_) = gpu_findings(None, {}, nvml, host="n1")
    assert (first.level, "GPU [1]" in first.what) == ("blocker", True)


def test_a_busy_gpu_is_named_with_the_process() -> None:
    busy = gpu(1, nvmlDeviceGetComputeRunningProcesses=[SimpleNamespace(pid=4242), SimpleNamespace(pid=os.getpid())])
    findings = list(gpu_findings(None, {}, Nvml(FakeNvml([gpu(0), busy]))))
    assert [f.what for f in findings if f.subject == "GPU busy"] == ["GPU 1 runs process 4242"]


def test_no_driver_blocks_only_who_needs_a_gpu() -> None:
    nothing = Missing("no driver (x)")
    assert levels(list(gpu_findings(None, {}, nothing)))["GPU"] == "note"
    assert levels(list(gpu_findings(4, {}, nothing)))["GPU"] == "blocker"


def test_a_mask_whose_order_is_not_known_is_a_warning() -> None:
    nvml = Nvml(FakeNvml([gpu(0), gpu(1, name="NVIDIA T4")]))
    findings = levels(list(gpu_findings(None, {"CUDA_VISIBLE_DEVICES": "1"}, nvml)))
    assert findings["CUDA_VISIBLE_DEVICES"] == "warning"


def test_u14_a_home_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("os.access", lambda place, mode: False)
    (finding,) = cupy_findings(False, {"HOME": "/nonexistent"})
    assert "/nonexistent/.cupy/kernel_cache cannot be written" in finding.what


def test_u19_an_mpiexec_of_another_mpi_blocks() -> None:
    found = mismatch("MPICH Version: 5.0.2", Starter("/usr/bin/mpiexec", "mpiexec (OpenRTE) 4.1.4"))
    assert found is not None
    assert found.level == "blocker"
    assert "/usr/bin/mpiexec" in found.what
    assert "MPICH" in found.what
    assert mismatch("MPICH Version: 5.0.2", Starter("/x/mpiexec", "HYDRA (MPICH) 5.0.2")) is None
    assert mismatch("Some MPI 1.0", Starter("/x/mpiexec", "mpiexec (OpenRTE) 4.1.4")) is None


@pytest.mark.parametrize(
    ("output", "code", "level", "words"),
    [
        ("<size 2><size 2>", 0, "ok", "find each other"),
        ("noise<size 2>\n<size 2>\n", 0, "ok", "find each other"),
        ("<size 1><size 1>", 0, "blocker", "each alone"),
        ("", 1, "warning", "did not start"),
    ],
)
def test_two_ranks_on_trial(monkeypatch: pytest.MonkeyPatch, output: str, code: int, level: str, words: str) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    monkeypatch.setattr(mpi_room, "find_starter", lambda ranks: Starter("mpiexec", "HYDRA"))
    done = subprocess.CompletedProcess([], code, output, "no slots")
    monkeypatch.setattr(mpi_room.subprocess, "run", lambda *a, **k: done)
    found = mpi_room.trial()
    assert (found.level, words in found.what) == (level, True)


def test_without_mpi4py_only_a_run_with_ranks_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert [f.level for f in mpi_findings(None, {})] == ["note"]
    (finding,) = mpi_findings(4, {})
    assert (finding.level, finding.remedy) == ("blocker", "pip install 'sprintprof[mpi]'")


def test_an_mpi_library_that_crashes_does_not_end_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_room, "_ASK_LIBRARY", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert mpi_room.library_string() is None


def test_more_ranks_than_threads() -> None:
    assert [f.level for f in rank_findings(4, 2)] == ["warning"]
    assert list(rank_findings(2, 2)) == []


@pytest.fixture
def record() -> dict[str, Any]:
    return collect([]) | {
        "affinity.cpus": [0, 1, 2, 3],
        "cpu.threads": 8,
        "os.load_1min": 0.1,
        "cpu.smt": False,
        "cpu.governor": "performance",
        "blas.threads": 4,
    }


def test_a_healthy_node_has_nothing_to_say(record: dict[str, Any]) -> None:
    assert {f.level for f in host_findings(record)} == {"ok"}


@pytest.mark.parametrize(
    ("changes", "subject", "level"),
    [
        ({"affinity.cpus": [5]}, "affinity", "warning"),
        ({"cpu.smt": True}, "SMT", "note"),
        ({"cpu.governor": "powersave"}, "governor", "warning"),
        ({"cpu.governor": Missing("no cpufreq here")}, "governor", "note"),
        ({"os.load_1min": 7.5}, "load", "warning"),
        ({"blas.threads": 8}, "threads", "warning"),
    ],
)
def test_what_spoils_numbers_is_found(
    record: dict[str, Any], changes: dict[str, Any], subject: str, level: str
) -> None:
    assert levels(list(host_findings(record | changes)))[subject] == level


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(list(file_findings(tmp_path / "new/results")))["results"] != "blocker"

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    (finding,) = file_findings(tmp_path)
    assert (finding.level, "Permission denied" in finding.what) == ("blocker", True)


@pytest.mark.mpi
def test_the_verb_works_here_and_blockers_are_exit_1(tmp_path: Path) -> None:
    def doctor(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sprintprof", "doctor", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    done = doctor("--json", "-")
    told = json.loads(done.stdout)
    assert done.returncode == int(told["blocked"])
    found = {f["subject"]: f["level"] for f in told["findings"]}
    assert {"MPI library", "packages", "results"} <= set(found)
    assert found["two ranks"] == "ok", told
    assert doctor("--gpus", "99").returncode == 1
    assert list(tmp_path.iterdir()) == []
