"""Names of the files around a results file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

SUFFIX = ".journal"
JOURNAL_TITLE = b"sprintprof journal "


def is_journal(descriptor: int) -> bool:
    """Whether the open file starts as a journal does."""
    return os.pread(descriptor, len(JOURNAL_TITLE), 0) == JOURNAL_TITLE


def journal_path(path: str | Path) -> Path:
    """The journal beside a results file: `r.h5` → `r.h5.journal`."""
    return Path(f"{path}{SUFFIX}")


def results_path(journal: str | Path) -> Path:
    """The results file a journal belongs to; the inverse of `journal_path`."""
    return Path(str(journal).removesuffix(SUFFIX))


def sync_folder(folder: Path) -> None:
    """Make a created, renamed or removed name in `folder` survive a power cut, where the file system can do that.

    Raises OSError where it can and fails.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder one may write to and not list
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)
