"""What an import found, file by file."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sprintprof.importers.rows import Trouble

State = Literal["ok", "partial", "no data", "copy", "not a log"]
SCHEMA = 1
"""Version of the report's JSON."""


class FileReport(msgspec.Struct):
    """One file, once for each format found in it.

    `rows` are lines with results, `points` what became of them (a line may hold two results), of which `failed` and
    `skipped` say their reason, `unknown_ranks` lack their number of ranks, and `suspicious` cannot be right as they
    stand. `unreadable` counts lines and tables that could not be read, `troubles` names the first of them. `copy`: the
    same content was read under another name.
    """

    file: str
    what: str = ""
    state: State = "ok"
    tools: list[str] = []
    rows: int = 0
    points: int = 0
    failed: int = 0
    skipped: int = 0
    suspicious: int = 0
    unknown_ranks: int = 0
    unreadable: int = 0
    notes: list[str] = []
    troubles: list[Trouble] = []
    sha256: str = ""


class ImportReport(msgspec.Struct):
    """All files of an import. `output` is the results file, "" where none was written.

    `shared` counts points that several logs have: they count as launches of one machine.
    """

    kind: str
    files: list[FileReport]
    output: str = ""
    shared: int = 0
    schema: int = SCHEMA

    @property
    def rows(self) -> int:
        """Lines with results, copies not counted."""
        return sum(f.rows for f in self.files if f.state != "copy")

    @property
    def points(self) -> int:
        """Points of all files."""
        return sum(f.points for f in self.files)

    @property
    def exit_code(self) -> int:
        """0: everything was read; 1: some of it (a file without data or partly read); 2: nothing at all."""
        if not self.points:
            return 2
        return int(any(f.state in ("partial", "no data") for f in self.files))

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain | {"rows": self.rows, "points": self.points, "exit_code": self.exit_code}
