"""A log as an importer sees it: clean lines with their numbers, and the scene that holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from sprintprof.importers.lines import BLOCK_BYTES, clean_lines, read_blocks
from sprintprof.importers.rows import Table
from sprintprof.importers.scene import ABORT, Reader, marked_lines
from sprintprof.records import Value


class Log:
    """The lines of a log, read once. Iterate over it for (number, line); numbers count from 1.

    `notes` are sentences about the log as a whole that the importer adds (`note`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._digest = hashlib.sha256()
        self._reader = Reader()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        first = 1
        for block in read_blocks(self.path, self._digest):
            lines, done = clean_lines(block), 0
            for marked in marked_lines(block):
                yield from enumerate(lines[done:marked], first + done)
                self._reader.read(lines[marked])
                yield first + marked, lines[marked]
                done = marked + 1
            yield from enumerate(lines[done:], first + done)
            first += len(lines)
        self._reader.finish()

    @property
    def sha256(self) -> str:
        """Of the whole file, once it was read."""
        return self._digest.hexdigest()

    def abort(self) -> str:
        """The first line that tells of a run that was ended, with its number; "" where there is none."""
        found = ((n, line) for n, line in Log(self.path) if ABORT.search(line))
        return next((f"line {number}: {line.strip()[:100]}" for number, line in found), "")

    def table(self, benchmark: str, tool: str, **fields: object) -> Table:
        """A table that begins here, with the scene that holds here."""
        return Table(benchmark, tool, scene=self._reader.table_begins(), **fields)  # type: ignore[arg-type]

    def option(self, *names: str) -> str | None:
        """An option that the program was started with, None where the log does not show it."""
        return self._reader.scene.launch.option(*names)

    def program(self) -> str:
        """The program that the last launcher line started, "" where none is known."""
        return self._reader.scene.launch.program

    def note(self, text: str) -> None:
        """Add a sentence about the log, once."""
        if text not in self.notes:
            self.notes.append(text)


def stretches(path: Path) -> Iterator[str]:
    """The text of a log in stretches that overlap a little, for `sniff`."""
    tail = ""
    for block in read_blocks(path):
        yield tail + block
        tail = block[-min(BLOCK_BYTES, 4096) :]


def facts_of(table: Table) -> dict[str, Value]:
    """Facts of the table and of its scene that every record repeats."""
    scene = table.scene
    facts: dict[str, Value] = {"tool": table.tool, "statistic": table.statistic, **table.facts}
    if scene.launch.command:
        facts["launched"] = scene.launch.command[:500]
    if scene.mpi_library:
        facts["mpi_library"] = scene.mpi_library
    if scene.hosts:
        facts["hosts"] = " ".join(scene.hosts)
    return facts
