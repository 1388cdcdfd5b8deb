"""Damaged logs: what could not be read is named, what was read is right, the state says which it is."""

from __future__ import annotations

import random
from pathlib import Path

import made_logs
import pytest
from import_helpers import Reader, one
from mutations import mutate, printed, problems, values

from sprintprof.importers.collect import import_logs, lines_of
from sprintprof.importers.lines import LONGEST_LINE, read_blocks
from sprintprof.importers.log import Log
from sprintprof.importers.options import Options

LATENCY = made_logs.osu_latency()


@pytest.mark.parametrize("name", made_logs.LOGS)
def test_mutated_logs(name: str, tmp_path: Path) -> None:
    """A few of the kind that tests/benchmarks/import_mutations.py makes 10,000 of."""
    rng, path = random.Random(name), tmp_path / "made.log"
    path.write_text(made_logs.LOGS[name][0])
    known = values(path) | printed(made_logs.LOGS[name][0])
    for _ in range(6):
        path.write_bytes(mutate(made_logs.LOGS[name][0], rng))
        assert problems(path, known) == []


@pytest.mark.parametrize("raw", [
    LATENCY.replace("\n", "\r\n").encode(), LATENCY.replace("\n", "\r").encode(), b"\xef\xbb\xbf" + LATENCY.encode(),
    LATENCY.encode("utf-16"), ("Größe\n" + LATENCY).encode("latin-1"), b"\0" * 3000 + b"\n" + LATENCY.encode() + b"\0" * 3000,
    "".join(f"\x1b[32m{line}\x1b[0m\n" for line in LATENCY.splitlines()).encode(),
    "".join(f"2024-03-01T12:00:00.123Z {line}\n" for line in LATENCY.splitlines()).encode(),
    "".join(f"[0] {line}\n" for line in LATENCY.splitlines()).encode(), "".join(f"0: {line}\n" for line in LATENCY.splitlines()).encode(),
], ids=["crlf", "cr", "bom", "utf16", "latin1", "nul", "colours", "timestamps", "ranks", "labels"])  # fmt: skip
def test_encodings_and_tags(read: Reader, raw: bytes) -> None:
    job = read(raw)
    assert [(f.rows, f.state) for f in job.report.files] == [(24, "ok")], list(lines_of(job.report))
    assert one(job, size_bytes=1024).median_s == pytest.approx(1.59e-6)


def test_lines_keep_their_numbers(read: Reader) -> None:
    assert one(read("a\n\nb\n" + LATENCY), size_bytes=0).extra["line"] == 6


def test_a_cut_number_is_no_number(read: Reader) -> None:
    """A row that ends early would be another value: 24037.1 for 24037.14."""
    text = made_logs.osu_bandwidth()
    whole = text.splitlines()[-1]
    for cut in range(1, len(whole)):
        job = read(text[: len(text) - 1 - cut])
        assert all(m.point.parameters["size_bytes"] != 1 << 22 for m in job.measurements)
        assert job.report.files[0].state == "partial"


def test_a_row_without_its_begin_is_noticed(read: Reader) -> None:
    text = LATENCY.replace("\n65536 ", "\n536 ")
    job = read(text)
    assert job.report.files[0].state == "partial"
    assert job.report.files[0].troubles[0].text.startswith("536 ")
    assert 536 not in {m.point.parameters["size_bytes"] for m in job.measurements}


def test_truncated_aborted_and_empty_tables(read: Reader) -> None:
    short = read(
        "".join(LATENCY.splitlines(keepends=True)[:10]) + "mpirun noticed that process rank 1 exited on signal 11\n"
    )
    assert (short.report.files[0].rows, short.report.files[0].state) == (8, "partial")
    assert "exited on signal 11" in " ".join(lines_of(short.report))
    wanted = read("osu_latency -m 64\n" + "".join(LATENCY.splitlines(keepends=True)[:10]))
    assert wanted.report.files[0].state == "ok"  # 64 bytes is where its option ends it
    empty = read("\n".join(LATENCY.splitlines()[:2]))
    assert (empty.report.files[0].state, empty.report.exit_code) == ("no data", 2)
    assert "without rows" in empty.report.files[0].troubles[0].why


