"""Read places of an open file, whatever becomes of its name."""

from __future__ import annotations

import os
import weakref


class FileReader:
    """`reader(offset, length)` gives exactly `length` bytes; raises OSError where the file ends before.

    It owns the descriptor and closes it when nobody holds the reader any more, so samples can be read after the file
    was renamed, replaced or removed.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)

    def __call__(self, offset: int, length: int) -> bytes:
        parts = []
        while length > 0:
            part = os.pread(self.descriptor, min(length, 1 << 30), offset)
            if not part:
                raise OSError(5, "the file ends too early")
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
