"""`sprintprof run` as a user calls it, in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sprintprof.store import journal_path, load_results

SUITE = """
[settings]
timeout_s = 0.05
warmup_timeout_s = 0.02
max_samples = 10
[[grid]]
benchmark = "relu_forward"
batch = [1, 2]
features = [1000]
[[grid]]
benchmarks = ["allreduce", "pingpong"]
size_bytes = [64]
"""


def sprintprof(cwd: Path, *words: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("SPRINTPROF_")} | environment
    done = subprocess.run(
        [sys.executable, "-m", "sprintprof", *words], cwd=cwd, capture_output=True, text=True, timeout=120, env=env
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(SUITE)
    return tmp_path


def test_run_show_and_what_is_said(here: Path) -> None:
    done = sprintprof(here, "run", "--suite", "mine.toml", "--machine", "box", "-o", "r.h5")
    assert "4 of 4 points" in done.stderr
    assert "2 skipped" in done.stderr
    assert "next: sprintprof fit r.h5" in done.stderr
    assert done.stdout == ""
    shown = sprintprof(here, "show", "r.h5").stdout
    assert "box" in shown
    assert "relu_forward" in shown
    assert "no MPI world" in shown


def test_the_default_place_has_machine_time_and_job(here: Path) -> None:
    sprintprof(here, "run", "--suite", "mine.toml", "--machine", "box", "relu_forward", SLURM_JOB_ID="4711")
    (file,) = (here / "results/box").glob("*.h5")
    assert file.name.endswith("Z-4711.h5")


def test_options_beat_variables_beat_the_suite(here: Path) -> None:
    words = ("run", "--suite", "mine.toml", "--show-config")
    assert "target_ci = 0.02" in sprintprof(here, *words).stdout
    assert "max_samples = 10" in sprintprof(here, *words).stdout
    assert "max_samples = 12" in sprintprof(here, *words, SPRINTPROF_MAX_SAMPLES="12").stdout
    assert "max_samples = 14" in sprintprof(here, *words, "--max-samples", "14", SPRINTPROF_MAX_SAMPLES="12").stdout


def test_a_dry_run_measures_nothing(here: Path) -> None:
    done = sprintprof(here, "run", "--suite", "mine.toml", "--dry-run", "relu_forward", "--axis", "batch=1,8,32")
    assert len(done.stdout.splitlines()) == 3
    assert "batch=32" in done.stdout
    assert "3 points, about" in done.stderr
    assert sorted(p.name for p in here.iterdir()) == ["mine.toml"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--suite", "nope"], "there is no 'nope'"),
        (["nope"], "nothing is called 'nope'"),
        (["--axis", "nope=1"], "no selected benchmark has an axis 'nope'"),
        (["--ranks", "0"], "--ranks"),
        (["--ranks", "-3"], "--ranks"),
        (["--ranks", "x"], "--ranks"),
        (["--min-samples", "2"], "at least 6"),
        (["--timeout", "soon"], "not a duration"),
        (["--launches", "0"], "--launches"),
        (["--machine", "../x"], "cannot be a folder's name"),
        (["--cache", "lukewarm"], "lukewarm"),
        (["--engine", "abacus"], "abacus"),
        (["--engine", "cupy"], "cupy"),
        (["-o", "r.h5", "--resume", "r.h5"], "--output"),
        (["--bogus"], "--bogus"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(here: Path, words: list[str], complaint: str) -> None:
    done = sprintprof(here, "run", *words, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert complaint in done.stderr
    assert sorted(p.name for p in here.iterdir()) == ["mine.toml"]


def test_nothing_is_overwritten(here: Path) -> None:
    (here / "r.h5").write_text("precious")
    for words in (
        ["-o", "r.h5"],
        ["-o", "r.h5", "--ranks", "2"],
        ["-o", "r.h5", "--launches", "2"],
        ["--resume", "r.h5"],
    ):
        done = sprintprof(here, "run", "--suite", "mine.toml", *words, check=False)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert (here / "r.h5").read_text() == "precious"


def test_ctrl_c_ends_cleanly_and_resume_goes_on(here: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sprintprof", "run", "relu_forward", "--suite", "mine.toml", "-o", "r.h5",
         "--axis", "batch=" + ",".join(map(str, range(1, 200)))],
        cwd=here, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    journal = here / journal_path("r.h5")
    until = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 100_000) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "stopped by SIGINT; go on with: sprintprof run --resume r.h5" in said
    before = load_results(here / "r.h5")
    assert 0 < before.completeness.done < before.completeness.planned == 199
    done = sprintprof(here, "run", "--resume", "r.h5")
    assert str(load_results(here / "r.h5").completeness) == "199 of 199 points"
    assert f"{199 - before.completeness.done} of {199 - before.completeness.done} points" in done.stderr


def test_launches_are_fresh_processes(here: Path) -> None:
    sprintprof(here, "run", "relu_forward", "--suite", "mine.toml", "--launches", "3", "-o", "r.h5")
    results = load_results(here / "r.h5")
    assert sorted(m.point.launch for m in results.measurements) == [0, 0, 1, 1, 2, 2]
    assert len(results.sessions) == 3


@pytest.mark.mpi
def test_ranks_are_started_and_parallel_points_measured(here: Path) -> None:
    done = sprintprof(here, "run", "--suite", "mine.toml", "--ranks", "3", "-o", "r.h5")
    assert "5 of 5 points" in done.stderr, done.stderr
    results = load_results(here / "r.h5")
    allreduce = results.measurements_of("allreduce")
    assert sorted(m.point.ranks for m in allreduce) == [2, 3]
    for m in allreduce:
        assert m.status == "ok"
        assert m.samples.rank_times_s is not None
        assert m.samples.rank_times_s.shape == (len(m.samples), m.point.ranks)
        assert m.samples.time_s == pytest.approx(m.samples.rank_times_s.max(axis=1))
    assert len(results.header.rank_environment) == 3


@pytest.mark.mpi
def test_under_a_launcher_the_world_that_is_there_is_used(here: Path) -> None:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    words = ["run", "allreduce", "--suite", "mine.toml", "-o", "r.h5"]
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-m", "sprintprof", *words],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (only,) = load_results(here / "r.h5").measurements
    assert (only.status, only.point.ranks) == ("ok", 2)


@pytest.mark.mpi
def test_a_world_of_another_size_than_asked_for_is_refused(here: Path) -> None:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    words = ["run", "allreduce", "--suite", "mine.toml", "-o", "r.h5", "--ranks", "4"]
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-m", "sprintprof", *words],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert "sprintprof: --ranks" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (here / "r.h5").exists()
