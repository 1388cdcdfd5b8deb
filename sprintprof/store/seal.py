"""The seal of a results file: 512 bytes of text before the HDF5 data (a *user block*, which every HDF5 reader skips).

    sprintprof results
    version 2
    bytes 10238776
    sha256 35edad84…

`bytes` is the size of the whole file and `sha256` is over everything behind the block. It is checked before HDF5
reads one byte, so that a cut or a flipped bit is told as such and never parsed: HDF5 itself checks no data, and may
crash or loop on damaged metadata.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from sprintprof.records import InputError
from sprintprof.store.schema import SCHEMA_VERSION

BLOCK_BYTES = 512
_CHUNK = 1 << 20
_TITLE = b"sprintprof results\n"
_START = re.compile(rb"sprintprof results\nversion (\d{1,6})\n")
_BLOCK = re.compile(rb"sprintprof results\nversion (\d{1,6})\nbytes (\d{1,19})\nsha256 ([0-9a-f]{64})\n *\n")
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_REMEDY = "restore it from a copy or measure again; sprintprof merge leaves it out"


def block(version: int, size_bytes: int, sha256: str) -> bytes:
    """The 512 bytes of the user block."""
    text = f"sprintprof results\nversion {version}\nbytes {size_bytes}\nsha256 {sha256}\n"
    return text.encode().ljust(BLOCK_BYTES - 1) + b"\n"


def write_seal(descriptor: int, version: int = SCHEMA_VERSION) -> None:
    """Write the block into the open file (readable and writable, HDF5 data complete behind it). Raises OSError."""
    size = os.fstat(descriptor).st_size
    payload = hashlib.sha256()
    for offset in range(BLOCK_BYTES, size, _CHUNK):
        payload.update(os.pread(descriptor, _CHUNK, offset))
    os.pwrite(descriptor, block(version, size, payload.hexdigest()), 0)


def check_seal(descriptor: int, path: Path) -> tuple[int, str]:
    """Version and SHA-256 of the whole file. Raises InputError where the file is not what was written."""
    where = str(path)
    size = os.fstat(descriptor).st_size
    head = os.pread(descriptor, BLOCK_BYTES, 0)
    start = _START.match(head)
    if start and int(start[1]) > SCHEMA_VERSION:
        what = f"is of format version {int(start[1])}, this sprintprof reads up to {SCHEMA_VERSION}"
        raise InputError(where, what, "use the newer sprintprof that wrote it")
    if size == 0:
        raise InputError(where, "is empty (0 bytes)", _REMEDY)
    found = _BLOCK.fullmatch(head)
    if not found or int(found[1]) < 1:
        if head.startswith(_HDF5_SIGNATURE):
            raise InputError(
                where, "is an HDF5 file without sprintprof's seal", "give a results file of sprintprof run"
            )
        what = "is not a results file"
        if head.startswith(_TITLE):
            what = "is damaged in its first 512 bytes" if len(head) == BLOCK_BYTES else f"is cut to {size} bytes"
        raise InputError(where, what, _REMEDY if head.startswith(_TITLE) else "give a results file of sprintprof run")
    if size != int(found[2]):
        raise InputError(where, f"is cut or grown: {size} of {int(found[2])} bytes", _REMEDY)
    whole, payload = hashlib.sha256(head), hashlib.sha256()
    for offset in range(BLOCK_BYTES, size, _CHUNK):
        chunk = os.pread(descriptor, _CHUNK, offset)
        whole.update(chunk)
        payload.update(chunk)
    if payload.hexdigest() != found[3].decode():
        raise InputError(where, "is damaged: its content is not what was written (SHA-256 differs)", _REMEDY)
    return int(found[1]), whole.hexdigest()
