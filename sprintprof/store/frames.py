"""Frames of the journal: length, sequence number and CRC around each record, so that a reader finds its way again.

A frame is 28 bytes of head (marker, sequence number, length of text, length of arrays, CRC-32 of both, CRC-32 of the
head itself), the text (JSON) and the arrays (little-endian float64). After a damaged place the next good head is
searched byte by byte; its own CRC makes a false find as good as impossible and keeps the search linear.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

MARKER = b"\xf5SP\x1a"
_HEAD = struct.Struct("<4sIIQI")
HEAD_BYTES = _HEAD.size + 4
_WINDOW = 1 << 20


class Frame(NamedTuple):
    """A good frame: where it starts and ends, its number, its text, and where its arrays lie."""

    offset: int
    end: int
    number: int
    text: bytes
    arrays_offset: int
    arrays_bytes: int


class Damage(NamedTuple):
    """Bytes that are no good frame. `torn` marks an unfinished last record, which every kill may leave."""

    offset: int
    end: int
    what: str
    torn: bool = False


def pack(number: int, text: bytes, arrays: bytes) -> bytes:
    """One frame, to be written at once."""
    head = _HEAD.pack(MARKER, number, len(text), len(arrays), zlib.crc32(arrays, zlib.crc32(text)))
    return b"".join((head, struct.pack("<I", zlib.crc32(head)), text, arrays))


def _read(descriptor: int, length: int, offset: int) -> bytes:
    """`length` bytes, fewer only at the end of the file."""
    parts = []
    while length > 0 and (part := os.pread(descriptor, min(length, 1 << 30), offset)):
        parts.append(part)
        length -= len(part)
        offset += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _frame_at(descriptor: int, offset: int, size: int) -> Frame | str:
    """The frame at `offset`, or what is wrong: `head`, `torn` (good head, file ends inside) or `body`."""
    head = os.pread(descriptor, HEAD_BYTES, offset)
    if len(head) < HEAD_BYTES:
        return "torn" if head.startswith(MARKER[: len(head)]) else "head"
    if head[:4] != MARKER or struct.unpack_from("<I", head, _HEAD.size)[0] != zlib.crc32(head[: _HEAD.size]):
        return "head"
    _, number, text_bytes, arrays_bytes, crc = _HEAD.unpack_from(head)
    start = offset + HEAD_BYTES
    end = start + text_bytes + arrays_bytes
    if end > size:
        return "torn"
    body = _read(descriptor, end - start, start)
    if zlib.crc32(body) != crc:
        return "body"
    return Frame(offset, end, number, body[:text_bytes], start + text_bytes, arrays_bytes)


def _next_head(descriptor: int, offset: int, size: int) -> int:
    """Where the next marker lies at or behind `offset`; `size` where there is none."""
    while offset < size:
        window = os.pread(descriptor, _WINDOW, offset)
        found = window.find(MARKER)
        if found >= 0:
            return offset + found
        if len(window) < _WINDOW:
            break
        offset += len(window) - len(MARKER) + 1
    return size


def _only_zeros(descriptor: int, offset: int, size: int) -> bool:
    return all(not os.pread(descriptor, _WINDOW, at).strip(b"\0") for at in range(offset, size, _WINDOW))


def scan(descriptor: int, offset: int = 0) -> Iterator[Frame | Damage]:
    """Every good frame from `offset` on, and every damaged stretch between them, in file order. Raises OSError."""
    size = os.fstat(descriptor).st_size
    expected = 0
    while offset < size:
        found = _frame_at(descriptor, offset, size)
        if isinstance(found, Frame):
            if found.number != expected:
                yield Damage(offset, offset, f"record {expected} expected, record {found.number} found")
            expected = found.number + 1
            yield found
            offset = found.end
            continue
        bad_from, why = offset, found
        following = None
        while not following and (offset := _next_head(descriptor, offset + 1, size)) < size:
            candidate = _frame_at(descriptor, offset, size)
            following = candidate if isinstance(candidate, Frame) else None
        if following:
            lost, expected = following.number - expected, following.number
            yield Damage(bad_from, offset, f"bad {'checksum' if why == 'body' else 'frame'}, records lost: {lost}")
        else:  # a file system may leave zeros where the machine went down before the data was there
            torn = why == "torn" or _only_zeros(descriptor, bad_from, size)
            yield Damage(bad_from, size, "unfinished record" if torn else "bad last record", torn)
