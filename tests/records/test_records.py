"""Points and errors: the key that resume, merge and compare go by."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sprintprof.records import FLAGS, InputError, Measurement, Missing, PartialError, Point, SprintprofError


def test_the_key_does_not_depend_on_the_order_of_parameters() -> None:
    assert Point("g", "numpy", {"m": 1, "n": 2}).key == Point("g", "numpy", {"n": 2, "m": 1}).key


def test_the_key_is_the_same_in_another_process() -> None:
    code = (
        "from sprintprof.records import Point; print(Point('gemm', 'numpy', {'m': 8, 'precision': 'fp32'}, 2, 1).key)"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == Point("gemm", "numpy", {"m": 8, "precision": "fp32"}, 2, 1).key
    assert other == "eaa6fa05f68c4a73", (
        "the key changed: results of earlier versions can no longer be resumed or merged"
    )


@pytest.mark.parametrize(
    "other",
    [
        Point("gemv", "numpy", {"m": 1}),
        Point("gemm", "cupy", {"m": 1}),
        Point("gemm", "numpy", {"m": 2}),
        Point("gemm", "numpy", {"m": 1.0}),
        Point("gemm", "numpy", {"m": True}),
        Point("gemm", "numpy", {"m": "1"}),
        Point("gemm", "numpy", {"m": 1}, ranks=2),
        Point("gemm", "numpy", {"m": 1}, launch=1),
    ],
)
def test_every_part_and_type_is_in_the_key(other: Point) -> None:
    assert other.key != Point("gemm", "numpy", {"m": 1}).key


def test_a_measurement_that_is_not_ok_has_no_zero_times() -> None:
    failed = Measurement(Point("gemm", "numpy", {}), "failed", "out of memory")
    assert not any(value == 0 for value in (failed.median_s, failed.low_s, failed.min_s, failed.flop, failed.bytes))
    assert len(failed.samples) == 0


def test_errors_are_one_line_with_place_and_remedy() -> None:
    error = InputError("r.h5", "is not\na results file", "give a file of sprintprof run")
    assert str(error) == "r.h5: is not a results file; give a file of sprintprof run"
    assert error.exit_code == 2
    assert PartialError("x").exit_code == SprintprofError("x").exit_code == 1


def test_missing_is_not_a_number() -> None:
    assert not Missing("no driver")
    assert str(Missing("no driver")) == "missing(no driver)"


def test_flags_of_the_contract_exist() -> None:
    contract = ["noisy", "drift", "throttled", "multimodal", "above-peak", "not-converged", "emulated", "staged"]
    assert set(contract) <= set(FLAGS)
