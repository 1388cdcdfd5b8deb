"""The journal: every finished point is in the file when `append` returns, and on the disk a second later."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sprintprof.records import InputError, Measurement, Point, RunHeader, SampleSet
from sprintprof.store.codec import (
    decode_measurement,
    decode_record,
    encode_measurement,
    encode_session,
    point_from_json,
    session_from_json,
    session_id,
    split_arrays,
)
from sprintprof.store.failures import words
from sprintprof.store.frames import HEAD_BYTES, Damage, Frame, pack, scan
from sprintprof.store.lock import LockedFile, open_locked
from sprintprof.store.paths import JOURNAL_TITLE, sync_folder
from sprintprof.store.reading import FileReader
from sprintprof.store.schema import SCHEMA_VERSION, SUMMARY_FIELDS
from sprintprof.store.stored import SampleShape, Stored

TITLE = JOURNAL_TITLE + b"%d\n" % SCHEMA_VERSION
_TITLE = re.compile(re.escape(JOURNAL_TITLE) + rb"(\d{1,6})\n")
SYNC_S = 1.0
_SUMMARY_BYTES = 8 * (len(SUMMARY_FIELDS) + 1)


class JournalContent(NamedTuple):
    """What a journal says: launches by id in order, the plan, the last record of each point, and what is damaged.

    `end` is where an unfinished last record begins, else the end of the file; `records` is the next record's number.
    """

    sessions: dict[str, RunHeader]
    plan: dict[str, Point]
    stored: dict[str, Stored]
    damages: list[str]
    end: int
    records: int


def read_journal(path: Path, reader: FileReader) -> JournalContent:
    """Read an open journal. Damaged places are listed and passed over; an unfinished last record is normal.

    Raises InputError where it is not a journal, is of a newer version or cannot be read.
    """
    try:
        return _read(path, reader)
    except OSError as error:
        what, remedy = words(error)
        raise InputError(str(path), f"cannot be read: {what}", remedy) from None


def load_journal(path: Path) -> JournalContent:
    """`read_journal` of a file that may be in use: nothing is locked or changed. Raises InputError."""
    try:
        reader = FileReader(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        what, remedy = words(error)
        raise InputError(str(path), f"cannot be read: {what}", remedy) from None
    return read_journal(path, reader)


def _read(path: Path, reader: FileReader) -> JournalContent:
    title = _TITLE.match(os.pread(reader.descriptor, 32, 0))
    size = os.fstat(reader.descriptor).st_size
    unfinished = os.pread(reader.descriptor, len(TITLE), 0) == TITLE[:size]  # killed while it was created
    if title and int(title[1]) > SCHEMA_VERSION:
        raise _newer(path, int(title[1]))
    content = JournalContent({}, {}, {}, [], 0, 0)
    if not title and not unfinished:
        content.damages.append("byte 0: not the first line of a journal")
    end, records = size, 0
    item: Frame | Damage | None = None
    for item in scan(reader.descriptor, title.end() if title else min(size, len(TITLE)) if unfinished else 0):
        if isinstance(item, Damage):
            if item.torn:
                end = item.offset
            else:
                content.damages.append(f"byte {item.offset}: {item.what}")
            continue
        records = item.number + 1
        try:
            _take(path, content, item, reader)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            content.damages.append(f"byte {item.offset}: record {item.number} is not understood ({error})")
    if isinstance(item, Damage) and not item.torn:
        records += 1  # the number of the damaged last record is taken
    if content.damages and not content.sessions and not content.stored:
        raise InputError(
            str(path), "is not a journal, or nothing of it is left", "give the .journal beside a results file"
        )
    return content._replace(end=end, records=records)


def _newer(path: Path, version: int) -> InputError:
    what = f"is of format version {version}, this sprintprof reads up to {SCHEMA_VERSION}"
    return InputError(str(path), what, "use the newer sprintprof that wrote it")


def _take(path: Path, content: JournalContent, frame: Frame, read: FileReader) -> None:
    record = decode_record(frame.text)
    if record["type"] == "session":
        if record["version"] > SCHEMA_VERSION:
            raise _newer(path, record["version"])
        header = session_from_json(record["header"], [])
        identity = session_id(header)
        if record["version"] > 1 and record["id"] != identity:
            raise ValueError("its id is that of another header")
        content.sessions[identity] = header
        content.plan.update((p.key, p) for p in map(point_from_json, record["plan"]))
        return
    if "session" not in record:  # version 1: one header for the whole journal
        record["session"] = next(iter(content.sessions), "")
    stored = decode_measurement(record, frame.arrays_bytes, lambda o, n: read(frame.arrays_offset + o, n))
    content.stored.pop(stored.row.key, None)
    content.stored[stored.row.key] = stored


class Journal:
    """An open, locked journal to append to. Its errors are OSError; the caller knows what is safe."""

    def __init__(self, path: Path, file: LockedFile, reader: FileReader, content: JournalContent) -> None:
        self.path = path
        self.damages = content.damages
        self._file = file
        self._reader = reader
        self._number = content.records
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._error: OSError | None = None
        self._synced_s = -SYNC_S
        self._size = os.fstat(file.descriptor).st_size
        self._cut(content.end)
        if self._size < len(TITLE):
            self._cut(0)
            self._write(TITLE)

    def append_session(self, header: RunHeader) -> None:
        """Open a launch: its header with the plan. On the disk when it returns. Raises OSError."""
        self._append(encode_session(header), b"")
        self.sync()

    def append(self, measurement: Measurement, session: str) -> Stored:
        """Append a point. It outlives a kill from now on. Raises OSError with the journal as it was before."""
        text, arrays, row, shape = encode_measurement(measurement, session)
        start = self._append(text, arrays) + HEAD_BYTES + len(text) + _SUMMARY_BYTES
        load = partial(_load, self._reader, start, len(arrays) - _SUMMARY_BYTES, shape)
        now_s = time.monotonic()
        if now_s - self._synced_s >= SYNC_S:
            self.sync()
        elif self._timer is None:
            self._timer = threading.Timer(self._synced_s + SYNC_S - now_s, self._sync_late)
            self._timer.daemon = True
            self._timer.start()
        return Stored(row, session, row.key, shape, load)

    def sync(self) -> None:
        """Force everything to the disk; nothing to do once it is closed. Raises OSError."""
        with self._lock:
            if self._error:
                raise self._error
            if self._file.descriptor < 0:
                return
            os.fsync(self._file.descriptor)
            self._synced_s = time.monotonic()

    def close(self) -> None:
        """Stop the timer and let go of the lock; the file stays. Harmless the second time."""
        timer = self._timer
        if timer:
            timer.cancel()
        with self._lock:
            self._file.close()

    def _sync_late(self) -> None:
        """On the timer's thread: an error is kept for the next call, where somebody can hear it."""
        self._timer = None
        try:
            self.sync()
        except OSError as error:
            self._error = error

    def _append(self, text: bytes, arrays: bytes) -> int:
        with self._lock:
            if self._error:
                raise self._error
            start = self._size
            self._write(pack(self._number, text, arrays))
            self._number += 1
            return start

    def _write(self, data: bytes) -> None:
        """Write all or nothing: half a record would be torn in the middle once the next one follows."""
        view = memoryview(data)
        start, done = self._size, 0
        try:
            while done < len(view):
                done += os.write(self._file.descriptor, view[done:])
        except BaseException:
            with contextlib.suppress(OSError):
                self._cut(start)
            raise
        self._size = start + done

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file.descriptor, size)
        self._size = size


@contextlib.contextmanager
def locked_journal(path: Path, new: bool) -> Iterator[tuple[Journal, JournalContent]]:
    """Open, lock and read a journal, creating it where there is none (with `new` there must be none).

    It stays open when the `with` is left; on an error in it the journal is closed, and removed if it was made here.
    Raises InputError where it cannot be opened, locked, read or written.
    """
    file = open_locked(path, new)
    fresh = os.fstat(file.descriptor).st_size == 0
    try:
        reader = FileReader(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        content = read_journal(path, reader)
        yield Journal(path, file, reader, content), content
        sync_folder(path.parent)
    except BaseException as error:
        if fresh:
            with contextlib.suppress(OSError):
                path.unlink()
        file.close()
        if isinstance(error, OSError):
            what, remedy = words(error)
            raise InputError(str(path), f"cannot be written: {what}", remedy) from None
        raise


def _load(read: FileReader, offset: int, length: int, shape: SampleShape) -> SampleSet:
    return split_arrays(read(offset, length), shape)
