"""More than 2,000 damaged files: each is refused in one line or read right; never a traceback, a hang or a wrong value.

Damage to a results file is caught by its seal before HDF5 reads it. Files that were *made* wrong (their seal is good)
are refused by what is in them: swapped types, huge counts, links to elsewhere.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from sprintprof.records import InputError, Measurement, Point
from sprintprof.store import Results, journal_path, load_results, open_run, recover_journal, write_results
from sprintprof.store.frames import HEAD_BYTES, Frame, pack, scan
from sprintprof.store.journal import TITLE, load_journal
from sprintprof.store.schema import FIXED_COLUMNS
from sprintprof.store.seal import write_seal

LIMIT_S = 5.0
LIMIT_BYTES = 1 << 30


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """No test of this file may take 1 GiB more than it had."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < LIMIT_BYTES


def made(kit: SimpleNamespace) -> list[Measurement]:
    """Points of two benchmarks with every kind of value."""
    mixed = Point("conv", "numpy", {"n": 4, "layout": "nchw", "pad": True, "scale": 0.5})
    parallel = [kit.measured(p, samples=3, ranks=4) for p in kit.points(3, "allreduce", ranks=4)]
    failed = Measurement(kit.points(5)[4], "failed", "out of memory")
    return [*(kit.measured(p) for p in kit.points(4)), failed, kit.measured(mixed, flags=("noisy",)), *parallel]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, kit: SimpleNamespace) -> bytes:
    """A whole results file."""
    path = tmp_path_factory.mktemp("good") / "r.h5"
    return write_results(path, kit.header(kit.points(6)), made(kit)).read_bytes()


def everything(results: Results) -> dict[str, Measurement]:
    """Read all there is."""
    str(results.completeness)
    for name in results.benchmarks:
        results.points(name)
    return {m.key: m for m in results.measurements}


def mutations(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Cuts, flips, overwritten, repeated, removed and inserted stretches."""
    rng = random.Random(seed)
    for i in range(count):
        spoiled = bytearray(data)
        at = rng.randrange(len(data))
        length = min(rng.choice([1, 8, 100, 4096]), len(data) - at)
        kind = ("flip", "cut", "zeros", "noise", "remove", "insert", "repeat", "ones")[i % 8]
        match kind:
            case "flip":
                spoiled[at] ^= 1 << rng.randrange(8)
            case "cut":
                del spoiled[at:]
            case "zeros":
                spoiled[at : at + length] = bytes(length)
            case "ones":
                spoiled[at : at + length] = b"\xff" * length
            case "noise":
                spoiled[at : at + length] = rng.randbytes(length)
            case "remove":
                del spoiled[at : at + length]
            case "insert":
                spoiled[at:at] = rng.randbytes(length)
            case "repeat":
                spoiled[at:at] = spoiled[at : at + length]
        yield f"{kind} at {at}, {length} bytes", bytes(spoiled)


def in_time(what: str, call: Callable[[], Any]) -> Any:
    """The call's value, or the InputError it raised; anything else raised fails the test."""
    began_s = time.monotonic()
    try:
        outcome = call()
    except InputError as error:
        outcome = error
    assert time.monotonic() - began_s < LIMIT_S, what
    if isinstance(outcome, InputError):
        assert len(str(outcome).splitlines()) == 1, what
    return outcome


def test_damaged_results_files(tmp_path: Path, good: bytes) -> None:
    data = good
    target = tmp_path / "damaged.h5"
    spoiled = list(mutations(data, 900, seed=1))
    spoiled += [(f"cut to {n}", data[:n]) for n in (0, 1, 8, 96, 511, 512, 513, len(data) - 1)]
    spoiled += [(f"flip in the seal at {i}", data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]) for i in range(512)]
    changed = [(what, content) for what, content in spoiled if content != data]
    assert len(changed) > 1300
    for what, content in changed:
        target.write_bytes(content)
        outcome = in_time(what, lambda: everything(load_results(target)))
        assert isinstance(outcome, InputError), what
        assert str(target) in str(outcome)


