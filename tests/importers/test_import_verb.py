"""The verb, and what the other verbs make of imported files; the page's commands and its example are run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import made_logs
import pytest
from import_helpers import Reader, one

from sprintprof.cli.app import run
from sprintprof.importers import formats
from sprintprof.importers.collect import import_logs
from sprintprof.importers.options import Options
from sprintprof.records import InputError
from sprintprof.store import load_results

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "importing.md").read_text()


def clusters(folder: Path) -> None:
    """Logs of two clusters, the second 1.6 times as slow: three launches on 4, 8 and 16 nodes."""
    for name, slow in (("alpha", 1.0), ("beta", 1.6)):
        (folder / name).mkdir()
        for launch in range(3):
            latency = made_logs.osu_latency(slow * 1.4 + 0.01 * launch, 12000 / slow)
            (folder / name / f"latency-{launch}.log").write_text("mpirun -np 2 -N 1 osu_latency\n" + latency)
            for ranks in (4, 8, 16):
                table = made_logs.osu_collective(alpha_us=slow * (2 + ranks / 4 + 0.01 * launch), rate=2000 / slow)
                text = f"mpirun -np {ranks} -N 1 osu_allreduce\n{table}"
                (folder / name / f"allreduce-{ranks}-{launch}.log").write_text(text)


def test_the_page_s_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clusters(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL):
        for path in tmp_path.glob("*.h5"):
            path.unlink()
        for line in block.strip().splitlines():
            words = shlex.split(line, comments=True)
            assert run(words[1:]) == 0, line
    said = capsys.readouterr()
    assert "81 points on both sides: 81 slower" in said.out
    assert "81 points are in several logs" in said.err
    assert "243 rows of 12 files: 243 points, wrote alpha.h5" in said.out
    profile = json.loads(Path("alpha.json").read_text())
    assert {f["benchmark"] for f in profile["fits"]} == {"pingpong", "allreduce"}


def test_the_page_s_example_is_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code
    (tmp_path / "fping.py").write_text(code[1])
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    log = tmp_path / "fping.log"
    log.write_text("$ mpirun -np 2 -N 1 fping\nfping v2\nlat 8 B 1.50 us\nlat 4096 B 3.21 us\nlat 8192 B 4.2\n")
    job = import_logs("auto", [log], Options())
    assert [(f.what, f.rows, f.state) for f in job.report.files] == [("fping", 2, "partial")]
    assert one(job, size_bytes=4096).median_s == pytest.approx(3.21e-6)
    assert one(job, size_bytes=4096).point.parameters["placement"] == "spread"


def test_every_format_is_on_the_page_and_has_a_made_log() -> None:
    for name, format_ in formats.load_all().items():
        assert f"`{name}`" in PAGE
        assert format_.WHAT
        assert name in {kind for _, kind, *_ in made_logs.LOGS.values()}
    with pytest.raises(InputError, match="there is no format 'osy'"):
        formats.load("osy")


def test_report_and_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case U97: the result has a schema version. A log without data: 2 alone, 1 among good ones."""
    good, empty, out = tmp_path / "good.log", tmp_path / "empty.log", tmp_path / "r.h5"
    good.write_text(made_logs.LOGS["osu_latency"][0])
    empty.write_text("flux-sample-1\nflux-sample-2\n")
    assert run(["import", "auto", str(empty), "-o", str(out)]) == 2
    assert not out.exists()
    assert "has no results (nothing of a known benchmark in it)" in capsys.readouterr().err
    assert run(["import", "auto", str(good), str(empty), "-o", str(out), "--json", "-"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["rows"], told["output"], told["exit_code"]) == (1, 24, str(out), 1)
    assert [f["state"] for f in told["files"]] == ["ok", "no data"]
    results = load_results(out)
    assert (results.header.machine, len(results.measurements)) == ("r", 24)
    assert list(results.header.settings["logs"]) == [str(good)]
    assert run(["import", "osu", str(good), "-o", str(out)]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    assert run(["import", "imb", str(good)]) == 2
    assert "it looks like osu" in capsys.readouterr().err
    assert run(["import", "auto", str(tmp_path / "absent")]) == 2
    assert run(["import", "auto", str(good), "--only", "x"]) == 2
    assert run(["import", "osu", str(good), "--nodes", "0"]) == 2
    assert run(["import", "auto", "--help"]) == 0


def test_other_verbs_on_imported_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "a.log", tmp_path / "a.h5"
    log.write_text(made_logs.NCCL + made_logs.OSU_SEVERAL + made_logs.IMB)
    assert run(["import", "auto", str(log), "-o", str(out), "--machine", "cluster"]) == 0
    for words in (["show", str(out)], ["show", str(out), "--benchmark", "allreduce"], ["env", "show", str(out)]):
        assert run(words) == 0, words
    said = capsys.readouterr().out
    assert "missing(not in log)" in said
    assert run(["check", str(out)]) == 1  # IMB's time-out failed, two values are suspicious
    checked = capsys.readouterr().out
    assert "a summary, no samples" in checked
    assert "a time for no bytes" in checked
    assert "few" not in checked
    profile = tmp_path / "p.json"
    assert run(["fit", str(out), "-o", str(profile)]) == 0
    source = json.loads(profile.read_text())["sources"][0]
    assert source["points_left_out"]["suspicious"] == 2
    assert run(["compare", str(out), str(out)]) in (0, 1, 2)


def test_unknown_ranks_are_fitted_and_compared_with_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (tmp_path / f"{name}.log").write_text(made_logs.osu_latency(1.5 + (name == "b")) + made_logs.osu_collective())
        assert run(["import", "auto", str(tmp_path / f"{name}.log"), "-o", str(tmp_path / f"{name}.h5")]) == 0
    first, second = str(tmp_path / "a.h5"), str(tmp_path / "b.h5")
    assert "give --ranks" in capsys.readouterr().err
    assert run(["fit", first, "-o", str(tmp_path / "p.json")]) == 0
    profile = json.loads((tmp_path / "p.json").read_text())
    assert profile["sources"][0]["points_left_out"] == {"ranks-unknown": 19}
    assert {f["benchmark"] for f in profile["fits"]} == {"pingpong"}
    run(["compare", first, second])
    assert "24 points on both sides" in capsys.readouterr().out
    assert run(["check", first]) == 1
    assert "the number of ranks is missing(not in log)" in capsys.readouterr().out


def test_what_differs_around_two_logs_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case U26: two runs, only a transport setting differs."""
    for name, transport in (("a", "rc"), ("b", "tcp")):
        text = f"mpirun -np 2 -x UCX_TLS={transport} osu_latency\n" + made_logs.osu_latency()
        (tmp_path / f"{name}.log").write_text(text)
        assert run(["import", "osu", str(tmp_path / f"{name}.log"), "-o", str(tmp_path / f"{name}.h5")]) == 0
    run(["compare", str(tmp_path / "a.h5"), str(tmp_path / "b.h5")])
    assert "variable.UCX_TLS" in capsys.readouterr().out


def test_a_fall_across_a_switch_is_found(read: Reader, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case U24: the time falls from 8192 to 16384 bytes."""
    times = {2048: 7.91, 4096: 13.78, 8192: 23.35, 16384: 13.16, 32768: 13.95, 65536: 15.31, 131072: 18.15}
    rows = "".join(made_logs.osu_row(size, time) for size, time in times.items())
    job = read(f"osu_latency -m 2048:131072\n# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n{rows}")
    assert [m.median_s for m in job.measurements] == pytest.approx([t * 1e-6 for t in times.values()])
    job.write(tmp_path / "r.h5", ["test"])
    run(["check", str(tmp_path / "r.h5")])
    assert "size_bytes 8192 to 16384" in capsys.readouterr().out


def test_copies_of_one_point_are_launches(read: Reader) -> None:
    job = read("mpirun -np 2 osu_latency\n" + made_logs.osu_latency(1.5) + made_logs.osu_latency(1.6))
    assert one(job, size_bytes=8, launch=1).median_s == pytest.approx(1.60e-6)
