"""A plan executed in this process: what becomes of good, failing and impossible points, of signals and limits."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sprintprof.bench import registry
from sprintprof.bench.case import Case, Skip, Work
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.run.execute import Outcome, RunRequest, execute
from sprintprof.bench.world.world import serial_world
from sprintprof.records import InputError, Point
from sprintprof.store import load_results

QUICK = HarnessSettings(timeout_s=0.05, warmup_timeout_s=0.01, max_samples=8, cache="warm")
Build = Callable[[Case], Any]


@pytest.fixture
def fake() -> Iterator[Callable[[str, Build], None]]:
    """Register benchmarks for one test."""
    registry.all_benchmarks()
    before = dict(registry._REGISTRY)

    def register(name: str, build: Build, **declared: Any) -> None:
        axes = (registry.Axis("n", int, 1),)
        declared = {"group": "kernels", "axes": axes, "summary": "", "window": "", **declared}
        registry.benchmark(name, **declared)(build)

    yield register
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


def request(tmp_path: Path, *points: Point, **changes: Any) -> RunRequest:
    base = RunRequest(
        tmp_path / "r.h5", list(points), QUICK, "box", "run-1", "2026-01-01T00:00:00Z", ["sprintprof", "run"], {}
    )
    return msgspec.structs.replace(base, **changes)


def run(wanted: RunRequest) -> Outcome:
    outcome = execute(wanted, serial_world())
    assert outcome is not None
    return outcome


def point(name: str, n: int = 1, **more: Any) -> Point:
    return Point(name, "numpy", {"n": n}, **more)


def nothing(case: Case) -> Work:
    return Work(call=lambda: sum(range(1000)))


def test_good_points_have_samples_environment_and_plan(tmp_path: Path, fake: Callable[..., None]) -> None:
    fake("fine", nothing)
    outcome = run(request(tmp_path, point("fine", 1), point("fine", 2)))
    assert (outcome.exit_code, outcome.counts, outcome.left) == (0, {"ok": 2}, 0)
    results = load_results(outcome.path)
    assert str(results.completeness) == "2 of 2 points"
    for m in results.measurements:
        assert len(m.samples) >= 6
        assert 0 < m.low_s <= m.median_s <= m.high_s
    environment = results.header.environments[results.header.rank_environment[0]]
    assert environment["affinity.cpus"] == sorted(os.sched_getaffinity(0))
    assert not list(tmp_path.glob("*journal*"))
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"], "the scratch folder or a lock was left behind"


def raises(error: BaseException) -> Build:
    def build(case: Case) -> Work:
        raise error

    return build


def fails_in_call(case: Case) -> Work:
    def call() -> None:
        raise ValueError("inside\nthe call")

    return Work(call=call)


@pytest.mark.parametrize(
    ("build", "status", "reason"),
    [
        (raises(Skip("no such device")), "skipped", "no such device"),
        (raises(MemoryError("80 GiB")), "failed", "MemoryError: 80 GiB"),
        (fails_in_call, "failed", "inside the call"),
        (lambda case: 3, "failed", "returned int, not Work"),
        (lambda case: Work(call=lambda: None, verify=lambda: "sum is 3, not 4"), "failed", "sum is 3, not 4"),
    ],
)
def test_what_goes_wrong_with_a_point_is_its_record(
    tmp_path: Path, fake: Callable[..., None], build: Build, status: str, reason: str
) -> None:
    fake("bad", build)
    fake("fine", nothing)
    outcome = run(request(tmp_path, point("bad"), point("fine")))
    recorded = load_results(outcome.path).get(point("bad").key)
    assert recorded is not None
    assert recorded.status == status
    assert reason in recorded.reason
    assert "\n" not in recorded.reason
    assert outcome.counts["ok"] == 1
    assert outcome.exit_code == (1 if status == "failed" else 0)


def test_parallel_points_without_a_world_are_skipped_with_that_reason(tmp_path: Path) -> None:
    outcome = run(request(tmp_path, Point("barrier", "numpy", {"placement": "packed"}, ranks=2)))
    (only,) = load_results(outcome.path).measurements
    assert (only.status, only.reason) == ("skipped", "no MPI world")
    assert outcome.exit_code == 0


def test_resume_measures_what_is_missing_and_failed_and_nothing_twice(
    tmp_path: Path, fake: Callable[..., None]
) -> None:
    built: list[int] = []
    broken = True

    def build(case: Case) -> Work:
        built.append(case.int("n"))
        if broken and case.int("n") == 2:
            raise ValueError("not yet")
        return nothing(case)

    fake("some", build)
    assert run(request(tmp_path, point("some", 1), point("some", 2))).exit_code == 1
    broken, built[:] = False, []
    outcome = run(request(tmp_path, point("some", 3), resume=True))
    assert sorted(built) == [2, 3]
    assert outcome.exit_code == 0
    assert outcome.counts == {"ok": 3}
    keys = [m.key for m in load_results(outcome.path).measurements]
    assert len(keys) == len(set(keys)) == 3


def test_a_skipped_point_is_looked_at_again(tmp_path: Path, fake: Callable[..., None]) -> None:
    fake("later", raises(Skip("no device")))
    run(request(tmp_path, point("later")))
    registry._REGISTRY["later"] = msgspec.structs.replace(registry._REGISTRY["later"], build=nothing)
    assert run(request(tmp_path, point("later"), resume=True)).counts == {"ok": 1}


def test_an_existing_file_is_not_overwritten(tmp_path: Path, fake: Callable[..., None]) -> None:
    fake("fine", nothing)
    run(request(tmp_path, point("fine")))
    before = (tmp_path / "r.h5").read_bytes()
    with pytest.raises(InputError, match="exists"):
        run(request(tmp_path, point("fine", 2)))
    assert (tmp_path / "r.h5").read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR2])
def test_a_signal_ends_the_run_with_what_was_measured(
    tmp_path: Path, fake: Callable[..., None], number: signal.Signals
) -> None:
    calls: list[int] = []

    def build(case: Case) -> Work:
        calls.append(case.int("n"))
        if len(calls) == 2:
            os.kill(os.getpid(), number)
            time.sleep(5)  # the signal must break this off
            raise AssertionError("not interrupted")
        return nothing(case)

    fake("some", build)
    before = signal.getsignal(number)
    outcome = run(request(tmp_path, *(point("some", n) for n in range(5))))
    assert outcome.stopped_by == number.name
    assert outcome.exit_code == 1
    assert outcome.left == 4
    assert len(load_results(outcome.path).measurements) == 1
    assert signal.getsignal(number) is before


def test_the_time_limit_stops_between_points(tmp_path: Path, fake: Callable[..., None]) -> None:
    fake("slow", lambda case: Work(call=lambda: time.sleep(0.02)))
    outcome = run(request(tmp_path, *(point("slow", n) for n in range(50)), time_limit_s=0.3))
    assert outcome.stopped_by == "the time limit"
    assert 0 < outcome.counts["ok"] < 50
    assert outcome.left == 50 - outcome.counts["ok"]


def test_only_the_points_of_this_launch_are_measured(tmp_path: Path, fake: Callable[..., None]) -> None:
    fake("fine", nothing)
    points = [point("fine", launch=k) for k in range(2)]
    first = run(request(tmp_path, *points, launch=0))
    assert (first.counts, first.left, first.exit_code) == ({"ok": 1}, 0, 0)
    second = run(request(tmp_path, *points, launch=1, resume=True, created_utc="2026-01-01T00:01:00Z"))
    assert len(load_results(second.path).measurements) == 2
    assert len(load_results(second.path).sessions) == 2
