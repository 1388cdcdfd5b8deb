"""One writer: an exclusive lock on the journal, which the system drops when its process ends in whatever way."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from sprintprof.records import InputError
from sprintprof.store.failures import words


def open_locked(journal: Path, new: bool) -> int:
    """Open the journal for appending (creating it; with `new` it must not exist) and lock it. Returns the descriptor.

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
            _lock(descriptor, journal)
            if _still_there(descriptor, journal):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the other writer finished and removed it between our open and our lock


def exists(path: Path) -> InputError:
    """The error for a run that would write over `path`."""
    return InputError(str(path), "exists already", "choose another name with -o, or go on with it: --resume")


def _lock(descriptor: int, journal: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            remedy = "wait for it to end, or choose another file"
            raise InputError(str(journal), f"another process is writing it (errno {error.errno})", remedy) from None
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
            return  # no locks on this file system: see docs/formats-results.md, "One writer"
        raise InputError(str(journal), f"cannot be locked: {words(error)[0]}", words(error)[1]) from None


def _still_there(descriptor: int, journal: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), journal.stat())
    except FileNotFoundError:
        return False
