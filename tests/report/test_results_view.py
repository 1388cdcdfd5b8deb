"""Looking into a results file: overview, benchmark, point, shares of peak."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sprintprof.records import InputError, Measurement, Point, RunHeader, SampleSet
from sprintprof.report.results_view import (
    find_point,
    histogram_line,
    measured_peaks,
    overview,
    point_detail,
    share_of_peak,
    varying,
)
from sprintprof.store import Results, load_results, write_results


def measured(
    benchmark: str, time_s: float, flop: float = math.nan, bytes: float = math.nan, ranks: int = 1, **parameters: Any
) -> Measurement:
    times = np.full(6, time_s)
    extra = parameters.pop("extra", {})
    return Measurement(
        Point(benchmark, "numpy", parameters, ranks), "ok", flop=flop, bytes=bytes, median_s=time_s, low_s=time_s,
        high_s=time_s, min_s=time_s, first_s=time_s, samples=SampleSet({"time_s": times}), extra=extra,
    )  # fmt: skip


ROWS = [
    measured("gemm", 0.1, 1e9, 1e6, m=1, precision="fp32"),
    measured("gemm", 0.1, 2e9, 1e6, m=2, precision="fp32"),
    measured("triad", 0.1, 1e6, 1e9, size_bytes=1, precision="fp64", extra={"cache_fit": "exceeds"}),
    measured("triad", 0.1, 1e6, 9e9, size_bytes=2, precision="fp64", extra={"cache_fit": "fits"}),
    measured("relu_forward", 0.1, 1e6, 5e8, batch=1, precision="fp32"),
    measured("relu_forward", 0.1, 1e6, 5e8, batch=2, precision="fp32", extra={"peak_share": 0.25}),
    measured("allreduce", 0.1, 1e6, 5e8, ranks=2, size_bytes=1),
    Measurement(Point("allreduce", "numpy", {"size_bytes": 2}, 4), "failed", "wrong sum"),
]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    header = RunHeader("r", "2026-01-01", "box", ["x"], "0.1", [m.point for m in ROWS], {}, [{"cpu.model": "X"}], [0])
    return load_results(write_results(tmp_path / "r.h5", header, ROWS))


def test_overview_counts(results: Results) -> None:
    seen = overview(results)
    assert (seen["done"], seen["planned"]) == (7, 8)  # a failed point is to be measured again
    lines = {line["benchmark"]: line for line in seen["benchmarks"]}
    assert (lines["gemm"]["ok"], lines["allreduce"]["failed"]) == (2, 1)
    assert lines["allreduce"]["reasons"] == {"wrong sum": 1}
    assert json.loads(json.dumps(seen))


def test_a_share_is_of_the_declared_limit_else_of_the_best_of_the_file(results: Results) -> None:
    peaks = measured_peaks(results)
    assert peaks.flops == {"fp32": 2e10}
    assert peaks.memory_Bps == 1e10  # the one that fits the caches does not count
    by_point = {
        (m.point.benchmark, *m.point.parameters.values()): share_of_peak(m, peaks) for m in results.measurements
    }
    assert by_point["gemm", 1, "fp32"] == (0.5, False)
    assert by_point["relu_forward", 1, "fp32"] == (0.5, False)
    assert by_point["relu_forward", 2, "fp32"] == (0.25, True)
    assert math.isnan(by_point["allreduce", 1][0])
    assert math.isnan(by_point["allreduce", 2][0])


def test_a_point_is_found_by_the_beginning_of_its_key(results: Results) -> None:
    key = ROWS[0].key
    detail = point_detail(results, find_point(results, key[:10]))
    assert detail["columns"]["time_s"] == [0.1] * 6
    assert detail["rank_times_s"] is None
    for wrong in ("", "zz"):
        with pytest.raises(InputError, match="points have a key"):
            find_point(results, wrong)


def test_columns_of_a_table_are_what_varies() -> None:
    points = [Point("x", "numpy", {"a": 1, "b": 2, "c": n}) for n in range(3)]
    assert varying(points) == ["c"]


def test_a_histogram_has_blocks_where_samples_are() -> None:
    line = histogram_line(np.array([0.0, 0.0, 0.0, 1.0]), width=10)
    assert len(line) == 10
    assert line[0] == "█"
    assert line[-1] not in " █"
    assert line[1:-1].strip() == ""


@pytest.mark.parametrize("words", [[], ["--benchmark", "gemm"], ["--point", ROWS[0].key], ["--benchmark", "allreduce"]])
def test_the_verb_prints_tables_and_json(results: Results, words: list[str]) -> None:
    def show(*more: str) -> str:
        command = [sys.executable, "-m", "sprintprof", "show", str(results.path), *words, *more]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "gemm" in show() or "allreduce" in show() or words
    assert json.loads(show("--json", "-"))


@pytest.mark.parametrize("words", [["--benchmark", "nope"], ["--point", "zz"]])
def test_what_is_not_there_is_one_line_and_exit_2(results: Results, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sprintprof", "show", str(results.path), *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