def test_damaged_journals(tmp_path: Path, kit: SimpleNamespace) -> None:
    """What is recovered is right to the bit; what is lost is told, or is the unfinished end."""
    path = tmp_path / "r.h5"
    records = made(kit)
    with_closed = open_run(path, kit.header(kit.points(6)), resume=False)
    for measurement in records:
        with_closed.append(measurement)
    with_closed.close()
    data = journal_path(path).read_bytes()
    right = {m.key: kit.fingerprint(m) for m in records}
    order = [m.key for m in records]
    target = tmp_path / "d.h5.journal"
    partly = 0
    for what, content in mutations(data, 600, seed=2):
        target.write_bytes(content)
        outcome = in_time(what, lambda: load_journal(target))
        if isinstance(outcome, InputError):
            continue
        found = {key: stored.measurement() for key, stored in outcome.stored.items()}
        assert {k: kit.fingerprint(m) for k, m in found.items()} == {k: right[k] for k in found}, what
        lost = [key for key in order if key not in found]
        assert lost == order[len(order) - len(lost) :] or outcome.damages, what
        partly += bool(lost)
    assert partly > 60


def test_records_made_wrong(tmp_path: Path, kit: SimpleNamespace) -> None:
    """Frames whose checksums are good and whose content is not: told as damage, the other records kept."""
    path = tmp_path / "r.h5"
    with_closed = open_run(path, kit.header([]), resume=False)
    for measurement in made(kit)[:2]:
        with_closed.append(measurement)
    with_closed.close()
    journal = journal_path(path)
    with journal.open("rb") as opened:
        frames = [f for f in scan(opened.fileno(), len(TITLE)) if isinstance(f, Frame)]
        session, point = (json.loads(f.text) for f in frames[:2])
        arrays = os.pread(opened.fileno(), frames[1].arrays_bytes, frames[1].arrays_offset)
    good = journal.read_bytes()
    junk = [None, True, -1, 1.5, "x", [], {}, 10**30, [[]], {"a": []}, ["x", "x"], [None], 2**62]
    texts = [json.dumps(point | {field: value}).encode() for field in point for value in junk]
    texts += [json.dumps({k: v for k, v in point.items() if k != field}).encode() for field in point]
    texts += [json.dumps(session | {f: v}).encode() for f in ("id", "version", "plan", "header") for v in junk]
    texts += [
        json.dumps(session | {"header": session["header"] | {f: v}}).encode() for f in session["header"] for v in junk
    ]
    texts += [b"", b"{", b"[" * 100_000, b"\xff", b"null", b"1" * 5000, json.dumps({"type": "point"}).encode()]
    for text in texts:
        for raw in (arrays, arrays[:-8]):
            journal.write_bytes(good + pack(3, text, raw))
            outcome = in_time(text.decode(errors="replace")[:200], lambda: load_journal(journal))
            if isinstance(outcome, InputError):
                assert "newer" in str(outcome)
                continue
            for stored in outcome.stored.values():
                stored.measurement()
            assert len(outcome.stored) >= 2
            assert outcome.damages or raw == arrays or json.loads(text)["type"] == "session"


Change = Callable[[h5py.File], None]


def replaced(name: str, **create: Any) -> Change:
    """Put another dataset in the place of one."""

    def change(file: h5py.File) -> None:
        attributes = dict(file[name].attrs)
        del file[name]
        dataset = file.create_dataset(name, **create)
        for key, value in attributes.items():
            dataset.attrs[key] = value

    return change


def linked(name: str, link: Any) -> Change:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = link

    return change


def grouped(file: h5py.File) -> None:
    del file["plan"]
    file.create_group("plan")


def virtual(file: h5py.File) -> None:
    """A virtual dataset whose source is gone reads as zeros without an error."""
    name = "benchmarks/gemm/samples"
    shape, dtype = file[name].shape, file[name].dtype
    layout = h5py.VirtualLayout(shape, dtype)
    layout[:] = h5py.VirtualSource("gone.h5", "samples", shape, dtype)
    del file[name]
    file.create_virtual_dataset(name, layout)


def resampled(names: list[str] | None, dtype: str = "<f8") -> Change:
    """As many samples, with other columns or of another type."""

    def apply(file: h5py.File) -> None:
        rows = len(file["benchmarks/gemm/samples"])
        kind = np.dtype([(name, dtype) for name in names]) if names else np.dtype(dtype)
        replaced("benchmarks/gemm/samples", data=np.ones(rows, kind))(file)

    return apply


