"""What the operating system says, in words a user can act on."""

from __future__ import annotations

import errno

_WORDS = {
    errno.ENOSPC: ("the disk is full", "free space"),
    errno.EDQUOT: ("the disk quota is used up", "free space"),
    errno.EFBIG: ("the file would pass the size limit", "raise the limit (ulimit -f)"),
    errno.EACCES: ("permission denied", "choose a folder you may write to"),
    errno.EPERM: ("permission denied", "choose a folder you may write to"),
    errno.EROFS: ("the file system is read-only", "choose another folder"),
    errno.EIO: ("input/output error of the device", "check the file system, or choose another one"),
    errno.EAGAIN: ("it is locked by another process", "wait for that process to end"),
    errno.ENOLCK: ("the file system grants no locks", "choose another file system"),
    errno.ENOENT: ("there is no such file", "check the name"),
    errno.EISDIR: ("it is a folder", "name a file"),
    errno.ENOTDIR: ("a part of the path is not a folder", "check the name"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
}


def words(error: OSError) -> tuple[str, str]:
    """What went wrong (with the error number, which administrators ask for) and what to do about it."""
    what, remedy = _WORDS.get(
        error.errno or 0, (error.strerror or str(error) or type(error).__name__, "check the file system")
    )
    return (f"{what} (errno {error.errno})" if error.errno else what), remedy
