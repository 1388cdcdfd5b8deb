"""Read places of an open file, whatever becomes of its name."""

from __future__ import annotations

import errno
import os
import weakref
from pathlib import Path


class FileReader:
    """`reader(offset, length)` gives exactly `length` bytes; raises OSError, with the path, where it cannot.

    It owns the descriptor and closes it when nobody holds the reader any more, so samples can be read after the file
    was renamed, replaced or removed.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)

    def __call__(self, offset: int, length: int) -> bytes:
        parts = []
        while length > 0:
            try:
                part = os.pread(self.descriptor, min(length, 1 << 30), offset)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            if not part:
                raise OSError(errno.EIO, "the file ends too early", str(self.path))
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