def column(name: str, change: Callable[[np.ndarray], Any], dtype: Any = None) -> Change:
    """Change a column of the gemm points, and its type if one is given."""

    def apply(file: h5py.File) -> None:
        table = file["benchmarks/gemm/points"]
        rows = table[:]
        fields = [(n, dtype if n == name and dtype else table.dtype.fields[n][0]) for n in table.dtype.names]
        changed = np.empty(len(rows), fields)
        for n in table.dtype.names:
            if n != name or not dtype:
                changed[n] = rows[n]
        changed[name] = change(rows[name])
        replaced("benchmarks/gemm/points", data=changed)(file)

    return apply


def without(name: str) -> Change:
    def apply(file: h5py.File) -> None:
        table = file["benchmarks/gemm/points"]
        rows = table[:]
        kept = np.empty(len(rows), [(n, table.dtype.fields[n][0]) for n in table.dtype.names if n != name])
        for n in kept.dtype.names:
            kept[n] = rows[n]
        replaced("benchmarks/gemm/points", data=kept)(file)

    return apply


def texts(name: str, *values: str) -> Change:
    return replaced(name, data=list(values), dtype=h5py.string_dtype(), shape=(len(values),))


TABLES = ["plan", "sessions", "environment/records", "environment/ranks"]
TABLES += [f"benchmarks/gemm/{name}" for name in ("points", "layouts", "samples", "rank_times_s")]
HUGE = 10**12
JUNK = ["", "null", "{}", "[]", "[" * 100_000, '"x"', "1e999", "[1,2,3,4,5]", "\ufffd", "1" * 5000, '{"parameters": 1}']
COUNTS = ["sample_offset", "sample_count", "rank_offset", "rank_count", "session", "row_layout", "ranks", "launch"]


def changes() -> Iterator[tuple[str, Change]]:
    text = h5py.string_dtype()
    for name in TABLES:
        yield f"{name} of floats", replaced(name, data=np.ones(3))
        yield f"{name} of texts", texts(name, "x", "y")
        yield f"{name} empty", replaced(name, data=h5py.Empty("f8"))
        yield f"{name} scalar", replaced(name, data=1)
        yield f"{name} in two dimensions", replaced(name, data=np.ones((2, 2)))
        yield f"{name} chunked and huge", replaced(name, shape=(HUGE,), dtype="f8", chunks=(1024,))
        yield (
            f"{name} huge",
            replaced(name, shape=(10**15,), dtype="f8", external=[("gone.bin", 0, h5py.h5f.UNLIMITED)]),
        )
        yield f"{name} elsewhere", linked(name, h5py.ExternalLink("gone.h5", "/x"))
        yield f"{name} linked softly", linked(name, h5py.SoftLink("/environment/records"))
        yield f"{name} linked to itself", linked(name, h5py.SoftLink(f"/{name}"))
        for junk in JUNK if name != "environment/records" else [j for j in JUNK if "{" not in j]:
            yield f"{name} of junk {junk[:20]}", texts(name, junk)
    yield "plan as a group", grouped
    yield "virtual samples", virtual
    yield "samples without names", resampled(None)
    yield "samples without a column", resampled(["time_s"])
    yield "samples of float32", resampled(["time_s", "host_s"], "<f4")
    yield "no benchmarks", lambda file: file.__delitem__("benchmarks")
    yield "no environment", lambda file: file.__delitem__("environment")
    yield "no version", lambda file: file.attrs.__delitem__("schema_version")
    yield "version as text", lambda file: file.attrs.__setitem__("schema_version", "two")
    yield "another version", lambda file: file.attrs.__setitem__("schema_version", 1)
    yield "benchmark without its name", lambda file: file["benchmarks/gemm"].attrs.__delitem__("benchmark")
    yield "benchmark under another name", lambda file: file["benchmarks/gemm"].attrs.__setitem__("benchmark", "x")
    for name in FIXED_COLUMNS:
        yield f"no column {name}", without(name)
        yield f"column {name} of int32", column(name, lambda c: 1, "<i4")
        yield f"column {name} of big-endian floats", column(name, lambda c: 1, ">f8")
        yield f"column {name} of texts", column(name, lambda c: "7", text) if name in COUNTS else without(name)
    for name in COUNTS:
        for value in (-1, 2**62, 2**63 - 1, 10**9):
            if (name, value) not in {("rank_offset", 10**9), ("rank_count", 10**9)}:
                yield f"column {name} = {value}", column(name, lambda c, value=value: value)
    yield "status of another word", column("status", lambda c: b"fine")
    yield "keys all the same", column("key", lambda c: c[0])
    yield "key of another point", column("key", lambda c: np.roll(c, 1))
    yield "a parameter changed", column("m", lambda c: c + 1)
    yield "a parameter of references", column("m", lambda c: None, h5py.ref_dtype)
    yield "text that is not UTF-8", column("reason", lambda c: b"\xff\xfe")


