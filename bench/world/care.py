"""A running mpiexec under care: signals, abort requests, which rank died, and nothing left behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from sprintprof.bench.world.exitfile import Ending, read_ending, read_ranks
from sprintprof.bench.world.processes import die_with_parent, find_tagged, kill_tagged, send

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)
"""What a terminal or a scheduler sends to say that time is up."""


class _Launched:
    """What happens to a running mpiexec. Handlers run in the main thread, between its system calls."""

    def __init__(self, command: list[str], environ: dict[str, str], folder: Path) -> None:
        self.folder = folder
        self.tag = folder.name
        self.signals = 0
        self.died: list[int] = []
        self._news, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, self._on_news)
        self._before = before
        self.process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, process_group=0,
            preexec_fn=die_with_parent,  # noqa: PLW1509  (no threads here; nothing else survives our SIGKILL)
        )  # fmt: skip

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """First: tell rank 0. Second: kill."""
        self.signals += 1
        if self.signals > 1:
            self.kill()
            return
        first = [p for p in find_tagged(self.tag) if p.rank == 0]
        for rank_zero in first:
            send(rank_zero.pid, number)
        if not first:  # still starting, or rank 0 is on another host
            send(self.process.pid, number)

    def _on_news(self, _number: int, _frame: FrameType | None) -> None:
        """A rank left something in the folder: an abort, or who the ranks are."""
        ending = read_ending(self.folder)
        if ending is not None and ending.aborted:
            self.kill()
        os.write(self._wake, b"!")

    def kill(self) -> None:
        """The launcher first, which then has nothing to complain about, then every rank."""
        send(self.process.pid, signal.SIGKILL)
        kill_tagged(self.tag)

    def wait(self) -> int:
        """Wait for mpiexec; notes which ranks died first, before any ending was handed over."""
        own = os.pidfd_open(self.process.pid)
        watched: dict[int, int] = {}
        poll = select.poll()
        for descriptor in (own, self._news):
            poll.register(descriptor, select.POLLIN)
        try:
            over = False
            while not over:
                ready = [descriptor for descriptor, _ in poll.poll()]
                over = own in ready
                if self._news in ready:
                    os.read(self._news, 4096)
                    watched |= self._watch(poll, set(watched.values()))
                gone = [descriptor for descriptor in ready if descriptor in watched]
                for descriptor in gone:
                    poll.unregister(descriptor)
                if gone and not self.died and read_ending(self.folder) is None:
                    self.died = [watched[descriptor] for descriptor in gone]
        finally:
            for descriptor in (own, *watched):
                os.close(descriptor)
        return self.process.wait()

    def _watch(self, poll: select.poll, known: set[int]) -> dict[int, int]:
        """Watch the ranks that were announced: rank by file descriptor."""
        new = {}
        for rank, pid in read_ranks(self.folder).items():
            if rank not in known:
                try:
                    descriptor = os.pidfd_open(pid)
                except OSError:  # gone already, or too many files: it is not named, that is all
                    continue
                poll.register(descriptor, select.POLLIN)
                new[descriptor] = rank
        return new

    def close(self) -> None:
        """No process of the launch is left; signals are as before."""
        if self.process.poll() is None:
            self.kill()
            self.process.wait()
        kill_tagged(self.tag, grace_s=1.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._news)
        os.close(self._wake)


def run_ranks(command: list[str], environ: dict[str, str]) -> int:
    """Run an mpiexec command under our care and return the exit code its rank 0 handed over.

    Where none was handed over, a rank died: 1, and a line on stderr that names it where it ran on this machine.
    """
    with tempfile.TemporaryDirectory(prefix="sprintprof-launch-") as name:
        folder = Path(name)
        tags = {"SPRINTPROF_LAUNCH": folder.name, "SPRINTPROF_LAUNCH_FOLDER": name,
                "SPRINTPROF_LAUNCH_PID": str(os.getpid())}  # fmt: skip
        launched = _Launched(command, {**environ, **tags}, folder)
        try:
            code = launched.wait()
        finally:
            launched.close()
        return _outcome(read_ending(folder), code, launched.signals, launched.died)


def _outcome(ending: Ending | None, code: int, signals: int, died: list[int]) -> int:
    """Exit code for the user, with a line where the end was not a clean one."""
    if signals > 1:
        print("sprintprof: stopped at once; the journal holds what was measured", file=sys.stderr)  # noqa: T201
        return 130
    if ending is not None:
        return ending.code
    if code == 0:
        return 0
    who = f"rank {died[0]} died" if len(died) == 1 else f"one of the ranks {died[:8]} died" if died else "a rank died"
    print(f"sprintprof: {who} (launcher's code {code}); all ranks were ended, "  # noqa: T201
          "the journal holds what was measured", file=sys.stderr)  # fmt: skip
    return 1
