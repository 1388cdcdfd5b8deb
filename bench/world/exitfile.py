"""What ranks hand to the parent that launched them: the exit code, and who they are."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import msgspec

from sprintprof.bench.world.processes import send


class Ending(msgspec.Struct, frozen=True):
    """How the ranks ended: exit code for the user; whether `rank` asked for the end of all."""

    code: int
    aborted: bool
    rank: int


def hand_over(code: int, *, aborted: bool, rank: int) -> bool:
    """Leave the ending for the parent, once: the first rank that has something to say is heard.

    False where no parent of ours is listening, or on another host.
    """
    folder = _folder()
    if folder is None:
        return False
    own = folder / f"exit.{rank}"
    try:
        own.write_bytes(msgspec.json.encode(Ending(code, aborted, rank)))
        os.link(own, folder / "exit")
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def tell_parent() -> bool:
    """Ask the parent to look into the folder; False where it is gone."""
    parent = os.environ.get("SPRINTPROF_LAUNCH_PID", "")
    return parent.isdecimal() and send(int(parent), signal.SIGUSR1)


def announce_ranks(pids: dict[int, int]) -> None:
    """Rank 0: tell the parent the process ids of the ranks on its machine, so that it can name one that dies."""
    folder = _folder()
    if folder is not None:
        (folder / "ranks.new").write_text(json.dumps(pids))
        (folder / "ranks.new").rename(folder / "ranks")
        tell_parent()


def read_ending(folder: Path) -> Ending | None:
    """What a rank handed over, or None."""
    try:
        return msgspec.json.decode((folder / "exit").read_bytes(), type=Ending)
    except (OSError, msgspec.MsgspecError):
        return None


def read_ranks(folder: Path) -> dict[int, int]:
    """Process id by rank, as announced; {} before that."""
    try:
        found: dict[str, Any] = json.loads((folder / "ranks").read_text())
    except (OSError, ValueError):
        return {}
    return {int(rank): int(pid) for rank, pid in found.items()}


def _folder() -> Path | None:
    """The folder our parent made for this launch, where there is one and it is on this machine."""
    name = os.environ.get("SPRINTPROF_LAUNCH_FOLDER", "")
    return Path(name) if name and Path(name).is_dir() else None
