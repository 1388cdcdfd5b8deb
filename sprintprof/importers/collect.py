"""Logs to a results file: files found, formats recognised, rows read, a line of report for each file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sprintprof
from sprintprof.importers import formats
from sprintprof.importers.circumstances import environment_of
from sprintprof.importers.lines import is_binary, open_log
from sprintprof.importers.log import Log, stretches
from sprintprof.importers.measure import UNKNOWN_RANKS, Numbering, is_finite, measurements
from sprintprof.importers.options import Options
from sprintprof.importers.report import FileReport, ImportReport
from sprintprof.importers.rows import Row, Trouble
from sprintprof.records import InputError, Measurement, RunHeader

AUTO = "auto"
MOST_TROUBLES = 20
"""Lines that are named for one file; the others are counted."""
MOST_POINTS = 200_000
"""More in one file would need over 500 MB of memory."""


class Import:
    """Logs that were read: `report`, and the measurements until they are written."""

    def __init__(self, kind: str, options: Options) -> None:
        self.kind = kind
        self.options = options.checked()
        self.known = formats.load_all() if kind == AUTO else {kind: formats.load(kind)}
        self.files: list[FileReport] = []
        self.measurements: list[Measurement] = []
        self.environments: list[dict[str, Any]] = []
        self._numbering = Numbering()
        self._contents: dict[str, str] = {}

    def read(self, path: Path, name: str) -> None:
        """Read one log. Raises InputError where there would be too many points."""
        with open_log(path) as stream:
            head = stream.read(512)
        if is_binary(head):
            self.files.append(FileReport(name, state="not a log", notes=["is no text"]))
            return
        found = _recognise(path, self.known)
        if not found:
            self.files.append(_unrecognised(path, name, self.kind, head))
            return
        for kind in found:
            self._read_as(kind, path, name)

    def _read_as(self, kind: str, path: Path, name: str) -> None:
        log = Log(path)
        report = FileReport(name, what=kind)
        rows: list[Row] = []
        for item in self.known[kind].parse(log):
            if isinstance(item, Trouble):
                _keep(report, item)
            elif is_finite(item):
                rows.append(item)
            else:
                _keep(report, Trouble(item.line, "", "the time is not above 0"))
        report.sha256 = log.sha256
        twin = self._contents.setdefault(f"{kind} {log.sha256}", name)
        report.rows = sum(not row.repeated for row in rows)
        report.tools = sorted({row.table.tool for row in rows})
        report.notes += log.notes
        if twin != name:
            report.state, report.notes = "copy", [f"the same content as {twin}: counted once"]
        else:
            self._take(rows, report, name)
            _judge(report, log)
        self.files.append(report)

    def _take(self, rows: list[Row], report: FileReport, name: str) -> None:
        made = list(measurements(rows, self.options, name, self._numbering))
        report.points = len(made)
        report.unknown_ranks = sum(m.point.ranks == UNKNOWN_RANKS for m in made)
        counts = Counter(m.status for m in made)
        report.failed, report.skipped = counts["failed"], counts["skipped"]
        report.suspicious = sum("suspicious" in m.extra for m in made)
        self.measurements += made
        self.environments.append(environment_of(rows))
        if len(self.measurements) > MOST_POINTS:
            what = f"{len(self.measurements)} points and more"
            raise InputError(name, what, f"import in parts of at most {MOST_POINTS} points")

    @property
    def report(self) -> ImportReport:
        """What was read, file by file."""
        return ImportReport(self.kind, self.files, shared=len(self._numbering.shared))

    def write(self, output: Path, command: list[str]) -> Path:
        """Write a results file, which must not exist. Raises InputError."""
        from sprintprof.store import write_results

        now = datetime.now(UTC).isoformat(timespec="seconds")
        logs = {f.file: f.sha256 for f in self.files if f.points}
        header = RunHeader(
            run_id=f"import-{now}",
            created_utc=now,
            machine=self.options.machine or "imported",
            command=command,
            tool_version=sprintprof.__version__,
            plan=[m.point for m in self.measurements],
            settings={"imported": self.kind, "logs": logs},
            environments=[common(self.environments)],
            rank_environment=[0],
        )
        return write_results(output, header, self.measurements)


def common(environments: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all logs agree on; where they differ, that they do (each record names its own)."""
    merged: dict[str, Any] = {}
    for record in environments:
        for key, value in record.items():
            if merged.setdefault(key, value) != value:
                merged[key] = {"status": "missing", "reason": "differs between the logs"}
    return merged


