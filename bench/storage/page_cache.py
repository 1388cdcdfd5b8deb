"""The system's page cache: put files out of it, and see whether they are."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

from sprintprof.records import Missing

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def drop_files(paths: Iterable[Path]) -> None:
    """Ask the system to forget the pages of these files, which must be on disk already (fsync)."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def drop_everything() -> None:
    """Drop the page cache, directory entries and inodes of the whole system. Raises OSError where it is not allowed."""
    os.sync()
    _DROP_CACHES.write_text("3\n")


def resident_share(paths: Iterable[Path]) -> float | Missing:
    """Share (0..1) of the files' pages that are in the page cache, by mincore(2); Missing where it cannot be asked."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        mincore = libc.mincore
    except (OSError, AttributeError):
        return Missing("this system has no mincore")
    pages = resident = 0
    for path in paths:
        size = path.stat().st_size
        if not size:
            continue
        with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
            count = -(-size // mmap.PAGESIZE)
            states = (ctypes.c_ubyte * count)()
            view = (ctypes.c_char * size).from_buffer(mapped)
            failed = mincore(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(size), states)
            del view  # or the map cannot be closed
            if failed:
                return Missing(f"mincore: {os.strerror(ctypes.get_errno())}")
            pages += count
            resident += sum(state & 1 for state in states)
    return resident / pages if pages else Missing("the files are empty")
