"""Joining files: nothing lost, nothing double, strangers refused, broken files left out by name."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintprof.records import InputError, Measurement, Point
from sprintprof.store import journal_path, load_results, merge_results, open_run, write_results

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Many small files that are synced: not to the disk where there is a file system in memory."""


def family(point: Point) -> str:
    return msgspec.structs.replace(point, launch=0).key


def test_files_of_one_campaign_become_one(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(6)
    paths = [
        write_results(tmp_path / f"{i}.h5", kit.header(plan, f"run-{i}"), map(kit.measured, plan[2 * i : 2 * i + 2]))
        for i in range(3)
    ]
    sources = [p.read_bytes() for p in paths]
    report = merge_results(paths, tmp_path / "all.h5")
    assert str(report) == "3 of 3 files merged"
    assert (report.points, report.done, report.planned) == (6, 6, 6)
    assert (report.duplicates, report.superseded, report.renumbered) == (0, 0, 0)
    results = load_results(tmp_path / "all.h5")
    assert {m.key: kit.fingerprint(m) for m in results.measurements} == {
        p.key: kit.fingerprint(kit.measured(p)) for p in plan
    }
    assert [results.session(p.key).run_id for p in plan] == ["run-0", "run-0", "run-1", "run-1", "run-2", "run-2"]
    assert [p.read_bytes() for p in paths] == sources


def test_eight_of_twelve(tmp_path: Path, kit: SimpleNamespace) -> None:
    paths = []
    for i, point in enumerate(kit.points(12)):
        paths.append(write_results(tmp_path / f"{i:02}.h5", kit.header([], f"run-{i}"), [kit.measured(point)]))
    data = paths[1].read_bytes()
    paths[1].write_bytes(data[:96])
    paths[4].write_bytes(data[: len(data) // 2])
    paths[7].write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
    paths[9].unlink()
    report = merge_results(paths, tmp_path / "all.h5")
    assert str(report) == "8 of 12 files merged"
    assert list(report.quarantined) == [str(paths[i]) for i in (1, 4, 7, 9)]
    reasons = list(report.quarantined.values())
    for text, reason in zip(("cut to 96 bytes", "is cut", "SHA-256 differs", "no such file"), reasons, strict=True):
        assert text in reason
    assert load_results(tmp_path / "all.h5").completeness == (8, 8)


def test_several_launches_of_a_point_are_all_kept(tmp_path: Path, kit: SimpleNamespace) -> None:
    """The oldest keeps its number, whatever the order of the arguments; only what clashes is renumbered."""
    plan = kit.points(2)
    third = msgspec.structs.replace(plan[0], launch=1)  # planned by the second file, not measured
    paths = []
    for i, (points, extra) in enumerate([(plan, []), (plan[:1], [third]), (plan[:1], [])]):
        header = kit.header([*points, *extra], f"run-{i}", created_utc=f"2025-01-0{i + 1}")
        made = [kit.measured(p, median_s=float(i)) for p in points]
        paths.append(write_results(tmp_path / f"{'cab'[i]}.h5", header, made))
    for order in itertools.permutations(paths):
        out = tmp_path / "all.h5"
        report = merge_results(order, out)
        results = load_results(out)
        launches = {(m.point.parameters["m"], m.point.launch): m.median_s for m in results.measurements}
        assert launches == {(0, 0): 0.0, (1, 0): 0.0, (0, 2): 1.0, (0, 3): 2.0}
        assert (report.renumbered, report.planned, report.done) == (2, 5, 4)
        assert [results.session(m.key).run_id for m in results.measurements if m.point.launch > 1] == ["run-1", "run-2"]
        out.unlink()


def test_one_measurement_in_several_files_is_kept_once(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(3)
    a = write_results(tmp_path / "a.h5", kit.header(plan, "run-a"), map(kit.measured, plan))
    b = write_results(tmp_path / "b.h5", kit.header(plan, "run-b"), map(kit.measured, plan))
    copy = shutil.copy(a, tmp_path / "copy.h5")
    first = merge_results([a, copy, a], tmp_path / "one.h5")
    assert (first.points, first.duplicates, first.renumbered) == (3, 6, 0)
    both = merge_results([a, b], tmp_path / "both.h5")
    assert (both.points, both.renumbered) == (6, 3)
    again = merge_results([tmp_path / "both.h5", b, a, tmp_path / "one.h5"], tmp_path / "again.h5")
    assert (again.points, again.duplicates, again.renumbered) == (6, 9, 0), "a renumbered one is known again"


def test_an_earlier_state_of_the_same_run(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(3)
    failed = [kit.measured(plan[0]), Measurement(plan[1], "failed", "timeout")]
    early = write_results(tmp_path / "early.h5", kit.header(plan), failed)
    late = write_results(tmp_path / "late.h5", kit.header(plan), map(kit.measured, plan))
    for i, order in enumerate(([early, late], [late, early])):
        report = merge_results(order, tmp_path / f"{i}.h5")
        assert (report.points, report.done, report.renumbered) == (3, 3, 0)


def test_failures_give_way(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(4)
    first = [
        Measurement(plan[0], "failed", "old"), Measurement(plan[1], "skipped", "old"), kit.measured(plan[2]),
        Measurement(plan[3], "failed", "old"),
    ]  # fmt: skip
    second = [
        kit.measured(plan[0]), kit.measured(plan[1]), Measurement(plan[2], "failed", "new"),
        Measurement(plan[3], "skipped", "new"),
    ]  # fmt: skip
    a = write_results(tmp_path / "a.h5", kit.header(plan, "a", created_utc="2025-01-01"), first)
    b = write_results(tmp_path / "b.h5", kit.header(plan, "b", created_utc="2025-01-02"), second)
    report = merge_results([b, a], tmp_path / "all.h5")
    results = load_results(tmp_path / "all.h5")
    assert [results.get(p.key).status for p in plan] == ["ok", "ok", "ok", "skipped"]
    assert (results.get(plan[3].key).reason, report.superseded, report.points) == ("new", 4, 4)


def test_two_imports_under_one_header_lose_nothing(tmp_path: Path, kit: SimpleNamespace) -> None:
    """Whoever writes two files under one header: what differs is kept as launches, what is equal once."""
    plan = kit.points(2)
    header = kit.header([], "import")
    paths = [
        write_results(tmp_path / f"{i}.h5", header, [kit.measured(plan[0], median_s=float(i)), kit.measured(plan[1])])
        for i in range(3)
    ]
    report = merge_results(paths, tmp_path / "all.h5")
    assert (report.points, report.renumbered, report.duplicates) == (4, 2, 2)
    found = load_results(tmp_path / "all.h5").measurements
    assert sorted(m.median_s for m in found if m.point.parameters["m"] == 0) == [0.0, 1.0, 2.0]
    again = merge_results([tmp_path / "all.h5", *paths], tmp_path / "again.h5")
    assert (again.points, again.renumbered, again.duplicates) == (4, 0, 6)


RUN = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.sampled_from(["ok", "ok", "failed"])),
    max_size=6, unique_by=lambda t: t[:2],
)  # fmt: skip


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(RUN, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_nothing_is_lost_and_nothing_double(kit: SimpleNamespace, runs: list, rng: random.Random) -> None:
    """Merging in steps, in any order, with copies: every good measurement is there exactly once."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    paths = []
    good: set[tuple[str, str]] = set()
    for i, run in enumerate(runs):
        made = []
        for m, launch, status in run:
            point = Point("gemm", "numpy", {"m": m}, launch=launch)
            value = {"median_s": float(len(good))}
            made.append(kit.measured(point, **value) if status == "ok" else Measurement(point, "failed", "x"))
            good |= {(family(point), repr(value["median_s"]))} if status == "ok" else set()
        header = kit.header([m.point for m in made], f"run-{i}", created_utc=f"2025-01-0{i}")
        paths.append(write_results(folder / f"{i}.h5", header, made))
    pool = [*paths, *rng.sample(paths, rng.randrange(len(paths)))]
    rng.shuffle(pool)
    half = merge_results(pool[: 1 + len(pool) // 2], folder / "half.h5").path
    merge_results([half, *pool], folder / "all.h5")
    results = load_results(folder / "all.h5")
    found = results.measurements
    ok = [(family(m.point), repr(m.median_s)) for m in found if m.status == "ok"]
    assert sorted(ok) == sorted(good)
    assert len({m.key for m in found}) == len(found)
    assert {p.key for p in results.header.plan} == {m.key for m in found}, "no number is planned that nothing has"
    shutil.rmtree(folder)


def test_other_machines_are_refused_as_a_whole(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(2)
    a = write_results(tmp_path / "a.h5", kit.header([], "a", machine="alpha"), [kit.measured(plan[0])])
    b = write_results(tmp_path / "b.h5", kit.header([], "b", machine="beta"), [kit.measured(plan[1])])
    with pytest.raises(InputError, match=r"different machines \('alpha': a.h5; 'beta': b.h5\).*--force"):
        merge_results([a, b], tmp_path / "all.h5")
    assert not (tmp_path / "all.h5").exists()
    merge_results([a, b], tmp_path / "all.h5", force=True)
    results = load_results(tmp_path / "all.h5")
    assert [results.session(p.key).machine for p in plan] == ["alpha", "beta"]


def test_bad_calls(tmp_path: Path, kit: SimpleNamespace) -> None:
    good = write_results(tmp_path / "a.h5", kit.header([]), [])
    with pytest.raises(InputError, match="exists already"):
        merge_results([good], good)
    with pytest.raises(InputError, match="0 of 1 files can be merged"):
        merge_results([tmp_path / "none.h5"], tmp_path / "all.h5")
    with pytest.raises(InputError, match="no files given"):
        merge_results([], tmp_path / "all.h5")


def test_a_folder_stands_for_its_files(tmp_path: Path, kit: SimpleNamespace) -> None:
    for i, point in enumerate(kit.points(2)):
        write_results(tmp_path / "in" / f"{i}.h5", kit.header([], f"run-{i}"), [kit.measured(point)])
    open_run(tmp_path / "in" / "killed.h5", kit.header([]), resume=False).close()
    shutil.copy(journal_path(tmp_path / "in" / "killed.h5"), journal_path(tmp_path / "in" / "0.h5"))
    report = merge_results([tmp_path / "in"], tmp_path / "all.h5")
    assert str(report) == "2 of 3 files merged"
    assert "sprintprof recover" in report.quarantined[str(journal_path(tmp_path / "in" / "killed.h5"))]


def test_more_files_than_may_be_open_at_first(tmp_path: Path, kit: SimpleNamespace) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    paths = [
        write_results(tmp_path / f"{i}.h5", kit.header([], f"run-{i}"), [kit.measured(p)])
        for i, p in enumerate(kit.points(30))
    ]
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, hard))
    try:
        assert merge_results(paths, tmp_path / "all.h5").points == 30
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_merged_file_can_be_resumed(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(2)
    paths = [
        write_results(tmp_path / f"{i}.h5", kit.header(plan, f"run-{i}"), [kit.measured(plan[0])]) for i in range(2)
    ]
    merge_results(paths, tmp_path / "all.h5")
    with open_run(tmp_path / "all.h5", kit.header([], "run-9"), resume=True) as writer:
        assert [p.key for p in writer.pending()] == [plan[1].key]
        writer.append(kit.measured(plan[1]))
    assert load_results(tmp_path / "all.h5").completeness == (3, 3)
    report = merge_results([tmp_path / "all.h5", *paths], tmp_path / "again.h5")
    assert (report.points, report.duplicates) == (3, 2)
