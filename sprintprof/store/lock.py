"""One writer: an exclusive lock on the journal, which the system drops when its process ends in whatever way.

Where a file system grants no locks (errno 37 and its kin), a lock file beside the journal stands in for it. A kill
leaves that one behind; it is known to be stale where its process ran on this boot of this node and is gone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from sprintprof.records import InputError
from sprintprof.store.failures import words

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class LockedFile:
    """The journal opened for appending and locked; `close` lets go of it."""

    def __init__(self, descriptor: int, lock_file: Path | None) -> None:
        self.descriptor = descriptor
        self._lock_file = lock_file

    def close(self) -> None:
        """Close the file and drop the lock. Harmless the second time."""
        if self.descriptor < 0:
            return
        if self._lock_file:
            with contextlib.suppress(OSError):
                self._lock_file.unlink()
        os.close(self.descriptor)
        self.descriptor = -1


def open_locked(journal: Path, new: bool) -> LockedFile:
    """Open the journal (creating it; with `new` it must not exist) and lock it.

    Raises InputError where another process writes it, or where it cannot be opened or locked.
    """
    while True:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if new else 0)
        try:
            descriptor = os.open(journal, flags, 0o666)
        except FileExistsError:
            raise exists(journal) from None
        except OSError as error:
            what, remedy = words(error)
            raise InputError(str(journal), f"cannot be written: {what}", remedy) from None
        try:
            lock_file = _lock(descriptor, journal)
            if _still_there(descriptor, journal):
                return LockedFile(descriptor, lock_file)
        except BaseException:
            os.close(descriptor)
            raise
        LockedFile(descriptor, lock_file).close()  # the other writer removed it between our open and our lock


def exists(path: Path) -> InputError:
    """The error for a run that would write over `path`."""
    return InputError(str(path), "exists already", "choose another name with -o, or go on with it: --resume")


def _lock(descriptor: int, journal: Path) -> Path | None:
    """Lock the open journal; returns the lock file where one had to stand in."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise _busy(journal, f"another process is writing it (errno {error.errno})") from None
        if error.errno not in _NO_LOCKS:
            raise InputError(str(journal), f"cannot be locked: {words(error)[0]}", words(error)[1]) from None
        return _lock_by_file(journal)
    return None


def _busy(journal: Path, what: str, remedy: str = "") -> InputError:
    remedy = remedy or "wait for it to end or choose another file"
    return InputError(str(journal), what, f"{remedy}; nothing was changed")


def _lock_by_file(journal: Path) -> Path:
    path = journal.with_name(f"{journal.name}.lock")
    try:
        for _ in range(2):
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
                with os.fdopen(descriptor, "w") as file:
                    file.write(f"{_boot_id()} {os.getpid()} {os.uname().nodename}\n")
                return path
            if not _stale(path):
                break
            path.unlink()
        owner = path.read_text(errors="replace").split()
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {words(error)[0]}", words(error)[1]) from None
    who = f"process {owner[1]} on {owner[2]}" if len(owner) == 3 else "another process"
    raise _busy(journal, f"{who} is writing it", f"if it has ended, remove {path}")


def _boot_id() -> str:
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else "unknown"


def _stale(lock_file: Path) -> bool:
    """Whether its process ran here and is gone. Of another node's process nobody can tell."""
    match lock_file.read_text(errors="replace").split():
        case [boot, pid, _] if boot == _boot_id() != "unknown" and pid.isascii() and pid.isdigit():
            return not Path(f"/proc/{pid}").exists()
    return False


def _still_there(descriptor: int, journal: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), journal.stat())
    except FileNotFoundError:
        return False