def test_files_made_wrong(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "r.h5"
    accepted = []
    for what, change in changes():
        path.write_bytes(good)
        with h5py.File(path, "r+") as file:
            change(file)
        with path.open("r+b") as opened:
            write_seal(opened.fileno())
        outcome = in_time(what, lambda: everything(load_results(path)))
        if not isinstance(outcome, InputError) or str(path) not in str(outcome):
            accepted.append(what)
    assert accepted == []


def test_no_rank_times_no_rank_columns(tmp_path: Path, good: bytes, kit: SimpleNamespace) -> None:
    """Where a point has no rank times, what its rank columns say is of no account."""
    path = tmp_path / "r.h5"
    path.write_bytes(good)
    right = {m.key: kit.fingerprint(m) for m in made(kit)}
    with h5py.File(path, "r+") as file:
        column("rank_offset", lambda c: 0)(file)
    with path.open("r+b") as opened:
        write_seal(opened.fileno())
    assert {k: kit.fingerprint(m) for k, m in everything(load_results(path)).items()} == right


KILLED_WRITERS = """
import os, sys, h5py, numpy
for how in ("killed", "killed, flushed", "killed, latest", "killed, latest, flushed"):
    if os.fork() == 0:
        file = h5py.File(f"{sys.argv[1]}/{how}.h5", "w", libver="latest" if "latest" in how else "earliest")
        file["x"] = numpy.arange(1000)
        if "flushed" in how:
            file.flush()
        os._exit(0)
    os.wait()
"""


def test_files_of_other_writers_are_refused(tmp_path: Path) -> None:
    """Without our seal nothing vouches for the content, however HDF5 itself would take it (U36, U37, U38)."""
    subprocess.run([sys.executable, "-c", KILLED_WRITERS, tmp_path], check=True)
    for name in ("whole", "cut"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["x"] = np.arange(1000)
            file.attrs["schema_version"] = 2
    os.truncate(tmp_path / "cut.h5", 96)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 6
    for path in files:
        with pytest.raises(InputError, match=r"without sprintprof's seal|is empty|is not a results file"):
            load_results(path)


@pytest.mark.parametrize("content", [b"", b"\0" * 600, b"text\n", b"sprintprof results\n", b"{}", b"\x89HDF\r\n\x1a\n"])
def test_files_of_another_kind(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.h5"
    path.write_bytes(content)
    with pytest.raises(InputError, match=str(path)):
        load_results(path)
    with pytest.raises(InputError):
        recover_journal(path)


def test_a_good_head_with_a_huge_length_reads_nothing(tmp_path: Path, kit: SimpleNamespace) -> None:
    """A frame that claims more bytes than the file has is unfinished, not a reason to make room for them."""
    frame = pack(0, b"{}", b"")
    import struct
    import zlib

    head = struct.pack("<4sIIQI", b"\xf5SP\x1a", 0, 2**32 - 1, 2**63, 0)
    path = tmp_path / "r.h5.journal"
    path.write_bytes(TITLE + head + struct.pack("<I", zlib.crc32(head)) + frame[HEAD_BYTES:])
    content = load_journal(path)
    assert (content.sessions, content.stored, content.end) == ({}, {}, len(TITLE))
