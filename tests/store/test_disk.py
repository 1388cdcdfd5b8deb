"""Full disks, read-only folders, devices and locks that fail: one clear line, and the data safe where it says."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sprintprof.records import InputError, Measurement, PartialError, RunHeader, SprintprofError
from sprintprof.store import (
    RunWriter,
    journal_path,
    load_results,
    merge_results,
    open_run,
    recover_journal,
    write_results,
)
from sprintprof.store.hdf5_write import _Outlet
from sprintprof.store.lock import _boot_id


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """No file may grow beyond the limit; the system answers errno 27 as it answers 28 on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, path: Path, after: int = 0) -> None:
    """Let os.<name> fail with errno `number` on the descriptors of `path`, from call `after` on."""
    real = getattr(os, name)
    calls = [0]

    def fail(descriptor: int, *arguments: Any) -> Any:
        if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
            calls[0] += 1
            if calls[0] > after:
                raise OSError(number, os.strerror(number))
        return real(descriptor, *arguments)

    monkeypatch.setattr(os, name, fail)


def one_line(error: Exception) -> str:
    text = str(error)
    assert len(text.splitlines()) == 1
    return text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_the_journal_cannot_grow(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "r.h5"
    plan = kit.points(4)
    with pytest.raises(PartialError) as caught:
        run_into(path, kit, monkeypatch, number)
    text = one_line(caught.value)
    assert f"errno {number}" in text
    assert f"2 of 4 points are safe in {journal_path(path)}" in text
    assert f"run --resume {path}" in text
    monkeypatch.undo()
    with open_run(path, kit.header([], run_id="run-2"), resume=True) as writer:
        assert writer.damages == []
        assert [p.key for p in writer.pending()] == [p.key for p in plan[2:]]


def run_into(path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A run whose third point meets the error."""
    with open_run(path, kit.header(kit.points(4)), resume=False) as writer:
        writer.append(kit.measured(kit.points(4)[0]))
        writer.append(kit.measured(kit.points(4)[1]))
        failing(monkeypatch, "write", number, journal_path(path))
        writer.append(kit.measured(kit.points(4)[2]))


def test_half_a_record_is_taken_back(tmp_path: Path, kit: SimpleNamespace) -> None:
    """The disk takes some bytes of a record and no more; when there is room again the run could go on."""
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(kit.points(2)), resume=False) as writer:
        size = journal_path(path).stat().st_size
        with file_size_limit(size + 100), pytest.raises(PartialError, match="errno 27"):
            writer.append(kit.measured(kit.points(2)[0], samples=1000))
        assert journal_path(path).stat().st_size == size
        writer.append(kit.measured(kit.points(2)[1]))
        assert writer.damages == []
    assert load_results(path).completeness == (1, 2)


@pytest.mark.parametrize("limit_bytes", [0, 100, 600, 4096, 9000, 30_000, 100_000])
def test_the_results_file_finds_no_room(tmp_path: Path, kit: SimpleNamespace, limit_bytes: int) -> None:
    """Wherever in the file the disk is full: the journal and the older file stay as they were, nothing is left over."""
    path = tmp_path / "r.h5"
    plan = kit.points(30)
    with open_run(path, kit.header(plan), resume=False) as writer:
        writer.append(kit.measured(plan[0]))
    before = path.read_bytes()
    writer = open_run(path, kit.header([], run_id="run-2"), resume=True)
    for point in plan[1:]:
        writer.append(kit.measured(point, samples=300))
    with file_size_limit(limit_bytes), pytest.raises(PartialError) as caught:
        writer.finish()
    text = one_line(caught.value)
    assert "errno 27" in text
    assert f"30 of 30 points are safe in {journal_path(path)} and {path}" in text
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.h5", "r.h5.journal"]
    assert writer.finish() == path, "with room again it can be finished"
    writer.close()
    assert load_results(path).completeness == (30, 30)


def append_all(writer: RunWriter, measurements: list[Measurement]) -> None:
    for measurement in measurements:
        writer.append(measurement)


def test_a_full_disk_for_real(kit: SimpleNamespace) -> None:
    """A file system of 256 KiB."""
    folder = Path(tempfile.mkdtemp())
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        folder.rmdir()
        pytest.skip("no right to mount a small file system")
    path = folder / "r.h5"
    plan = kit.points(100)
    try:
        writer = open_run(path, kit.header(plan), resume=False)
        with pytest.raises(PartialError, match="errno 28") as caught:
            append_all(writer, [kit.measured(point, samples=300) for point in plan])
        done = len(writer.measurements)
        assert f"{done} of 100 points are safe" in one_line(caught.value)
        with pytest.raises(PartialError, match="errno 28"):
            writer.finish()
        writer.close()
        assert sorted(p.name for p in folder.iterdir()) == ["r.h5.journal"]
        with tempfile.TemporaryDirectory() as elsewhere:
            assert recover_journal(journal_path(path), Path(elsewhere) / "r.h5").completeness == (done, 100)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()
    assert done > 20


def test_the_disk_fails_at_fsync(tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that only the timer's thread saw reaches the next append."""
    path = tmp_path / "r.h5"
    writer = open_run(path, kit.header(kit.points(3)), resume=False)
    writer.append(kit.measured(kit.points(3)[0]))
    failing(monkeypatch, "fsync", errno.EIO, journal_path(path))
    writer.append(kit.measured(kit.points(3)[1]))
    writer._journal._sync_late()
    with pytest.raises(PartialError, match=r"input/output error of the device \(errno 5\)"):
        writer.append(kit.measured(kit.points(3)[2]))
    assert writer.finish() == path, "the results file is a new one, with an fsync of its own"
    writer.close()
    assert load_results(path).completeness == (2, 3)


def test_the_results_file_cannot_be_synced(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.h5"
    writer = open_run(path, kit.header(kit.points(1)), resume=False)
    writer.append(kit.measured(kit.points(1)[0]))
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".part"):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(PartialError, match=r"errno 5\); 1 of 1 points are safe in"):
        writer.finish()
    writer.close()
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5.journal"]


def test_hdf5_never_sees_the_error(tmp_path: Path) -> None:
    """After the first failure all goes on in memory: HDF5 reads back what it wrote, and the error is told later."""

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            if self.tell() >= 5:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(bytes(data)[:3])

    with Full(tmp_path / "x", "w+b") as raw:
        outlet = _Outlet(raw)
        assert outlet.write(b"12345678") == 8
        assert outlet.write(b"9") == 1
        outlet.seek(2)
        assert outlet.write(b"xy") == 2
        outlet.seek(0)
        assert outlet.read(20) == b"12xy56789"
        assert outlet.truncate(4) == 4
        assert outlet.error is not None
        assert outlet.error.errno == errno.ENOSPC


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may reach, unlike tmp_path."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def without_rights() -> Iterator[None]:
    """Root may write everywhere: be nobody for a while."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_folder_that_cannot_be_written(open_folder: Path, kit: SimpleNamespace) -> None:
    kit.header([])
    open_folder.chmod(0o555)
    with without_rights():
        for path in (open_folder / "r.h5", open_folder / "new" / "r.h5"):
            for resume in (False, True):
                with pytest.raises(InputError, match=r"permission denied \(errno 13\)"):
                    open_run(path, kit.header([]), resume)
            with pytest.raises(PartialError, match=r"permission denied \(errno 13\)"):
                write_results(path, kit.header([]), [])
    assert list(open_folder.iterdir()) == []


def test_a_file_that_cannot_be_read(open_folder: Path, kit: SimpleNamespace) -> None:
    path = write_results(open_folder / "r.h5", kit.header([]), [])
    path.chmod(0)
    with without_rights(), pytest.raises(InputError, match=r"cannot be read: permission denied \(errno 13\)"):
        load_results(path)


def test_a_folder_that_cannot_be_entered(open_folder: Path, kit: SimpleNamespace) -> None:
    path = open_folder / "shut" / "r.h5"
    path.parent.mkdir(mode=0)
    journal = journal_path(path)
    with without_rights():
        calls: list[Callable[[], Any]] = [
            lambda: load_results(path),
            lambda: open_run(path, kit.header([]), resume=True),
            lambda: open_run(path, kit.header([]), resume=False),
            lambda: write_results(path, kit.header([]), []),
            lambda: recover_journal(journal),
            lambda: merge_results([path], open_folder / "all.h5"),
        ]
        for call in calls:
            with pytest.raises(SprintprofError) as caught:
                call()
            assert "errno 13" in one_line(caught.value) or "no such journal" in one_line(caught.value)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_folders_that_cannot_be_synced_are_no_error(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    failing(monkeypatch, "fsync", number, tmp_path)
    with open_run(tmp_path / "r.h5", kit.header([]), resume=False):
        pass
    assert load_results(tmp_path / "r.h5").completeness == (0, 0)


def test_a_folder_in_the_way(tmp_path: Path, kit: SimpleNamespace) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        open_run(tmp_path / "file" / "r.h5", kit.header([]), resume=False)
    (tmp_path / "r.h5.journal").mkdir()
    with pytest.raises(InputError, match="cannot be written: it is a folder"):
        open_run(tmp_path / "r.h5", kit.header([]), resume=True)
    with pytest.raises(InputError, match="is not a journal"):
        recover_journal(tmp_path / "r.h5.journal")


def test_the_first_record_finds_no_room(tmp_path: Path, kit: SimpleNamespace) -> None:
    with file_size_limit(100), pytest.raises(InputError, match=r"cannot be written: .*errno 27"):
        open_run(tmp_path / "r.h5", kit.header(kit.points(10)), resume=False)
    assert list(tmp_path.iterdir()) == []


def refuse_locks(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


def test_errno_11_names_the_other_writer_as_the_reason(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_locks(monkeypatch, errno.EAGAIN)
    with pytest.raises(InputError, match=r"another process is writing it \(errno 11\).*nothing was changed"):
        open_run(tmp_path / "r.h5", kit.header([]), resume=True)


def test_errno_5_at_the_lock(tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_locks(monkeypatch, errno.EIO)
    with pytest.raises(InputError, match=r"cannot be locked: input/output error of the device \(errno 5\)"):
        open_run(tmp_path / "r.h5", kit.header([]), resume=False)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_where_no_locks_are_granted_a_lock_file_stands_in(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    refuse_locks(monkeypatch, number)
    path = tmp_path / "r.h5"
    with open_run(path, kit.header(kit.points(1)), resume=False) as writer:
        with pytest.raises(InputError, match=rf"process {os.getpid()} on .* is writing it; if it has ended, remove"):
            open_run(path, kit.header([]), resume=True)
        writer.append(kit.measured(kit.points(1)[0]))
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]
    assert load_results(path).completeness == (1, 1)


@pytest.mark.parametrize(
    ("owner", "taken"),
    [
        ("{boot} {dead} here", False),
        ("{boot} {alive} here", True),
        ("another-boot {dead} elsewhere", True),
        ("", True),
        ("x", True),
        ("{boot} ² here", True),
    ],
)
def test_a_lock_file_that_a_kill_left(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, owner: str, taken: bool
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    refuse_locks(monkeypatch, errno.ENOLCK)
    path = tmp_path / "r.h5"
    lock = tmp_path / "r.h5.journal.lock"
    lock.write_text(owner.format(boot=_boot_id(), dead=ended.pid, alive=os.getpid()))
    if taken:
        with pytest.raises(InputError, match=f"if it has ended, remove {lock}"):
            open_run(path, kit.header([]), resume=True)
        assert lock.exists()
        assert not journal_path(path).exists() or journal_path(path).stat().st_size == 0
        return
    with open_run(path, kit.header([]), resume=True):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]


def test_samples_that_cannot_be_read_any_more(
    tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_results(tmp_path / "r.h5", kit.header([]), [kit.measured(kit.points(1)[0])])
    results = load_results(path)
    failing(monkeypatch, "pread", errno.EIO, path)
    with pytest.raises(InputError, match=r"r\.h5: its samples cannot be read: input/output error"):
        list(results.measurements)
    with pytest.raises(InputError, match=r"cannot be read: input/output error"):
        load_results(path)


def test_no_lock_is_asked_for_reading(tmp_path: Path, kit: SimpleNamespace) -> None:
    """A reader beside a lock that somebody holds on the results file itself (U35)."""
    path = write_results(tmp_path / "r.h5", kit.header([]), [])
    with path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert isinstance(load_results(path).header, RunHeader)


def test_no_hardlinks_no_matter(tmp_path: Path, kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*arguments: Any, **keywords: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    write_results(tmp_path / "r.h5", kit.header([]), [])
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]
    with pytest.raises(InputError, match="exists already"):
        write_results(tmp_path / "r.h5", kit.header([]), [])
