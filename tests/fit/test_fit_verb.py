"""`sprintprof fit`: files in, a profile out, one line for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fit_data import relu

from sprintprof.cli.app import run
from sprintprof.profile import load_profile
from sprintprof.records import Measurement, RunHeader
from sprintprof.store import write_results


def results(path: Path, points: list[Measurement], machine: str = "box") -> Path:
    environment = {"cpu.model": "a CPU", "python.version": "3"}
    header = RunHeader("r", "2025-01-01", machine, [], "0.1", [m.point for m in points], {}, [environment], [0])
    return Path(write_results(path, header, points))


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    points = [relu(b, f, 1e-6 * (2 + 1e-3 * b * f)) for f in (100, 1000, 9000) for b in (1, 4, 16, 32)]
    points.append(relu(64, 100, 1.0, flags=("throttled",)))
    return results(tmp_path / "r.h5", points)


def test_results_become_a_profile(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = measured.with_name("p.json")
    assert run(["fit", str(measured), "-o", str(out), "--report"]) == 0
    said = capsys.readouterr()
    assert "relu_forward layer [features=100, precision=fp32]: T = " in said.out
    assert "12 points used; left out: 1 throttled" in said.out
    assert str(out) in said.err
    profile = load_profile(out)
    assert profile.machine == "box"
    assert profile.facts == {"cpu.model": "a CPU"}
    assert profile.sources[0].points_left_out == {"throttled": 1}
    assert profile.sources[0].sha256


def test_nothing_is_overwritten_unless_forced(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = measured.with_name("p.json")
    out.write_text("mine")
    assert run(["fit", str(measured), "-o", str(out)]) == 2
    assert out.read_text() == "mine"
    assert "exists already" in capsys.readouterr().err
    assert run(["fit", str(measured), "-o", str(out), "--force"]) == 0
    assert load_profile(out).fits


def test_json_on_stdout_is_alone(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", str(measured), "-o", str(measured.with_name("p.json")), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "sprintprof-profile"


def test_flags_can_be_taken_in(measured: Path) -> None:
    out = measured.with_name("p.json")
    assert run(["fit", str(measured), "-o", str(out), "--include-flag", "throttled"]) == 0
    assert load_profile(out).sources[0].points_used == 13


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "no such file"), (b"", "empty"), (b"text", ""), (b"\x89HDF\r\n\x1a\n cut", ""), (b'{"schema": 1}', "")],
)
def test_foreign_results_are_one_line(
    tmp_path: Path, content: bytes | None, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "r.h5", tmp_path / "p.json"
    if content is not None:
        path.write_bytes(content)
    assert run(["fit", str(path), "-o", str(out)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "r.h5" in lines[0]
    assert says.lower() in lines[0].lower()
    assert not out.exists()


def test_files_of_two_machines_are_refused(measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = results(tmp_path / "o.h5", [relu(b, 7, 1e-6 * b) for b in (1, 2, 3)], machine="other")
    out = tmp_path / "p.json"
    assert run(["fit", str(measured), str(other), "-o", str(out)]) == 2
    assert "several machines" in capsys.readouterr().err
    assert run(["fit", str(measured), str(measured), "-o", str(out)]) == 2
    assert "given twice" in capsys.readouterr().err
    assert run(["fit", str(measured), str(other), "-o", str(out), "--machine", "both"]) == 0
    assert load_profile(out).machine == "both"
