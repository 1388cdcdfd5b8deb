"""Processes of one launch, found by a tag in their environment: launchers put ranks into sessions of their own."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")
_PR_SET_PDEATHSIG = 1


class Tagged(msgspec.Struct, frozen=True):
    """A living process of the launch; `rank` is None for launcher helpers."""

    pid: int
    rank: int | None


def find_tagged(tag: str, variable: str = "SPRINTPROF_LAUNCH") -> list[Tagged]:
    """Living processes (no zombies) of this user whose environment has `variable=tag`; not this process itself."""
    wanted = f"{variable}={tag}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            fields = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or of another user
            continue
        if wanted in fields:
            found.append(Tagged(int(entry.name), _rank(fields)))
    return found


def _rank(fields: Iterable[bytes]) -> int | None:
    values = dict(f.split(b"=", 1) for f in fields if b"=" in f)
    for name in RANK_VARIABLES:
        text = values.get(name.encode(), b"")
        if text.isdigit():
            return int(text)
    return None


def kill_tagged(tag: str, grace_s: float = 0.0) -> int:
    """Wait up to `grace_s` for the processes of the launch to end, then kill them until none is left.

    Returns how many had to be killed.
    """
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and find_tagged(tag):
        time.sleep(0.02)
    killed: set[int] = set()
    for _ in range(50):  # a helper may fork while we look
        left = find_tagged(tag)
        if not left:
            break
        for process in left:
            killed.add(process.pid)
            send(process.pid, signal.SIGKILL)
        time.sleep(0.02)
    return len(killed)


def send(pid: int, number: int) -> bool:
    """Send a signal; False where the process is gone."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Ask the kernel to send `number` to this process when its parent dies (Linux; elsewhere nothing happens)."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    except (OSError, AttributeError):
        return
