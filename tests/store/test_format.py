"""The file as others see it: h5dump and h5py alone read it, and its version is told and minded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from sprintprof.records import InputError, Point
from sprintprof.store import HISTORY, SCHEMA_VERSION, journal_path, load_results, open_run, write_results
from sprintprof.store.codec import point_to_json, session_to_json
from sprintprof.store.frames import pack
from sprintprof.store.schema import unit_of
from sprintprof.store.seal import BLOCK_BYTES, block, write_seal
from sprintprof.store.text import to_json

DOCUMENT = Path(__file__).parents[2] / "docs" / "formats-results.md"


@pytest.fixture
def path(tmp_path: Path, kit: SimpleNamespace) -> Path:
    """Two kernels and one parallel point, measured under two environments."""
    environments = [{"host": "n1", "cpu": "x" * 70_000}, {"host": "n2"}]
    plan = [*kit.points(2), Point("allreduce", "numpy", {"size_bytes": 8, "bytes": 1}, ranks=3)]
    header = kit.header(plan, environments=environments, rank_environment=[0, 1, 0])
    made = [kit.measured(p, samples=2, ranks=p.ranks if p.ranks > 1 else None) for p in plan]
    return write_results(tmp_path / "r.h5", header, made)


def test_h5py_alone_reads_it(path: Path, kit: SimpleNamespace) -> None:
    with h5py.File(path) as file:
        assert file.attrs["schema_version"] == SCHEMA_VERSION
        assert file.attrs["machine"] == "node"
        points, samples = file["benchmarks/gemm/points"], file["benchmarks/gemm/samples"]
        row = points[1]
        expected = kit.measured(kit.points(2)[1], samples=2)
        assert (row["m"], row["dtype"], row["status"], row["median_s"]) == (1, b"float32", b"ok", expected.median_s)
        mine = samples[row["sample_offset"] : row["sample_offset"] + row["sample_count"]]
        assert mine["time_s"].tolist() == expected.samples.time_s.tolist()
        assert (points.attrs["unit.median_s"], samples.attrs["unit.time_s"]) == ("s", "s")
        assert (points.attrs["unit.flop"], points.attrs["unit.m"]) == ("FLOP", "1")
        parallel = file["benchmarks/allreduce/points"][0]
        times = file["benchmarks/allreduce/rank_times_s"]
        assert times[parallel["rank_offset"] :].reshape(-1, parallel["rank_count"]).shape == (2, 3)
        assert times.attrs["unit"] == "s"
        ranks = file["environment/ranks"][:]
        records = [json.loads(text) for text in file["environment/records"][:]]
        assert [records[i]["host"] for i in ranks["record"]] == ["n1", "n2", "n1"]
        assert len(file["plan"]) == 3


def test_columns_come_in_the_documented_order(path: Path) -> None:
    names = load_results(path).points("allreduce").dtype.names
    assert names == (
        "size_bytes", "parameters.bytes", "engine", "ranks", "launch", "flop", "bytes", "median_s", "low_s", "high_s",
        "min_s", "status", "reason", "flags", "sample_offset", "sample_count", "first_s", "stop_reason", "rank_offset",
        "rank_count", "key", "origin", "session", "row_layout", "row_more", "algorithm",
    )  # fmt: skip


def test_h5dump_reads_it(path: Path) -> None:
    if not shutil.which("h5dump"):
        pytest.skip("h5dump is not installed (hdf5-tools)")
    done = subprocess.run(["h5dump", path], capture_output=True, text=True, check=True)
    assert not done.stderr
    for text in ("median_s", '"float32"', '"im2col"', "unit.time_s", "schema_version", "rank_times_s"):
        assert text in done.stdout
    header = subprocess.run(["h5dump", "-H", "-d", "/benchmarks/gemm/points", path], capture_output=True, text=True)
    assert header.returncode == 0
    assert 'H5T_IEEE_F64LE "median_s"' in header.stdout


def test_the_first_lines_say_what_it_is(path: Path) -> None:
    import hashlib

    data = path.read_bytes()
    lines = data[:BLOCK_BYTES].decode().splitlines()
    digest = hashlib.sha256(data[BLOCK_BYTES:]).hexdigest()
    assert lines[:4] == ["sprintprof results", "version 2", f"bytes {len(data)}", f"sha256 {digest}"]
    assert load_results(path).sha256 == hashlib.sha256(data).hexdigest(), "as sha256sum prints it"


def test_environments_that_ranks_share_are_stored_once(tmp_path: Path, kit: SimpleNamespace) -> None:
    shared = {"modules": "m" * 10_000}
    header = kit.header(kit.points(2), environments=[shared], rank_environment=[0] * 64)
    path = tmp_path / "r.h5"
    for run_id in ("run-1", "run-2"):  # the second launch has the same environment
        with open_run(path, kit.header(kit.points(2), run_id, environments=[shared], rank_environment=[0] * 64), True):
            pass
    with h5py.File(path) as file:
        assert len(file["environment/records"]) == 1
        assert len(file["environment/ranks"]) == 128
    results = load_results(path)
    assert [s.environments for s in results.sessions] == [[shared], [shared]]
    assert [s.rank_environment for s in results.sessions] == [header.rank_environment] * 2


def test_two_nodes_whose_names_begin_alike_stay_two(tmp_path: Path, kit: SimpleNamespace) -> None:
    nodes = [{"host": "w.1.example.net"}, {"host": "w.2.example.net"}]
    header = kit.header([], environments=nodes, rank_environment=[0, 1])
    assert load_results(write_results(tmp_path / "r.h5", header, [])).header.environments == nodes


def test_a_newer_version_is_refused_with_the_reason(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(block(SCHEMA_VERSION + 1, len(data), "0" * 64) + data[BLOCK_BYTES:])
    with pytest.raises(InputError, match=r"is of format version 3, this sprintprof reads up to 2; use the newer"):
        load_results(path)


def as_version_1(path: Path, kit: SimpleNamespace) -> None:
    """Rewrite a file of one launch as version 1 had it: one header, no sessions, no columns origin and session."""
    header = load_results(path).header
    with h5py.File(path, "r+") as file:
        file.attrs["schema_version"] = 1
        del file["sessions"]
        del file["environment"]
        file.create_dataset("header", data=[to_json(session_to_json(header))], dtype=h5py.string_dtype())
        for group in file["benchmarks"].values():
            rows, dtype = group["points"][:], group["points"].dtype
            old = np.empty(len(rows), [(n, dtype.fields[n][0]) for n in dtype.names if n not in ("origin", "session")])
            for name in old.dtype.names:
                old[name] = rows[name]
            del group["points"]
            group.create_dataset("points", data=old)
    with path.open("r+b") as opened:
        write_seal(opened.fileno(), version=1)


def test_version_1_loads_and_goes_on(path: Path, kit: SimpleNamespace) -> None:
    present = load_results(path)
    right = {m.key: kit.fingerprint(m) for m in present.measurements}
    as_version_1(path, kit)
    old = load_results(path)
    assert old.version == 1
    assert (old.header, old.sessions) == (present.header, present.sessions)
    assert {m.key: kit.fingerprint(m) for m in old.measurements} == right
    assert old.points("gemm").tolist() != []
    extra = kit.points(3)[2]
    with open_run(path, kit.header([extra], run_id="run-2"), resume=True) as writer:
        writer.append(kit.measured(extra))
    new = load_results(path)
    assert new.version == SCHEMA_VERSION
    assert {m.key: kit.fingerprint(m) for m in new.measurements} == right | {
        extra.key: kit.fingerprint(kit.measured(extra))
    }


def test_a_journal_of_version_1_goes_on(tmp_path: Path, kit: SimpleNamespace) -> None:
    path = tmp_path / "r.h5"
    plan = kit.points(2)
    header = kit.header(plan)
    journal = journal_path(path)
    with open_run(path, header, resume=False) as writer:
        writer.append(kit.measured(plan[0]))
        text, arrays = _point_record(journal)
    path.unlink()
    session = {"type": "session", "version": 1, "plan": [point_to_json(p) for p in plan]}
    session["header"] = session_to_json(header)
    del text["session"]
    journal.write_bytes(
        b"sprintprof journal 1\n" + pack(0, to_json(session).encode(), b"") + pack(1, to_json(text).encode(), arrays)
    )
    with open_run(path, kit.header([], run_id="run-2"), resume=True) as writer:
        assert [p.key for p in writer.pending()] == [plan[1].key]
        writer.append(kit.measured(plan[1]))
    results = load_results(path)
    assert [results.session(p.key).run_id for p in plan] == ["run-1", "run-2"]
    assert [kit.fingerprint(results.get(p.key)) for p in plan] == [kit.fingerprint(kit.measured(p)) for p in plan]


def _point_record(journal: Path) -> tuple[dict, bytes]:
    from sprintprof.store.frames import scan
    from sprintprof.store.journal import TITLE

    with journal.open("rb") as opened:
        frame = list(scan(opened.fileno(), len(TITLE)))[1]
        opened.seek(frame.arrays_offset)
        return json.loads(frame.text), opened.read(frame.arrays_bytes)


def test_the_history_is_documented() -> None:
    assert sorted(HISTORY) == list(range(1, SCHEMA_VERSION + 1))
    text = DOCUMENT.read_text().partition("## Version and history")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| (\d+) \| (.*) \|$", text, re.MULTILINE))
    assert told == {str(version): what for version, what in HISTORY.items()}


def test_units_follow_from_names() -> None:
    units = {
        name: unit_of(name) for name in ("median_s", "bandwidth_Bps", "flop", "bytes", "size_bytes", "m", "power_W")
    }
    assert list(units.values()) == ["s", "B/s", "FLOP", "B", "B", "1", "W"]


def test_the_same_content_gives_the_same_bytes(tmp_path: Path, kit: SimpleNamespace) -> None:
    made = [kit.measured(p) for p in kit.points(3)]
    a, b = (write_results(tmp_path / n, kit.header(kit.points(3)), made).read_bytes() for n in ("a.h5", "b.h5"))
    assert a == b
