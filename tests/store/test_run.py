"""A run: one writer, resume, what stays after an error, launches kept apart."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from sprintprof.records import InputError, Measurement, RunHeader
from sprintprof.store import journal_path, load_results, open_run, peek_header


def keys(points: list) -> list[str]:
    return [point.key for point in points]


def run_until(path: Path, header: RunHeader, records: list[Measurement], error: BaseException) -> None:
    """A run that appends the records and then meets the error."""
    with open_run(path, header, resume=False) as writer:
        for record in records:
            writer.append(record)
        raise error


def test_a_run_leaves_one_file_and_no_journal(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(3)
    path = tmp_path / "new folder" / "node" / "r.h5"
    with open_run(path, kit.header(plan), resume=False) as writer:
        assert journal_path(path).exists()
        for point in plan:
            writer.append(kit.measured(point))
    assert [p.name for p in path.parent.iterdir()] == ["r.h5"]
    assert load_results(path).completeness == (3, 3)
    assert {k: kit.fingerprint(m) for k, m in writer.measurements.items()} == {
        p.key: kit.fingerprint(kit.measured(p)) for p in plan
    }, "measurements can be read after the run has ended"


@pytest.mark.parametrize("what", ["results", "journal"])
def test_nothing_is_overwritten(tmp_path: Path, kit: SimpleNamespace, what: str) -> None:
    path = tmp_path / "r.h5"
    there = path if what == "results" else journal_path(path)
    there.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"exists already.*--resume") as caught:
        open_run(path, kit.header([]), resume=False)
    assert caught.value.exit_code == 2
    assert there.read_bytes() == b"mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    writer = open_run(path, kit.header(kit.points(1)), resume=False)
    writer.append(kit.measured(kit.points(1)[0]))
    path.write_bytes(b"mine")
    with pytest.raises(Exception, match=r"1 of 1 points are safe in .*r\.h5\.journal") as caught:
        writer.finish()
    assert caught.value.exit_code == 1
    writer.close()
    assert path.read_bytes() == b"mine"
    assert journal_path(path).exists()


def test_resume_with_neither_file_nor_journal_starts_anew(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(2)
    path = tmp_path / "r.h5"
    assert peek_header(path) is None
    with open_run(path, kit.header(plan), resume=True) as writer:
        assert writer.pending() == plan
    assert load_results(path).completeness == (0, 2)
    assert peek_header(path) == writer.header


def test_resume_measures_what_is_missing_or_failed(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(5)
    path = tmp_path / "r.h5"
    records = [
        kit.measured(plan[1]),
        Measurement(plan[2], "failed", "out of memory"),
        Measurement(plan[3], "skipped", "no MPI world"),
    ]
    with pytest.raises(ZeroDivisionError):
        run_until(path, kit.header(plan), records, ZeroDivisionError())
    assert not path.exists()
    with open_run(path, kit.header([], run_id="run-2"), resume=True) as writer:  # from the journal alone
        assert keys(writer.pending()) == keys([plan[0], plan[2], plan[4]])
        assert keys(writer.pending(include_skipped=True)) == keys([plan[0], plan[2], plan[3], plan[4]])
        writer.append(kit.measured(plan[2]))
        writer.append(kit.measured(plan[0]))
    with open_run(path, kit.header([], run_id="run-3"), resume=True) as writer:  # from the file alone
        assert keys(writer.pending()) == [plan[4].key]
        assert writer.header.plan == plan
        writer.append(Measurement(plan[3], "skipped", "still no MPI world"))
        writer.append(kit.measured(plan[4]))
    results = load_results(path)
    assert sorted(m.key for m in results.measurements) == sorted(keys(plan)), "each point exactly once"
    assert results.get(plan[3].key).reason == "still no MPI world"
    assert [results.session(p.key).run_id for p in plan] == ["run-2", "run-1", "run-2", "run-3", "run-3"]


def test_file_and_journal_go_together(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(4)
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(plan[:3]), resume=False) as writer:
        writer.append(kit.measured(plan[0]))
        writer.append(Measurement(plan[1], "failed", "first"))
    before = path.read_bytes()
    second = open_run(path, kit.header([plan[3]], run_id="run-2"), resume=True)
    second.append(kit.measured(plan[1]))
    second.append(kit.measured(plan[3]))
    second.close()  # as a kill would
    assert path.read_bytes() == before, "the last good file stays until the next is whole"
    assert load_results(path).has_journal
    assert peek_header(path).plan == plan
    with open_run(path, kit.header([], run_id="run-3"), resume=True) as third:
        assert keys(third.pending()) == [plan[2].key]
        third.append(kit.measured(plan[2]))
    results = load_results(path)
    assert {m.key: m.status for m in results.measurements} == dict.fromkeys(keys(plan), "ok")
    assert not results.has_journal


def test_the_plan_comes_from_the_file_and_only_grows(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(4)
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(plan[:2]), resume=False):
        pass
    with open_run(path, kit.header([plan[3], plan[0]], run_id="run-2"), resume=True) as writer:
        assert writer.header.plan == [plan[0], plan[1], plan[3]]
        writer.append(kit.measured(plan[2]))  # an adaptive run goes where no plan was
    assert load_results(path).header.plan == [plan[0], plan[1], plan[3], plan[2]]


def test_every_launch_keeps_its_environment(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(2)
    path = tmp_path / "r.h5"
    environments = [[{"host": "w.1.example.net"}, {"host": "w.2.example.net"}], [{"host": "w.1.example.net"}]]
    headers = [
        kit.header(plan, "run-1", environments=environments[0], rank_environment=[0, 1, 1, 0], settings={"seed": 1}),
        kit.header(plan, "run-2", environments=environments[1], rank_environment=[0], command=["sprintprof", "x"]),
    ]
    for header, point in zip(headers, plan, strict=True):
        with open_run(path, header, resume=True) as writer:
            writer.append(kit.measured(point))
    results = load_results(path)
    for header, session, point in zip(headers, results.sessions, plan, strict=True):
        assert session.environments == header.environments
        assert session.rank_environment == header.rank_environment
        assert (session.settings, session.command, session.plan) == (header.settings, header.command, [])
        assert results.session(point.key) == session
    assert results.header.run_id == "run-1"
    assert results.header.plan == plan


def test_another_machine_does_not_go_on(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    with open_run(path, kit.header([]), resume=False):
        pass
    before = path.read_bytes()
    with pytest.raises(InputError, match="was measured on 'node', this is 'other'"):
        open_run(path, kit.header([], machine="other"), resume=True)
    assert path.read_bytes() == before
    assert not journal_path(path).exists()


def test_ctrl_c_finishes_the_file(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(2)
    path = tmp_path / "r.h5"
    with pytest.raises(KeyboardInterrupt):
        run_until(path, kit.header(plan), [kit.measured(plan[0])], KeyboardInterrupt())
    assert str(load_results(path).completeness) == "1 of 2 points"
    assert not journal_path(path).exists()


def test_a_second_writer_is_told_so(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(kit.points(1)), resume=False) as writer:
        with pytest.raises(InputError, match=r"another process is writing it \(errno 11\)"):
            open_run(path, kit.header([]), resume=True)
        writer.append(kit.measured(kit.points(1)[0]))
    assert load_results(path).completeness == (1, 1)


def test_a_second_process_is_told_so(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    code = (
        "import sys; from sprintprof.records import InputError, RunHeader; from sprintprof.store import open_run\n"
        "try: open_run(sys.argv[1], RunHeader('r', '', 'node', [], '', [], {}, [], []), resume=True)\n"
        "except InputError as error: print(error)"
    )
    with open_run(path, kit.header([]), resume=False):
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert "another process is writing it" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_the_writer_waits_for_no_one_after_the_other_has_finished(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    with open_run(path, kit.header([]), resume=False):
        pass
    with open_run(path, kit.header([], run_id="run-2"), resume=True):
        assert journal_path(path).exists()


def test_left_over_temporary_files_go(tmp_path: Path, kit: SimpleNamespace) -> None:
    (tmp_path / ".r.h5.123.part").write_bytes(b"half a file of a killed writer")
    (tmp_path / ".q.h5.123.part").write_bytes(b"another run's")
    with open_run(tmp_path / "r.h5", kit.header([]), resume=False):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == [".q.h5.123.part", "r.h5"]


def test_completeness_says_97_of_100(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(100)
    with open_run(tmp_path / "r.h5", kit.header(plan), resume=False) as writer:
        for point in plan[:96]:
            writer.append(kit.measured(point))
        writer.append(Measurement(plan[96], "skipped", "no MPI world"))
        writer.append(Measurement(plan[97], "failed", "timed out"))
    results = load_results(tmp_path / "r.h5")
    assert str(results.completeness) == "97 of 100 points"
    assert keys(results.missing) == keys(plan[97:])


def test_samples_that_do_not_fit_are_the_callers_error(tmp_path: Path, kit: SimpleNamespace) -> None:
    import msgspec
    import numpy as np

    from sprintprof.records import SampleSet

    good = kit.measured(kit.points(1)[0])
    bad = [
        SampleSet({"host_s": np.zeros(2)}),
        SampleSet({"time_s": np.zeros(2), "host_s": np.zeros(3)}),
        SampleSet({"time_s": np.zeros((2, 2))}),
        SampleSet({"time_s": np.zeros(2)}, np.zeros(2)),
        SampleSet({"time_s": np.zeros(2)}, np.zeros((3, 2))),
    ]
    with open_run(tmp_path / "r.h5", kit.header([]), resume=False) as writer:
        for samples in bad:
            with pytest.raises(ValueError, match="must be"):
                writer.append(msgspec.structs.replace(good, samples=samples))
        with pytest.raises(ValueError, match="one word"):
            writer.append(msgspec.structs.replace(good, flags=("two words",)))
        writer.append(good)
    assert len(load_results(tmp_path / "r.h5").measurements) == 1


def test_what_is_not_there_or_not_finished_is_said(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    with pytest.raises(InputError, match="no such file"):
        load_results(path)
    with pytest.raises(InputError, match="is not a file"):
        load_results(tmp_path)
    open_run(path, kit.header([]), resume=False).close()
    with pytest.raises(InputError, match=r"only its journal is there; sprintprof recover .*r\.h5\.journal"):
        load_results(path)
    with pytest.raises(InputError, match=r"is the journal of a run.*sprintprof recover"):
        load_results(journal_path(path))


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.h5")
    began = time.monotonic()
    with pytest.raises(InputError, match="is not a file"):
        load_results(tmp_path / "pipe.h5")
    assert time.monotonic() - began < 5


def test_a_finished_run_takes_no_more(tmp_path: Path, kit: SimpleNamespace) -> None:
    with open_run(tmp_path / "r.h5", kit.header([]), resume=False) as writer:
        assert writer.finish() == writer.finish()
    with pytest.raises(ValueError, match="is finished"):
        writer.append(kit.measured(kit.points(1)[0]))
    writer.close()


def test_a_long_name(tmp_path: Path, kit: SimpleNamespace) -> None:
    """Names of 255 bytes are the limit; the temporary name must not be the one that passes it, at the very end."""
    name = "r" * 240 + ".h5"
    with open_run(tmp_path / name, kit.header([]), resume=False):
        pass
    assert [p.name for p in tmp_path.iterdir()] == [name]
