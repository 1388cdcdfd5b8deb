"""How ranks end: guarded errors, a hanging Finalize (U30), MPI only from the main thread (U29)."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from sprintprof.bench.world.care import _outcome
from sprintprof.bench.world.exitfile import Ending, hand_over, read_ending
from sprintprof.bench.world.finish import close_world, finalize_guarded, guard
from sprintprof.bench.world.world import World, import_mpi
from sprintprof.records import InputError


class FakeComm:
    """Remembers an abort."""

    def __init__(self) -> None:
        self.aborted: list[int] = []

    def Abort(self, code: int) -> None:  # noqa: N802  (mpi4py's name)
        self.aborted.append(code)


def test_a_hanging_finalize_keeps_results_and_exit_code(tmp_path: Path) -> None:
    """U30: Finalize sleeps for ever; results are complete, the code is that of the run."""
    results = tmp_path / "results"
    code = (
        "import pathlib, sys, time\n"
        "from sprintprof.bench.world.finish import finalize_guarded\n"
        "pathlib.Path(sys.argv[1]).write_text('all points')\n"
        "finalize_guarded(lambda: time.sleep(3600), 1, 0.2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, results], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert results.read_text() == "all points"
    assert "MPI_Finalize hangs" in done.stderr


def test_finalize_is_called_by_the_main_thread_and_the_watchdog_lets_go() -> None:
    """U29: no thread but the main one calls MPI."""
    callers = []
    finalize_guarded(lambda: callers.append(threading.current_thread()), 0, 30.0)
    assert callers == [threading.main_thread()]


def test_only_funneled_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """U29: a library may grant MULTIPLE (3) and fail in the first threaded call; it is not asked to."""
    asked = []

    class FakePackage(types.ModuleType):
        rc = types.SimpleNamespace(thread_level="multiple")

        def __getattr__(self, name: str) -> Any:
            if name != "MPI":
                raise AttributeError(name)
            asked.append(self.rc.thread_level)
            return types.SimpleNamespace(Query_thread=lambda: 3)

    monkeypatch.setitem(sys.modules, "mpi4py", FakePackage("mpi4py"))
    assert import_mpi().Query_thread() == 3
    assert asked == ["funneled"]


def test_mpi4py_without_a_library_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(types.ModuleType):
        rc = types.SimpleNamespace()

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("cannot load MPI library")

    monkeypatch.setitem(sys.modules, "mpi4py", Broken("mpi4py"))
    with pytest.raises(InputError, match="cannot load MPI library"):
        import_mpi()


def test_serial_errors_pass_untouched() -> None:
    with pytest.raises(ZeroDivisionError), guard(World()):
        raise ZeroDivisionError
    assert close_world(World(), 1) == 1


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ValueError("bad sum"), 1, "rank 2 of 3 on host-c failed (ValueError: bad sum)"),
        (InputError("--axis", "is wrong"), 2, "rank 2 of 3: --axis: is wrong"),
        (KeyboardInterrupt(), 130, "KeyboardInterrupt"),
    ],
)
def test_an_error_on_one_rank_ends_all_and_names_it(
    error: BaseException, code: int, text: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sprintprof.bench.world.finish.FORWARD_S", 0.0)
    monkeypatch.setattr("sprintprof.bench.world.finish.ERROR_GRACE_S", 0.0)
    comm = FakeComm()
    with guard(World(rank=2, size=3, comm=comm, host_names=("a", "b", "host-c"))):
        raise error
    assert comm.aborted == [code]
    assert text in capfd.readouterr().err


def test_leaving_together_is_no_error() -> None:
    comm = FakeComm()
    with pytest.raises(SystemExit), guard(World(rank=0, size=2, comm=comm)):
        raise SystemExit(1)
    assert not comm.aborted


def test_the_first_word_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hand_over(1, aborted=False, rank=0)
    monkeypatch.setenv("SPRINTPROF_LAUNCH_FOLDER", str(tmp_path))
    assert read_ending(tmp_path) is None
    assert hand_over(1, aborted=True, rank=3)
    assert hand_over(0, aborted=False, rank=0)
    assert read_ending(tmp_path) == Ending(1, True, 3)


@pytest.mark.parametrize(
    ("ending", "launcher", "signals", "died", "code", "text"),
    [
        (Ending(0, False, 0), 0, 0, [], 0, ""),
        (Ending(1, False, 0), 0, 1, [], 1, ""),
        (Ending(2, True, 1), 9, 0, [], 2, ""),
        (None, 0, 0, [], 0, ""),
        (None, 9, 0, [3], 1, "rank 3 died"),
        (None, 137, 0, [1, 2], 1, "one of the ranks [1, 2] died"),
        (None, 6, 0, [], 1, "a rank died"),
        (Ending(0, False, 0), 0, 2, [], 130, "stopped at once"),
    ],
)
def test_outcomes(
    ending: Ending | None,
    launcher: int,
    signals: int,
    died: list[int],
    code: int,
    text: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert _outcome(ending, launcher, signals, died) == code
    said = capfd.readouterr().err
    assert (text in said) if text else not said
