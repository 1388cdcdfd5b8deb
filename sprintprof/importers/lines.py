"""Clean lines of a log, block by block: encodings, line ends, NUL bytes, colours, and the tags launchers put before."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sprintprof.records import InputError

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 16
"""The rest of a longer line is dropped: no benchmark prints one, and memory stays bounded."""

BROKEN = "\ufffd"
"""Stands where bytes could not be read; no row with it is taken for one."""

_TAG = re.compile(
    r"\[\d+,\d+\]<std(?:out|err|diag)>:|\[prte[^\]\s]*\]<std(?:out|err)>: ?"  # Open MPI --tag-output
    r"|\d{4}-\d\d-\d\dT[0-9:.+-]+(?:Z|[+-]\d\d:?\d\d)? (?:std(?:out|err) [FP] )?"  # containers, continuous integration
    r"|\[\d+\] (?=\s*[#\d]|OSU|OMB)"  # Intel MPI and MPICH -prepend-rank
    r"|\s*\d+: (?=\s*[#\d]|OSU|OMB)",  # srun --label
    re.ASCII,
)
_TAGGED = re.compile(r"^(?:\[\d+\] |\s{0,6}\d+: |\d{4}-\d\d-\d\dT)", re.ASCII | re.MULTILINE)
_MAYBE_TAGGED = frozenset("[0123456789 ")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MAGIC = (
    b"\x89HDF",
    b"\x89PNG",
    b"PK\x03\x04",
    b"\x7fELF",
    b"%PDF",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"GIF8",
    b"\xff\xd8",
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text at all. NUL bytes alone do not make it so: crashed nodes write them."""
    return head.startswith(_MAGIC)


def encoding_of(head: bytes) -> str:
    """The text encoding of a file that begins so, by its byte order mark."""
    return next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")


def open_log(path: Path) -> BinaryIO:
    """The file, open for reading. Raises InputError."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", "check the path") from None


def read_blocks(path: Path, digest: hashlib._Hash | None = None) -> Iterator[str]:
    """The text of a log in blocks of whole lines (the last line ends in a line feed as well).

    Line ends are all "\\n"; NUL bytes and what is not in the encoding are BROKEN; colours are gone. Raises InputError.
    """
    try:
        with open_log(path) as stream:
            raw = stream.read(BLOCK_BYTES)
            inner = codecs.getincrementaldecoder(encoding_of(raw))(errors="replace")
            decoder = io.IncrementalNewlineDecoder(inner, translate=True)
            rest = ""
            while raw:
                if digest is not None:
                    digest.update(raw)
                text = rest + _plain(decoder.decode(raw))
                cut = text.rfind("\n") + 1
                rest = text[cut:]
                if cut:
                    yield text[:cut]
                if len(rest) > LONGEST_LINE:  # a line without end: its head stays, the rest is dropped
                    rest = rest[:LONGEST_LINE]
                raw = stream.read(BLOCK_BYTES)
            rest += _plain(decoder.decode(b"", final=True))
            if rest:
                yield rest if rest.endswith("\n") else rest + "\n"
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", "check the file system") from None


def _plain(text: str) -> str:
    """No NUL, no colours."""
    if "\0" in text:
        text = text.replace("\0", BROKEN)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text


def clean_lines(block: str) -> list[str]:
    """The lines of a block without their ends, launcher tags, byte order marks, and broken bytes around their text."""
    lines = block.split("\n")
    if not lines[-1]:
        lines.pop()
    if BROKEN in block or "\ufeff" in block:
        lines = [line.replace("\ufeff", "").strip(BROKEN) for line in lines]
    if "]<std" in block or _TAGGED.search(block):
        lines = [_untagged(line) for line in lines]
    return lines


def _untagged(line: str) -> str:
    tag = _TAG.match(line) if line[:1] in _MAYBE_TAGGED else None
    return line[tag.end() :] if tag else line
