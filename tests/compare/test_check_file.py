"""`check`: what it finds, how sure, what to do, and that it finds nothing in a sound file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_results import gemm, measured, message, steady, write

from sprintprof.cli.app import run
from sprintprof.compare.check import check_file
from sprintprof.compare.findings import CheckReport, Finding
from sprintprof.records import InputError, Measurement, Point


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def found(report: CheckReport, kind: str) -> list[Finding]:
    return [f for f in report.findings if f.kind == kind]


def test_sound_files_are_stable(tmp_path: Path, rng: np.random.Generator) -> None:
    """300 points, none with a fault: tests of so many points must not shout by chance."""
    points = [measured(gemm(m + 1), steady(rng, 1e-6 * (m + 1))) for m in range(300)]
    report = check_file(write(tmp_path / "r.h5", points))
    assert report.stable
    assert report.counts == {}
    assert (report.measured, report.sound, report.done, report.planned) == (300, 300, 300, 300)
    assert report.noise == pytest.approx(0.002, abs=0.001)


def test_every_trouble_has_its_finding(tmp_path: Path, rng: np.random.Generator) -> None:
    quiet = steady(rng, n=40)
    place = np.arange(40)
    cases = {
        "noisy": measured(gemm(1), steady(rng, cv=0.2)),
        "few-samples": measured(gemm(2), quiet[:4]),
        "sustained drift": measured(gemm(3), quiet * (1 + 0.3 * place / 40)),
        "burst": measured(gemm(4), quiet * np.where((place > 9) & (place < 16), 1.5, 1.0)),
        "multimodal": measured(gemm(5), quiet * np.tile([1.0, 1.2, 1.0, 1.2, 1.2], 8)),
        "under-resolution": measured(gemm(6), quiet, timer_tick_s=1e-4, calls=1),
        "throttled": measured(gemm(7), quiet, ("throttled",)),
        "not-converged": measured(gemm(8), quiet, ("not-converged",), warmup="time was up"),
        "above-peak": measured(gemm(9), quiet, ("above-peak",)),
    }
    path = write(
        tmp_path / "r.h5", [*cases.values(), Measurement(gemm(10), "failed", "out of memory")], plan=[gemm(11)]
    )
    report = check_file(path)
    assert not report.stable
    for kind, measurement in cases.items():
        assert measurement.key in {f.key for f in found(report, kind)}, kind
    assert found(report, "failed")[0].what == "out of memory"
    assert "10 of 11" not in found(report, "incomplete")[0].what
    assert "9 of 11 points done, 1 not measured" in found(report, "incomplete")[0].what
    assert report.remedy("incomplete") == f"sprintprof run --resume {path}"
    assert "about" in found(report, "noisy")[0].sure
    assert "warm-up: time was up" in found(report, "not-converged")[0].what
    assert "p = " in found(report, "burst")[0].sure


def test_u17_time_that_falls_while_the_size_grows(tmp_path: Path, rng: np.random.Generator) -> None:
    bare = [measured(message(1), [113.4e-6]), measured(message(32), [87.0e-6])]
    finding = found(check_file(write(tmp_path / "bare.h5", bare)), "falls")[0]
    assert finding.what == "size_bytes 1 to 32: 113.4 µs to 87 µs, 23 % less"
    assert finding.sure == "too few samples for intervals"
    sampled = [measured(message(1), steady(rng, 113.4e-6)), measured(message(32), steady(rng, 87.0e-6))]
    report = check_file(write(tmp_path / "sampled.h5", sampled))
    assert found(report, "falls")[0].sure == "the 95 % intervals do not meet"
    assert report.stable  # it may be a protocol switch: a warning, for the reader to judge


def test_a_rise_noise_and_an_axis_that_is_no_size_are_no_fall(tmp_path: Path, rng: np.random.Generator) -> None:
    rising = [measured(gemm(m), steady(rng, 1e-4 * m)) for m in (1, 2, 4, 8)]
    noisy = [measured(message(s), steady(rng, 1e-3 * f, cv=0.3)) for s, f in ((8, 1.0), (16, 0.93))]
    stride = [measured(Point("im2col", "numpy", {"batch": 1, "stride_h": s}), steady(rng, 1e-3 / s)) for s in (1, 2)]
    stride = [
        Measurement(
            m.point, "ok", bytes=1e6 / s, flop=0, median_s=m.median_s, low_s=m.low_s, high_s=m.high_s, samples=m.samples
        )
        for s, m in zip((1, 2), stride, strict=True)
    ]
    assert found(check_file(write(tmp_path / "r.h5", [*rising, *noisy, *stride])), "falls") == []


def test_ranks_that_differ_and_a_straggler(tmp_path: Path, rng: np.random.Generator) -> None:
    factors = np.array([1.0, 1.0, 1.0, 1.5])
    apart = factors * steady(rng, n=(30, 4), cv=0.01)  # type: ignore[arg-type]
    alike = steady(rng, n=(30, 4), cv=0.01)  # type: ignore[arg-type]
    points = [measured(message(8), apart.max(axis=1), rank_times_s=apart)]
    points += [measured(message(64), alike.max(axis=1), rank_times_s=alike)]
    report = check_file(write(tmp_path / "r.h5", points))
    assert [f.key for f in found(report, "ranks")] == [points[0].key]
    assert "rank 3: 1.5 ms" in found(report, "straggler")[0].what
    assert report.stable


def test_launches_outliers_and_what_lies_around(tmp_path: Path, rng: np.random.Generator) -> None:
    points = [measured(gemm(1, launch), steady(rng, 1e-3 * f)) for launch, f in enumerate((1.0, 1.1, 0.9))]
    spiky = steady(rng, n=50)
    spiky[rng.choice(50, 12, replace=False)] *= rng.uniform(1.5, 30, 12)
    points.append(measured(gemm(2), spiky))
    environment = {"os.load_1min": 3.0, "cpu.threads": 4, "cpu.governor": "powersave", "mpi.ranks_on_node": 8}
    report = check_file(write(tmp_path / "r.h5", points, environment=environment))
    assert "medians of 3 launches scatter by ±10" in found(report, "launches")[0].what
    assert "of 50 samples are outside" in found(report, "outliers")[0].what
    assert [line.split()[1] for line in report.around] == ["load", "CPU's", "ranks"]


def test_a_tolerated_share(tmp_path: Path, rng: np.random.Generator) -> None:
    points = [measured(gemm(m), steady(rng, 1e-3 * m)) for m in range(1, 20)]
    path = write(tmp_path / "r.h5", [*points, measured(gemm(20), steady(rng, 2e-2, cv=0.3))])
    assert not check_file(path).stable
    assert check_file(path, tolerate=0.05).stable
    with pytest.raises(InputError, match="--tolerate"):
        check_file(path, tolerate=5)


def test_command_line_groups_findings(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(tmp_path / "r.h5", [measured(gemm(m), steady(rng, 1e-3 * m, cv=0.3)) for m in range(1, 41)]))
    assert run(["check", path]) == 1
    text = capsys.readouterr().out
    assert "(noisy, 40)" in text
    assert "37 more, see --all" in text
    assert "what to do: quiet the machine" in text
    assert text.rstrip().endswith("not stable")
    assert len(text.splitlines()) < 25
    assert run(["check", path, "--all"]) == 1
    assert capsys.readouterr().out.count("where ±2 % was the target") == 40
    assert run(["check", path, "--json", "-"]) == 1
    plain = json.loads(capsys.readouterr().out)
    assert plain["stable"] is False
    assert plain["kinds"]["noisy"]["level"] == "problem"
    assert len(plain["findings"]) == 40
    assert run(["check", str(tmp_path / "none.h5")]) == 2