def find_logs(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """(file, name in the report) of all files, folders walked through in order of their names.

    Raises InputError for a path that does not exist, and where there is no file at all.
    """
    found: list[tuple[Path, str]] = []
    for path in paths:
        if path.is_dir():
            for folder, folders, files in os.walk(path):
                folders[:] = sorted(f for f in folders if not f.startswith("."))
                found += [(Path(folder, f), str(Path(folder, f))) for f in sorted(files) if not f.startswith(".")]
        elif path.is_file():
            found.append((path, str(path)))
        else:
            raise InputError(str(path), "does not exist", "give logs, or folders of them")
    if not found:
        raise InputError(" ".join(map(str, paths)), "holds no files", "give logs, or folders of them")
    return found


def import_logs(kind: str, paths: Sequence[Path], options: Options) -> Import:
    """Read logs of one format, or of any (`auto`); folders are walked through. Raises InputError."""
    job = Import(kind, options)
    for path, name in find_logs(paths):
        job.read(path, name)
    return job


def _recognise(path: Path, known: dict[str, formats.Format]) -> list[str]:
    """Names of the formats that have something in the file; reading stops once all were found."""
    found: list[str] = []
    for text in stretches(path):
        found += [name for name, format_ in known.items() if name not in found and format_.sniff(text)]
        if len(found) == len(known):
            break
    return sorted(found)


def _unrecognised(path: Path, name: str, kind: str, head: bytes) -> FileReport:
    if not head:
        return FileReport(name, state="no data", notes=["is empty"])
    if kind == AUTO:
        return FileReport(name, state="no data", notes=["nothing of a known benchmark in it"])
    others = _recognise(path, formats.load_all())
    hint = f"it looks like {' and '.join(others)}" if others else "nor of another known benchmark"
    return FileReport(name, state="no data", notes=[f"nothing of {kind} in it; {hint}"])


def _keep(report: FileReport, trouble: Trouble) -> None:
    report.unreadable += 1
    if len(report.troubles) < MOST_TROUBLES:
        report.troubles.append(Trouble(trouble.line, trouble.text[:120], trouble.why))


def _judge(report: FileReport, log: Log) -> None:
    """The state of a file that was read."""
    if report.unreadable:
        report.state = "partial"
        if abort := log.abort():
            report.notes.append(abort)
    if not report.rows:
        report.state = "no data"
        if not report.unreadable:
            report.notes.append("names a benchmark and has no results of it")
    elif not report.points:
        report.state = "no data"
        report.notes.append("no row has the facts that --only asks for")
    if report.unknown_ranks:
        report.notes.append(
            f"ranks of {report.unknown_ranks} points are missing(not in log): fits leave them out; "
            "give --ranks, or --nodes and --ranks-per-node"
        )


def lines_of(report: ImportReport) -> Iterator[str]:
    """What is to be said about files beside the table: notes, and lines that could not be read."""
    for file in report.files:
        for note in file.notes:
            yield f"{file.file}: {note}"
        for trouble in file.troubles:
            text = f" '{trouble.text.strip()}'" if trouble.text else ""
            yield f"{file.file}:{trouble.line}: {trouble.why}{text}"
        if file.unreadable > len(file.troubles):
            yield f"{file.file}: and {file.unreadable - len(file.troubles)} more such lines"
