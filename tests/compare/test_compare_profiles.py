"""Two profiles: predictions in the middle of the common range, with the fits' own intervals."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sprintprof.compare.compare import compare_files
from sprintprof.profile import Fit, FitError, Profile, Spread, save_profile
from sprintprof.records import InputError, Value


def fit(
    benchmark: str,
    coefficients: list[float],
    spread: float = 1.01,
    batch: tuple[float, float] = (1, 64),
    **fixed: Value,
) -> Fit:
    return Fit(
        benchmark=benchmark,
        engine="numpy",
        level="layer",
        fixed={"channels": 3, **fixed},
        family="linear",
        features=["1", "batch"],
        coefficients=coefficients,
        covariance=[],
        range={"batch": batch, "time_s": (1e-6, 1.0)},
        error=FitError(0.01, 0.02, 0.03, "leave-one-out", 8),
        jitter_cv=0.01,
        points=8,
        data_sha256="0" * 64,
        scale="batch",
        spread=Spread(1 / spread, spread),
    )


def profile(path: Path, machine: str, *fits: Fit, **facts: Value) -> Path:
    made = Profile(machine, "2025-01-01T00:00:00Z", "0.1.0", dict(facts), [], list(fits), [])
    save_profile(made, path)
    return path


def test_predictions_at_the_geometric_middle_of_the_common_range(tmp_path: Path) -> None:
    a = profile(tmp_path / "a.json", "alpha", fit("conv_forward", [1e-3, 1e-4], batch=(1, 16)), cpu="A")
    b = profile(tmp_path / "b.json", "beta", fit("conv_forward", [1e-3, 3e-4], batch=(4, 64)), cpu="B")
    result = compare_files([a, b])
    point = result.pairs[0].points[0]
    assert point.reference == pytest.approx(1e-3 + 8 * 1e-4)  # √(4·16) = 8
    assert point.ratio == pytest.approx((1e-3 + 8 * 3e-4) / (1e-3 + 8 * 1e-4))
    assert point.low == pytest.approx(point.ratio / 1.01 ** math.sqrt(2))
    assert (point.verdict, point.label) == ("slower", "conv_forward[channels=3] layer at batch=8")
    assert result.sources[0].completeness == "1 fits"
    assert [(c.key, c.reference, c.other) for c in result.pairs[0].environment] == [("cpu", "A", "B")]


def test_same_unsure_and_not_comparable(tmp_path: Path) -> None:
    kinds = {"same": 1.0, "unsure": 1.0, "blind": 2.0, "apart": 1.0}
    spreads = {"same": 1.01, "unsure": 1.3, "blind": 1.0, "apart": 1.01}
    a = profile(tmp_path / "a.json", "a", *(fit(k, [1e-3, 1e-4], spreads[k], (1, 4)) for k in kinds))
    ranges = {"apart": (8, 16)}
    b = profile(
        tmp_path / "b.json",
        "b",
        *(fit(k, [1e-3 * f, 1e-4 * f], spreads[k], ranges.get(k, (1, 4))) for k, f in kinds.items()),
    )
    points = {p.benchmark: p for p in compare_files([a, b]).pairs[0].points}
    assert {k: p.verdict for k, p in points.items()} == {
        "same": "same",
        "unsure": "not enough data",
        "blind": "not enough data",
        "apart": "not comparable",
    }
    assert points["apart"].why == "the ranges of batch do not meet: 1..4 against 8..16"


def test_fits_that_only_one_has(tmp_path: Path) -> None:
    a = profile(tmp_path / "a.json", "a", fit("conv_forward", [1e-3, 1e-4]), fit("relu_forward", [1e-3, 1e-4]))
    b = profile(tmp_path / "b.json", "b", fit("conv_forward", [1e-3, 1e-4]), fit("conv_forward", [1, 1], channels=8))
    pair = compare_files([a, b]).pairs[0]
    assert {(m.missing_in, m.benchmark) for m in pair.missing} == {("b", "relu_forward"), ("a", "conv_forward")}
    assert pair.mean.points == 1


def test_a_results_file_under_a_profiles_name(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(InputError, match="is a results file"):
        compare_files([tmp_path / "a.json", tmp_path / "a.json"])
