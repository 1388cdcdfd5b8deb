"""Comparison of files: verdicts, pairing, conditions, missing points, means, reference, directions."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from made_results import gemm, measured, message, steady, write

from sprintprof.cli.app import run
from sprintprof.compare.compare import compare_files
from sprintprof.records import InputError, Measurement

SIZES = range(1, 21)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def two(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """Twenty points; on machine b one is 10 % slower and one 20 % faster."""
    factors = {3: 1.1, 7: 0.8}
    a = write(tmp_path / "a.h5", [measured(gemm(m), steady(rng, 1e-3 * m)) for m in SIZES], "alpha")
    b = write(
        tmp_path / "b.h5", [measured(gemm(m), steady(rng, 1e-3 * m * factors.get(m, 1.0))) for m in SIZES], "beta"
    )
    return a, b


def verdicts(comparison: object, pair: int = 0) -> dict[int, str]:
    return {int(p.parameters["m"]): p.verdict for p in comparison.pairs[pair].points}  # type: ignore[attr-defined]


def test_verdict_ratio_and_interval_of_each_point(two: tuple[Path, Path]) -> None:
    result = compare_files(two)
    found = verdicts(result)
    assert found.pop(3) == "slower"
    assert found.pop(7) == "faster"
    assert set(found.values()) == {"same"}
    point = next(p for p in result.pairs[0].points if p.parameters["m"] == 7)
    assert point.low < point.ratio < point.high
    assert point.ratio == pytest.approx(0.8, abs=0.01)
    assert point.label == "gemm[m=7]"
    assert point.effect == -1.0  # every sample of b is faster than every one of a
    assert result.pairs[0].counts == {"same": 18, "slower": 1, "faster": 1}


def test_u91_direction_is_the_metrics(two: tuple[Path, Path]) -> None:
    """The same data as time (lower is better) and as FLOP rate (higher is better) give the same words."""
    time, rate = compare_files(two), compare_files(two, metric="flops")
    assert (time.better, rate.better, rate.unit) == ("lower", "higher", "FLOP/s")
    assert verdicts(time) == verdicts(rate)
    seven = [next(p for p in c.pairs[0].points if p.parameters["m"] == 7) for c in (time, rate)]
    assert seven[1].ratio == pytest.approx(1 / seven[0].ratio)
    assert seven[1].reference == pytest.approx(2 * 7 * 64 * 64 / 7e-3, rel=0.01)


def test_geometric_mean_is_over_shared_comparable_points(two: tuple[Path, Path]) -> None:
    pair = compare_files(two).pairs[0]
    assert pair.mean.points == 20
    assert pair.mean.ratio == pytest.approx((1.1 * 0.8) ** (1 / 20), rel=2e-3)
    assert pair.mean_by_benchmark["gemm"] == pair.mean


def test_missing_on_either_side_says_why(tmp_path: Path, rng: np.random.Generator) -> None:
    both = gemm(1)
    failed = Measurement(gemm(2), "failed", reason="out of memory")
    a = write(tmp_path / "a.h5", [measured(both, steady(rng)), measured(gemm(2), steady(rng)), failed_of(3)], "a")
    b = write(
        tmp_path / "b.h5",
        [measured(both, steady(rng)), failed, measured(message(64), steady(rng))],
        "b",
        plan=[gemm(4), gemm(3)],
    )
    pair = compare_files([a, b]).pairs[0]
    lacks = {(m.missing_in, m.benchmark): m.why for m in pair.missing}
    assert lacks == {("b", "gemm"): "failed: out of memory", ("a", "allreduce"): "not in its plan"}
    assert pair.neither == 2
    assert any("b: 2 of 5 points done" in line for line in pair.warnings)


def failed_of(m: int) -> Measurement:
    return Measurement(gemm(m), "failed", reason="no")


def test_u06_other_fill_is_not_comparable_and_warned_of(tmp_path: Path, rng: np.random.Generator) -> None:
    a = write(tmp_path / "a.h5", [measured(gemm(1), steady(rng), fill="ones")], "a")
    b = write(tmp_path / "b.h5", [measured(gemm(1), steady(rng), fill="random", seed=7)], "b")
    pair = compare_files([a, b]).pairs[0]
    assert [(p.verdict, p.why) for p in pair.points] == [("not comparable", "fill ones against random")]
    assert any("fill ones against random" in line for line in pair.warnings)
    assert pair.mean.points == 0
    assert compare_files([a, b], across=["fill"]).pairs[0].points[0].verdict == "same"


def test_precision_cache_and_emulation_keep_points_apart(tmp_path: Path, rng: np.random.Generator) -> None:
    a = write(
        tmp_path / "a.h5",
        [measured(gemm(1), steady(rng)), measured(gemm(2), steady(rng)), measured(gemm(3), steady(rng), ("emulated",))],
        "a",
    )
    b = write(
        tmp_path / "b.h5",
        [
            measured(gemm(1, precision="tf32"), steady(rng)),
            measured(gemm(2), steady(rng), cache_state="warm"),
            measured(gemm(3), steady(rng)),
        ],
        "b",
    )
    why = [p.why for p in compare_files([a, b]).pairs[0].points]
    assert why == ["precision fp32 against tf32", "cache cold against warm", "emulated against measured"]
    assert not compare_files([a, b]).pairs[0].missing
    with pytest.raises(InputError, match="no condition 'colour'"):
        compare_files([a, b], across=["colour"])


def test_launches_of_a_file_are_taken_together(tmp_path: Path, rng: np.random.Generator) -> None:
    """Launches scatter by 3 %: five of them on either side are no change, though 150 samples a side look like one."""
    sides = []
    for name in "ab":
        shifts = np.exp(0.03 * rng.normal(size=5))
        points = [measured(gemm(1, launch), steady(rng, 1e-3 * s)) for launch, s in enumerate(shifts)]
        sides.append(write(tmp_path / f"{name}.h5", points, name))
    point = compare_files(sides).pairs[0].points[0]
    assert point.launches == (5, 5)
    assert point.samples == (150, 150)
    assert point.verdict == "not enough data"
    assert "launches" in point.remedy


def test_u92_reference_by_name_and_common_points(tmp_path: Path, rng: np.random.Generator) -> None:
    levels = {"alpha": 1.0, "beta": 2.0, "gamma": 4.0}
    files = []
    for name, level in levels.items():
        sizes = range(1, 6) if name == "gamma" else SIZES
        files.append(
            write(tmp_path / f"{name}.h5", [measured(gemm(m), steady(rng, level * m * 1e-3)) for m in sizes], name)
        )
    assert compare_files(files).reference == "alpha"
    result = compare_files(files, reference="beta")
    assert result.reference == "beta"
    assert [s.name for s in result.sources] == ["beta", "alpha", "gamma"]
    assert {name: mean.points for name, mean in result.common.items()} == {"alpha": 5, "gamma": 5}
    assert result.common["alpha"].ratio == pytest.approx(0.5, rel=0.01)
    assert result.common["gamma"].ratio == pytest.approx(2.0, rel=0.01)
    assert compare_files(files, reference="gamma.h5").reference == "gamma"
    with pytest.raises(InputError, match="names are alpha, beta, gamma"):
        compare_files(files, reference="delta")


def test_runs_of_one_machine_are_named_by_file(tmp_path: Path, rng: np.random.Generator) -> None:
    files = [write(tmp_path / f"run{i}.h5", [measured(gemm(1), steady(rng))]) for i in range(2)]
    assert [s.name for s in compare_files(files).sources] == ["run0", "run1"]
    assert compare_files([files[0], files[0]]).pairs[0].points[0].verdict == "same"


def test_what_differs_around_the_files(tmp_path: Path, rng: np.random.Generator) -> None:
    """U26: two files of which only a library version and a load average differ."""
    points = [measured(gemm(1), steady(rng))]
    first = {"cpu.model": "A", "package.ucx": "1.18", "os.load_1min": 0.1}
    a = write(tmp_path / "a.h5", points, environment=first)
    b = write(tmp_path / "b.h5", points, environment=first | {"package.ucx": "1.19", "os.load_1min": 2.0})
    changed = compare_files([a, b]).pairs[0].environment
    assert next((c.key, c.reference, c.other, c.matters) for c in changed) == ("package.ucx", "1.18", "1.19", True)
    assert [c.matters for c in changed] == [True, False]


def test_a_shift_of_all_points_is_named_as_such(tmp_path: Path, rng: np.random.Generator) -> None:
    a = write(tmp_path / "a.h5", [measured(gemm(m), steady(rng, 1e-3)) for m in SIZES], "a")
    b = write(tmp_path / "b.h5", [measured(gemm(m), steady(rng, 1.08e-3)) for m in SIZES], "b")
    pair = compare_files([a, b]).pairs[0]
    assert pair.counts == {"slower": 20}
    assert any("moved together, by +8" in line for line in pair.warnings)


def test_two_runs_of_one_busy_machine_get_no_verdicts(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    files = []
    for name in "ab":
        shifts = np.exp(0.08 * rng.standard_t(3, 60))
        points = [measured(gemm(m + 1), steady(rng, 1e-3 * s, 20, 0.08)) for m, s in enumerate(shifts)]
        files.append(write(tmp_path / f"{name}.h5", points, name))
    pair = compare_files(files).pairs[0]
    assert pair.counts.get("faster", 0) + pair.counts.get("slower", 0) <= 3
    assert any("one launch a side: intervals are widened" in line for line in pair.warnings)


def test_bad_arguments(tmp_path: Path, two: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="at least two"):
        compare_files(two[:1])
    with pytest.raises(InputError, match="no metric 'speed'"):
        compare_files(two, metric="speed")
    with pytest.raises(InputError, match="--margin"):
        compare_files(two, margin=0.2)
    with pytest.raises(InputError, match="is a profile among"):
        compare_files([two[0], tmp_path / "p.json"])


def test_command_line(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a, b = map(str, two)
    assert run(["compare", a, b]) == 0
    text = capsys.readouterr().out
    assert "beta against alpha: time, lower is better" in text
    assert "gemm[m=7]" in text
    assert "18 same" in text
    assert run(["compare", a, b, "--json", "-"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["reference"] == "alpha"
    assert len(plain["pairs"][0]["points"]) == 20
    assert run(["compare", a, b, "--changed", "--fail-on-slower", "--reference", "beta"]) == 1
    text = capsys.readouterr().out
    assert "gemm[m=3]" in text
    assert "gemm[m=4]" not in text
    assert run(["compare", a, str(tmp_path / "none.h5")]) == 2
    assert "none.h5" in capsys.readouterr().err


def test_the_result_is_plain_data(two: tuple[Path, Path]) -> None:
    plain = compare_files(two).to_plain()
    again = msgspec.json.decode(msgspec.json.encode(plain))
    assert again["pairs"][0]["mean"]["points"] == 20
    assert again["pairs"][0]["points"][0]["launches"] == [1, 1]
