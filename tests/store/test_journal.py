"""The journal: torn ends are normal, damage in the middle is told and passed over, the disk has it within a second."""

from __future__ import annotations

import os
import struct
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from sprintprof.records import InputError
from sprintprof.store import journal_path, load_results, open_run, recover_journal
from sprintprof.store.frames import HEAD_BYTES, MARKER, Damage, Frame, pack, scan
from sprintprof.store.journal import TITLE, load_journal


def scanned(tmp_path: Path, data: bytes) -> list[Frame | Damage]:
    file = tmp_path / "frames"
    file.write_bytes(data)
    with file.open("rb") as opened:
        return list(scan(opened.fileno()))


def written(path: Path, kit: SimpleNamespace, count: int = 6) -> list[int]:
    """A journal of `count` points that was not finished; returns where each frame starts, and the end."""
    with_closed = open_run(path, kit.header(kit.points(count)), resume=False)
    for point in kit.points(count):
        with_closed.append(kit.measured(point))
    with_closed.close()
    journal = journal_path(path)
    with journal.open("rb") as opened:
        return [item.offset for item in scan(opened.fileno(), len(TITLE))] + [journal.stat().st_size]


def test_a_frame_is_as_documented(tmp_path: Path) -> None:
    """The layout that docs/formats-results.md gives, packed by hand."""
    head = struct.pack("<4sIIQI", b"\xf5SP\x1a", 7, 4, 8, zlib.crc32(b"textarrays!!"))
    by_hand = head + struct.pack("<I", zlib.crc32(head)) + b"textarrays!!"
    assert pack(7, b"text", b"arrays!!") == by_hand
    frame = scanned(tmp_path, by_hand)[-1]
    assert (frame.number, frame.text, frame.arrays_offset, frame.arrays_bytes) == (7, b"text", HEAD_BYTES + 4, 8)


def test_every_torn_end_is_one_unfinished_record(tmp_path: Path) -> None:
    first, second = pack(0, b"a", b"12345678"), pack(1, b"b", b"12345678")
    for cut in range(1, len(second)):
        items = scanned(tmp_path, first + second[:cut])
        assert items[0].number == 0
        assert items[1:] == [Damage(len(first), len(first) + cut, "unfinished record", torn=True)]
    assert [item.number for item in scanned(tmp_path, first + second)] == [0, 1]


def test_zeros_at_the_end_are_unfinished_too(tmp_path: Path) -> None:
    """What some file systems leave after a power cut."""
    items = scanned(tmp_path, pack(0, b"a", b"") + bytes(5000))
    assert [getattr(i, "torn", None) for i in items] == [None, True]


def test_after_damage_the_next_record_is_found(tmp_path: Path) -> None:
    frames = [pack(i, b"text %d" % i, bytes([i]) * 64) for i in range(6)]
    spoiled = bytearray(b"".join(frames))
    start = len(frames[0]) * 2
    spoiled[start + HEAD_BYTES + 3] ^= 1  # body of number 2
    spoiled[start + len(frames[2]) + 9] ^= 1  # head of number 3
    items = scanned(tmp_path, bytes(spoiled))
    assert [i.number for i in items if isinstance(i, Frame)] == [0, 1, 4, 5]
    assert [i.what for i in items if isinstance(i, Damage)] == ["bad checksum, records lost: 2"]


def test_markers_inside_of_damage_do_not_mislead(tmp_path: Path) -> None:
    good = pack(1, b"next", b"")
    items = scanned(tmp_path, pack(0, b"a", b"") + b"x" + MARKER * 50 + MARKER + bytes(24) + good)
    assert [i.number for i in items if isinstance(i, Frame)] == [0, 1]


def test_a_missing_record_is_noticed(tmp_path: Path) -> None:
    items = scanned(tmp_path, pack(0, b"a", b"") + pack(2, b"c", b""))
    assert [i.what for i in items if isinstance(i, Damage)] == ["record 1 expected, record 2 found"]


def test_a_torn_end_is_cut_off_at_resume(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    starts = written(path, kit)
    os.truncate(journal_path(path), starts[-1] - 3)
    with open_run(path, kit.header([], run_id="run-2"), resume=True) as writer:
        assert writer.damages == []
        assert [p.key for p in writer.pending()] == [kit.points(6)[5].key]
        writer.append(kit.measured(kit.points(6)[5]))
    assert load_results(path).completeness == (6, 6)
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]


@pytest.mark.parametrize("bytes_left", [0, 1, 10, len(TITLE), len(TITLE) + 5])
def test_killed_while_it_was_created(tmp_path: Path, kit: SimpleNamespace, bytes_left: int) -> None:
    path = tmp_path / "r.h5"
    written(path, kit)
    os.truncate(journal_path(path), bytes_left)
    with pytest.raises(InputError, match="holds no record"):
        recover_journal(journal_path(path))
    assert not path.exists()
    with open_run(path, kit.header(kit.points(6)), resume=True) as writer:
        assert writer.damages == []
        assert len(writer.pending()) == 6
    assert load_results(path).completeness == (0, 6)


