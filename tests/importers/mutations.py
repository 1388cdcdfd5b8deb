"""Logs damaged in the ways logs are damaged, and what must hold for each: no error, no value that was not there."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from sprintprof.importers import formats
from sprintprof.importers.collect import import_logs, lines_of
from sprintprof.importers.options import Options
from sprintprof.importers.rows import Row

NOISE = (
    "slurmstepd: error: *** STEP 4711.0 ON node12 CANCELLED AT 2024-03-01T12:00:00 ***", "[node3:1234] mca_base_component: 17",
    "NCCL INFO Channel 00/04 : 0 1 2 3", "1725155308.98 42", "  12  34  56", "Warnung: Größe überschritten", "0 gpu 0", "{\"name\": \"init\"}",
    "%", "# a comment", "4096", "nan inf -1e9", "\x1b[31mred\x1b[0m", "[1,3]<stderr>: UCX WARN", "Copy: that", "2.50 3.50",
)  # fmt: skip


def _lines(change: Callable[[list[str], random.Random], list[str]]) -> Callable[[bytes, random.Random], bytes]:
    def mutate(raw: bytes, rng: random.Random) -> bytes:
        return "".join(change(raw.decode("utf-8", "replace").splitlines(keepends=True), rng)).encode()

    return mutate


def _drop(lines: list[str], rng: random.Random) -> list[str]:
    return [line for line in lines if rng.random() > 0.15]


def _double(lines: list[str], rng: random.Random) -> list[str]:
    return [copy for line in lines for copy in [line] * (2 if rng.random() < 0.15 else 1)]


def _cut(lines: list[str], rng: random.Random) -> list[str]:
    """Some lines lose their end or their begin."""
    out = []
    for line in lines:
        at = rng.randrange(len(line) + 1)
        draw = rng.random()
        out.append(line[:at].rstrip("\n") + "\n" if draw < 0.06 else line[at:] if draw < 0.12 else line)
    return out


def _interleave(lines: list[str], rng: random.Random) -> list[str]:
    """Other output between lines, and in the middle of lines with and without a line end."""
    out = []
    for line in lines:
        draw, other = rng.random(), rng.choice(NOISE)
        at = rng.randrange(len(line) + 1)
        out.append(f"{other}\n" if draw < 0.1 else "")
        out.append(line[:at] + other + ("\n" if draw < 0.15 else "") + line[at:] if 0.1 <= draw < 0.2 else line)
    return out


def _shuffle_chunk(lines: list[str], rng: random.Random) -> list[str]:
    """A stretch is repeated elsewhere, as a log that was appended to twice."""
    a, b = sorted(rng.randrange(len(lines) + 1) for _ in range(2))
    at = rng.randrange(len(lines) + 1)
    return lines[:at] + lines[a:b] + lines[at:]


def _end(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _crlf(raw: bytes, rng: random.Random) -> bytes:
    return raw.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\r\n")))


def _bom(raw: bytes, rng: random.Random) -> bytes:
    text = raw.decode("utf-8", "replace")
    return rng.choice((b"\xef\xbb\xbf" + raw, text.encode("utf-16"), b"\xff\xfe" + text.encode("utf-16-le")))


def _latin(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + "Größe à µ\n".encode("latin-1") + raw[at:]


def _nul(raw: bytes, rng: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(out))
        length = rng.randrange(1, 40)
        if rng.random() < 0.5:
            out[at : at + length] = b"\0" * len(out[at : at + length])
        else:
            out[at:at] = b"\0" * length
    return bytes(out)


MUTATIONS = (
    _lines(_drop), _lines(_double), _lines(_cut), _lines(_interleave), _lines(_shuffle_chunk), _end, _crlf, _bom, _latin, _nul,
)  # fmt: skip


def mutate(text: str, rng: random.Random) -> bytes:
    """The text with one to three kinds of damage."""
    raw = text.encode()
    for mutation in rng.sample(MUTATIONS, rng.randrange(1, 4)):
        raw = mutation(raw, rng) if raw else raw
    return raw


def printed(text: str) -> set[tuple[int | None, float]]:
    """(size, time) of every size and number of a text, the number taken as µs and as MB/s.

    Where the title and the head of a table are both lost its rows may pass for those of the table before: the numbers
    are in the log, and nothing in it says what they are.
    """
    matrix: set[tuple[int | None, float]] = set()
    pairs = [(int(m[1]), float(m[2])) for m in re.finditer(r"^(\d+) +(\d+\.\d\d)\b", text, re.MULTILINE)]
    for row in re.finditer(r"^ +\d+((?: +\d+\.\d\d)+) *$", text, re.MULTILINE):
        for number in map(float, row[1].split()):
            matrix |= {(160_000_000, round(160e6 * times / number / 1e9, 15)) for times in (1, 2, 4) if number}
            matrix.add((None, round(number * 1e-6, 15)))
    as_rates = {(size, round(size / (number * 1e6), 15)) for size, number in pairs if size and number}
    return {(size, round(number * 1e-6, 15)) for size, number in pairs} | as_rates | matrix


def values(path: Path) -> set[tuple[int | None, float]]:
    """(size, time) of every row that any format reads from a file."""
    found: set[tuple[int | None, float]] = set()
    from sprintprof.importers.log import Log

    for format_ in formats.load_all().values():
        for item in format_.parse(Log(path)):
            if isinstance(item, Row) and item.status == "ok":
                found.add((item.size_bytes, round(item.time_s, 15)))
    return found


def problems(path: Path, known: set[tuple[int | None, float]]) -> list[str]:
    """What is wrong with how a damaged log was read: values that were not there; errors propagate."""
    found = values(path)
    wrong = [f"size {size}, {time_s} s was not in the log" for size, time_s in sorted(found - known, key=str)]
    report = import_logs("auto", [path], Options()).report
    list(lines_of(report))
    if report.exit_code not in (0, 1, 2):
        wrong.append(f"exit code {report.exit_code}")
    return wrong
