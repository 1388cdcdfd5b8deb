"""Real ranks under our own launcher: idling, signals, deaths, and nothing left behind."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintprof.bench.world.processes import find_tagged, kill_tagged
from sprintprof.bench.world.refuse import environment_mpiexec

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        importlib.util.find_spec("mpi4py") is None or environment_mpiexec() is None, reason="no mpi4py or no mpiexec"
    ),
]

RANKS = """
import os, signal, sys, time
from sprintprof.bench.world.finish import close_world, guard
from sprintprof.bench.world.idle import idle_until, wake
from sprintprof.bench.world.world import open_world
from sprintprof.records import InputError

mode, wanted = sys.argv[1], int(sys.argv[2])
world, code = open_world(wanted), 0
with guard(world):
    if mode == "facts":
        pair = world.subcomm(2, "packed")
        assert (pair is None) == (world.rank > 1)
        assert world.subcomm(2) is pair
        if world.rank == 0:
            print(world.size, world.thread_level, world.nodes, pair.size, [len(a) > 0 for a in world.affinity])
    if mode == "crowd":
        states = []
        object.__setattr__(world, "affinity", ((0, 1),) * 3)  # as on a machine with two CPUs
        for ranks in (3, 2, 3):
            if world.subcomm(ranks) is not None:
                states.append(world.give_way.on)
        if world.rank == 0:
            print(world.give_way.available, states, "mpich" in world.library.lower())
    if mode == "idle" and world.rank == 0:
        for number in range(5):
            time.sleep(0.02)
            wake(world, ("go", number))
        wake(world, None)
    elif mode == "idle":
        heard = []
        while (message := idle_until(world)) is not None:
            heard.append(message[1])
        print(world.rank, world.bell.hears, heard, flush=True)
    if mode == "code":
        code = 1
    if mode == "raise" and world.rank == 1:
        raise ValueError("broken operand")
    if mode == "input":
        raise InputError("--axis", "is wrong")
    if mode == "die" and world.rank == 1:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    if mode in ("raise", "die"):
        world.comm.Barrier()
    if mode == "stop" and world.rank == 0:
        stop = []
        signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
        print("ready", flush=True)
        while not stop:
            time.sleep(0.01)
        print("results written", flush=True)
        wake(world, None)
    elif mode == "stop":
        idle_until(world)
    if mode == "spin":
        if world.rank == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print("ready", os.environ["SPRINTPROF_LAUNCH"], flush=True)
            time.sleep(60)
        world.comm.Barrier()
sys.exit(close_world(world, code))
"""

PARENT = """
import sys
from sprintprof.bench.world.care import run_ranks
from sprintprof.bench.world.launch import find_starter, launch_environment
ranks, starter = int(sys.argv[1]), find_starter(int(sys.argv[1]))
command = [starter.path, "-n", str(ranks), sys.executable, *sys.argv[2:]]
sys.exit(run_ranks(command, launch_environment(starter)))
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.end()


class Starter:
    """Starts parents of ranks and makes sure none of theirs survives the test."""

    def __init__(self, folder: Path) -> None:
        self.program = folder / "ranks.py"
        self.program.write_text(RANKS)
        self.parents: list[subprocess.Popen[str]] = []
        self.tag = f"test-{os.getpid()}-{folder.name}"

    def __call__(self, ranks: int, mode: str, wanted: int | None = None) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PARENT, str(ranks), str(self.program), mode, str(wanted or ranks)]
        parent = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "SPRINTPROF_TEST_TAG": self.tag},
        )  # fmt: skip
        self.parents.append(parent)
        return parent

    def end(self) -> None:
        for parent in self.parents:
            if parent.poll() is None:
                parent.kill()
            parent.communicate()
        for process in find_tagged(self.tag, "SPRINTPROF_TEST_TAG"):
            os.kill(process.pid, signal.SIGKILL)


def finish(parent: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = parent.communicate(timeout=60)
    return parent.returncode, out, err


def test_facts_of_a_world(start: Starter) -> None:
    code, out, err = finish(start(3, "facts"))
    assert (code, out.strip()) == (0, "3 funneled (0, 0, 0) 2 [True, True, True]"), err


def test_idle_ranks_hear_every_message_by_the_bell(start: Starter) -> None:
    code, out, err = finish(start(3, "idle"))
    assert code == 0, err
    assert sorted(out.splitlines()) == [f"{rank} True [0, 1, 2, 3, 4]" for rank in (1, 2)]


def test_ranks_that_share_cpus_give_way_and_others_do_not(start: Starter) -> None:
    code, out, err = finish(start(3, "crowd"))
    assert code == 0, err
    assert out.strip() in ("True [True, False, True] True", "False [None, None, None] False")


def test_the_exit_code_of_rank_0_comes_through_quietly(start: Starter) -> None:
    assert finish(start(2, "code")) == (1, "", "")


def test_a_rank_that_raises_is_named_and_ends_all(start: Starter) -> None:
    code, _, err = finish(start(2, "raise"))
    assert code == 1
    assert "rank 1 of 2" in err
    assert "broken operand" in err


def test_an_error_of_all_ranks_is_one_line(start: Starter) -> None:
    code, _, err = finish(start(2, "input"))
    assert code == 2
    assert err.count("--axis: is wrong") == 1
    assert "Traceback" not in err


def test_a_rank_that_dies_is_named_and_ends_all(start: Starter) -> None:
    code, _, err = finish(start(3, "die"))
    assert code == 1
    assert re.search(r"rank 1 died|one of the ranks \[[0-9, ]*1[0-9, ]*\] died", err), err


def test_another_size_than_wanted(start: Starter) -> None:
    code, _, err = finish(start(2, "facts", wanted=3))
    assert code == 2
    assert "3 ranks were asked for" in err


def test_one_signal_ends_cleanly(start: Starter) -> None:
    parent = start(2, "stop")
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    parent.send_signal(signal.SIGTERM)
    code, out, err = finish(parent)
    assert (code, out, err) == (0, "results written\n", "")


def test_two_signals_kill(start: Starter) -> None:
    parent, tag = _spinning(start)
    parent.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    parent.send_signal(signal.SIGTERM)
    code, _, err = finish(parent)
    assert code == 130
    assert "stopped at once" in err
    assert find_tagged(tag) == []


def test_ranks_die_with_a_parent_that_was_killed(start: Starter) -> None:
    parent, tag = _spinning(start)
    assert {p.rank for p in find_tagged(tag)} >= {0, 1}
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20
    while find_tagged(tag) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert find_tagged(tag) == []


def _spinning(start: Starter) -> tuple[subprocess.Popen[str], str]:
    parent = start(2, "spin")
    assert parent.stdout is not None
    word, tag = parent.stdout.readline().split()
    assert word == "ready"
    return parent, tag


def test_kill_tagged_finds_what_left_its_session(start: Starter) -> None:
    code = "import os, time; os.setsid(); print('x', flush=True); time.sleep(60)"
    tag = start.tag + "-x"
    stray = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "SPRINTPROF_LAUNCH": tag}, stdout=subprocess.PIPE
    )
    assert stray.stdout is not None
    stray.stdout.readline()
    assert kill_tagged(tag) == 1
    assert stray.wait(10) == -signal.SIGKILL
    stray.stdout.close()
