"""`recover_journal` and the two verbs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from sprintprof.cli.app import run
from sprintprof.records import InputError
from sprintprof.store import journal_path, load_results, open_run, recover_journal, write_results


@pytest.fixture
def killed(tmp_path: Path, kit: SimpleNamespace) -> Path:
    """The journal of a run of 3 points that was killed after 2."""
    path = tmp_path / "r.h5"
    writer = open_run(path, kit.header(kit.points(3)), resume=False)
    for point in kit.points(2):
        writer.append(kit.measured(point))
    writer.close()
    return journal_path(path)


def test_in_place(killed: Path, kit: SimpleNamespace) -> None:
    recovered = recover_journal(killed)
    assert (recovered.path, recovered.completeness, recovered.damages) == (killed.with_name("r.h5"), (2, 3), [])
    assert not killed.exists()
    results = load_results(recovered.path)
    assert [s.run_id for s in results.sessions] == ["run-1"], "recovering is no launch"
    assert [kit.fingerprint(m) for m in results.measurements] == [
        kit.fingerprint(kit.measured(p)) for p in kit.points(2)
    ]


def test_elsewhere_keeps_the_journal(killed: Path, tmp_path: Path) -> None:
    before = killed.read_bytes()
    recovered = recover_journal(killed, tmp_path / "new" / "s.h5")
    assert load_results(recovered.path).completeness == (2, 3)
    assert killed.read_bytes() == before
    with pytest.raises(InputError, match="exists already"):
        recover_journal(killed, recovered.path)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_with_the_file_that_was_resumed(tmp_path: Path, kit: SimpleNamespace, elsewhere: bool) -> None:
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(kit.points(3)), resume=False) as writer:
        writer.append(kit.measured(kit.points(3)[0]))
    second = open_run(path, kit.header([], run_id="run-2"), resume=True)
    second.append(kit.measured(kit.points(3)[2]))
    second.close()
    recovered = recover_journal(journal_path(path), tmp_path / "s.h5" if elsewhere else None)
    assert recovered.completeness == (2, 3)
    results = load_results(recovered.path)
    assert sorted(m.point.parameters["m"] for m in results.measurements) == [0, 2]
    assert [s.run_id for s in results.sessions] == ["run-1", "run-2"]
    assert journal_path(path).exists() == elsewhere


def test_after_a_kill_between_rename_and_removal(killed: Path, kit: SimpleNamespace) -> None:
    """The file is whole and its journal still there: both say the same, each point counts once."""
    journal = killed.read_bytes()
    path = recover_journal(killed).path
    before = path.read_bytes()
    killed.write_bytes(journal)
    assert load_results(path).has_journal
    assert recover_journal(killed).completeness == (2, 3)
    assert path.read_bytes() == before
    killed.write_bytes(journal)
    with open_run(path, kit.header([], run_id="run-2"), resume=True) as writer:
        assert len(writer.measurements) == 2
        assert [s.run_id for s in writer.sessions] == ["run-1", "run-2"]


def test_imported_measurements(tmp_path: Path, kit: SimpleNamespace) -> None:
    plan = kit.points(3)
    path = write_results(
        tmp_path / "new" / "r.h5", kit.header(plan[:2]), [kit.measured(plan[0]), kit.measured(plan[2])]
    )
    assert load_results(path).completeness == (2, 3)
    with pytest.raises(InputError, match="exists already"):
        write_results(path, kit.header([]), [])


def test_the_verb_recover(killed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", str(killed), "-o", str(tmp_path / "s.h5"), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"path": str(tmp_path / "s.h5"), "done": 2, "planned": 3, "damages": []}
    assert "run --resume" not in out
    assert run(["recover", str(killed)]) == 0
    out, err = capsys.readouterr()
    assert "2 of 3 points" in out
    assert f"sprintprof run --resume {killed.with_name('r.h5')}" in err
    assert run(["recover", str(killed)]) == 2
    assert "there is no such journal" in capsys.readouterr().err


def test_the_verb_recover_on_a_damaged_journal(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(killed.read_bytes())
    data[-5] ^= 1
    killed.write_bytes(data)
    assert run(["recover", str(killed)]) == 1
    out, err = capsys.readouterr()
    assert "1 of 3 points" in out
    assert "bad last record" in err


def test_the_verb_merge(tmp_path: Path, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / f"{i}.h5") for i in range(3)]
    for name, point in zip(names, kit.points(3), strict=True):
        write_results(name, kit.header([], f"run of {name}"), [kit.measured(point)])
    out = str(tmp_path / "all.h5")
    assert run(["merge", *names, names[0], "-o", out]) == 0
    text = capsys.readouterr().out
    assert "4 of 4 files merged; 3 of 3 points" in text
    assert "found again in another file: 1" in text
    assert run(["merge", *names, "-o", out]) == 2
    assert "exists already" in capsys.readouterr().err
    Path(names[1]).write_bytes(b"broken")
    assert run(["merge", *names, "-o", str(tmp_path / "b.h5"), "--json", "-"]) == 1
    stdout, stderr = capsys.readouterr()
    report = json.loads(stdout)
    assert (report["points"], list(report["quarantined"])) == (2, [names[1]])
    assert f"left out {names[1]}" in stderr
    assert run(["merge", names[1], "-o", str(tmp_path / "c.h5")]) == 2