def test_a_lost_title_is_noticed(read: Reader) -> None:
    both = LATENCY + made_logs.osu_bandwidth()
    lost = read(both.replace("# OSU MPI Bandwidth Test v5.8\n", ""))
    assert {m.point.benchmark for m in lost.measurements} == {"pingpong"}
    assert "title between is missing" in lost.report.files[0].troubles[0].why
    headless = read(both.replace("# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n", ""))
    assert {m.point.benchmark for m in headless.measurements} == {"pingpong"}
    assert "sizes start again" in headless.report.files[0].troubles[0].why


def test_unknown_units_and_columns_are_refused(read: Reader) -> None:
    for head in ("Latency (fortnights)", "Latency (MB/s)", "Latency (us)   Karma"):
        job = read(LATENCY.replace("Latency (us)", head))
        assert job.report.points == 0
        assert job.report.files[0].troubles[0].why.startswith(("the unit", "the column")), head
    assert one(read(LATENCY.replace("Latency (us)", "Latency (ms)")), size_bytes=1024).median_s == pytest.approx(
        1.59e-3
    )


def test_doubled_lines_count_once(read: Reader) -> None:
    doubled = "".join(line * 2 for line in LATENCY.splitlines(keepends=True) if not line.startswith("#"))
    job = read("".join(LATENCY.splitlines(keepends=True)[:2]) + doubled)
    assert (job.report.files[0].rows, job.report.files[0].state) == (24, "ok")
    assert "there twice" in job.report.files[0].notes[0]


def test_contradictions_inside_a_row(read: Reader) -> None:
    """nccl-tests and STREAM print a rate beside the time: a row whose numbers do not agree is not taken."""
    wrong = read(made_logs.NCCL.replace(f"{1 << 26:>12}", f"{1 << 25:>12}"))
    assert wrong.report.files[0].state == "partial"
    stream = made_logs.stream().replace("Copy:", "Triad:", 1)
    assert read(stream).report.files[0].state == "partial"
    lost = made_logs.NVBANDWIDTH.replace(" 1    395.08       N/A\n", "")
    assert "do not add up" in read(lost).report.files[0].troubles[0].why


def test_sizes_beyond_32_bits(read: Reader) -> None:
    """Case U20: 2^30, 2^31, 2^32 bytes are sizes like others."""
    rows = "".join(made_logs.osu_row(1 << k, (1 << k) / 12000) for k in (30, 31, 32))
    job = read(
        f"mpirun -np 16 osu_allreduce -m 1073741824:4294967296\n# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n{rows}"
    )
    assert [m.point.parameters["size_bytes"] for m in job.measurements] == [1 << 30, 1 << 31, 1 << 32]


def test_a_line_without_end_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(b"x" * (5 << 20) + b"\n" + LATENCY.encode())
    assert max(len(block) for block in read_blocks(path)) < 5 * LONGEST_LINE + (1 << 19)
    assert list(Log(path))[-1][0] == 27
    assert import_logs("auto", [path], Options()).report.rows == 24


def test_what_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LATENCY)
    (tmp_path / "figure.png").write_bytes(b"\x89PNG\r\n" + b"\0" * 100)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "copy.log").write_text(LATENCY)
    (tmp_path / ".hidden").write_text(LATENCY)
    report = import_logs("auto", [tmp_path], Options()).report
    states = {Path(f.file).name: f.state for f in report.files}
    assert states == {"a.log": "ok", "figure.png": "not a log", "empty": "no data", "copy.log": "copy"}
    assert (report.rows, report.points, report.exit_code) == (24, 24, 1)