def test_damage_in_the_middle_is_told_and_the_journal_kept(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    starts = written(path, kit)
    data = bytearray(journal_path(path).read_bytes())
    data[starts[3] + HEAD_BYTES + 5] ^= 0x10  # frame 3 holds point 2
    journal_path(path).write_bytes(data)
    with open_run(path, kit.header([], run_id="run-2"), resume=True) as writer:
        assert writer.damages == [f"byte {starts[3]}: bad checksum, records lost: 1"]
        assert [p.key for p in writer.pending()] == [kit.points(6)[2].key]
        writer.append(kit.measured(kit.points(6)[2]))
    assert load_results(path).completeness == (6, 6)
    kept = [p.name for p in tmp_path.iterdir() if p.name != "r.h5"]
    assert kept == [f"r.h5.journal.damaged.{os.getpid()}"]


def test_points_survive_the_loss_of_their_header(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    starts = written(path, kit)
    data = bytearray(journal_path(path).read_bytes())
    data[starts[0] + HEAD_BYTES + 40] ^= 0x10
    journal_path(path).write_bytes(data)
    recovered = recover_journal(journal_path(path), tmp_path / "saved.h5")
    assert len(recovered.damages) == 1
    results = load_results(recovered.path)
    assert [kit.fingerprint(m) for m in results.measurements] == [
        kit.fingerprint(kit.measured(p)) for p in kit.points(6)
    ]
    assert "was lost" in results.header.settings["lost"]
    with open_run(path, kit.header(kit.points(7), run_id="run-2"), resume=True) as writer:
        assert [p.key for p in writer.pending()] == [kit.points(7)[6].key]
    assert load_results(path).header.run_id == "run-2"


def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    written(path, kit)
    journal = journal_path(path)
    journal.write_bytes(journal.read_bytes().replace(b"journal 2\n", b"journal 3\n", 1))
    before = journal.read_bytes()
    with pytest.raises(InputError, match="is of format version 3, this sprintprof reads up to 2"):
        open_run(path, kit.header([]), resume=True)
    assert journal.read_bytes() == before


def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, kit: SimpleNamespace) -> None:
    journal = journal_path(tmp_path / "r.h5")
    journal.write_text("my notes\n")
    for call in (lambda: open_run(tmp_path / "r.h5", kit.header([]), resume=True), lambda: recover_journal(journal)):
        with pytest.raises(InputError, match="is not a journal"):
            call()
    assert journal.read_text() == "my notes\n"


def test_the_disk_has_it_within_a_second(tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first point is synced at once, the next ones by the timer although nothing more is appended."""
    synced: list[float] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_size)
        real(descriptor)

    plan = kit.points(4)
    with open_run(tmp_path / "r.h5", kit.header(plan), resume=False) as writer:
        monkeypatch.setattr(os, "fsync", fsync)
        for point in plan:
            writer.append(kit.measured(point))
        size = journal_path(writer.path).stat().st_size
        assert synced == [] or synced[-1] < size, "a burst of points does not wait for the disk"
        deadline = time.monotonic() + 20
        while (not synced or synced[-1] < size) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert synced[-1] == size
        assert len(synced) <= 2


def test_a_slow_run_syncs_with_every_point(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    with open_run(tmp_path / "r.h5", kit.header(kit.points(3)), resume=False) as writer:
        clock = [time.monotonic()]
        monkeypatch.setattr(time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
        for point in kit.points(3):
            clock[0] += 5
            writer.append(kit.measured(point))
            assert synced[-1] == journal_path(writer.path).stat().st_size
        monkeypatch.undo()
    assert len(synced) == 3


def test_a_live_journal_can_be_recovered_elsewhere(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(kit.points(2)), resume=False) as writer:
        writer.append(kit.measured(kit.points(2)[0]))
        assert recover_journal(journal_path(path), tmp_path / "now.h5").completeness == (1, 2)
        with pytest.raises(InputError, match="another process is writing it"):
            recover_journal(journal_path(path))
        writer.append(kit.measured(kit.points(2)[1]))
    assert load_results(path).completeness == (2, 2)


def test_text_of_a_record_is_json_that_any_tool_reads(tmp_path: Path, kit: SimpleNamespace) -> None:
    import json

    path = tmp_path / "r.h5"
    written(path, kit, 1)
    with journal_path(path).open("rb") as opened:
        session, point = [json.loads(f.text) for f in scan(opened.fileno(), len(TITLE))]
    assert (session["type"], session["version"], session["header"]["run_id"]) == ("session", 2, "run-1")
    assert point["point"] == ["gemm", "numpy", {"m": 0, "dtype": "float32"}, 1, 0]
    assert (point["columns"], point["count"], point["ranks"]) == (["time_s", "host_s"], 5, None)


def test_reading_a_journal_changes_nothing(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    starts = written(path, kit)
    os.truncate(journal_path(path), starts[-1] - 3)
    before = journal_path(path).read_bytes()
    assert len(load_journal(journal_path(path)).stored) == 5
    assert journal_path(path).read_bytes() == before
