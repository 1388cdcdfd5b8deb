"""A run that writes its results: journal while it measures, results file when it ends."""

from __future__ import annotations

import contextlib
import glob
import os
from pathlib import Path
from types import TracebackType

import msgspec

from sprintprof.records import InputError, Measurement, PartialError, Point, RunHeader
from sprintprof.store.codec import session_id
from sprintprof.store.failures import words
from sprintprof.store.hdf5_write import part_prefix, write_file
from sprintprof.store.journal import Journal, locked_journal
from sprintprof.store.lock import exists
from sprintprof.store.paths import journal_path, sync_folder
from sprintprof.store.results import load_results
from sprintprof.store.state import RunState, combine
from sprintprof.store.stored import Measurements


class RunWriter:
    """The one writer of a results file. Made by `open_run`; use it in a `with` statement.

    Leaving the `with` normally or by Ctrl-C finishes the file with what there is; on any other exception, as on a
    kill, the journal stays and `--resume` goes on from it. `header` is that of the first launch with the plan of all
    launches; `sessions` has every launch's own header, this one last.
    """

    def __init__(self, path: Path, state: RunState, session: str, journal: Journal, replace: bool) -> None:
        self.path = path
        self._state = state
        self._session = session
        self._journal = journal
        self._replace = replace
        self._finished = False

    @property
    def header(self) -> RunHeader:
        """The first launch's header with the plan of all launches and every point measured beside it."""
        return self._state.header()

    @property
    def sessions(self) -> list[RunHeader]:
        """The header of every launch, its plan left empty."""
        return list(self._state.sessions.values())

    @property
    def measurements(self) -> Measurements:
        """Every measurement by point key, the last record of each; read from the files when asked for."""
        return Measurements(self._state.stored)

    @property
    def damages(self) -> list[str]:
        """Damaged places found in the journal that was resumed; empty when all is well."""
        return list(self._journal.damages)

    def pending(self, include_skipped: bool = False) -> list[Point]:
        """Planned points without a good record, in the plan's order: never measured, or failed.

        With `include_skipped` also the skipped ones, for callers that look whether their reason is gone.
        """
        done = ("ok",) if include_skipped else ("ok", "skipped")
        status = {key: stored.row.status for key, stored in self._state.stored.items()}
        return [point for key, point in self._state.plan.items() if status.get(key) not in done]

    def append(self, measurement: Measurement) -> None:
        """Keep a measurement: it outlives a kill when this returns, and a power cut a second later.

        A point outside the plan joins it. Raises PartialError when the journal cannot be written (what came before is
        safe), ValueError on samples whose shapes do not fit together or when the run has been finished.
        """
        if self._finished:
            raise ValueError(f"{self.path} is finished")
        try:
            stored = self._journal.append(measurement, self._session)
        except OSError as error:
            raise self._failure(self._journal.path, error) from None
        self._state.keep(stored)

    def finish(self) -> Path:
        """Write the results file from what there is, then remove the journal. Returns the file's path.

        Raises PartialError when it cannot be written; the journal then stays, and an older file as it was.
        """
        if self._finished:
            return self.path
        try:
            write_file(self.path, self._state, self._replace)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._journal.sync()
            raise self._failure(self.path, error) from None
        self._finished = True
        self._remove_journal()
        self._journal.close()
        return self.path

    def _remove_journal(self) -> None:
        """Remove it; a damaged one is kept under another name for whoever wants to look into it."""
        journal = self._journal.path
        try:
            if self._journal.damages:
                journal.rename(journal.with_name(f"{journal.name}.damaged.{os.getpid()}"))
            else:
                journal.unlink()
            sync_folder(journal.parent)
        except OSError as error:
            what = words(error)[0]
            raise PartialError(f"{self.path}: complete, but its journal {journal} cannot be removed: {what}") from None

    def _failure(self, where: Path, error: OSError) -> PartialError:
        what, remedy = words(error)
        safe = f"{len(self._state.stored)} of {len(self._state.plan)} points are safe in {self._journal.path}"
        if self._replace:
            safe += f" and {self.path}"
        return PartialError(f"{where}: cannot be written: {what}; {safe}; {remedy}, then run --resume {self.path}")

    def close(self) -> None:
        """Let go of the file as a kill would, only synced: the journal stays."""
        with contextlib.suppress(OSError):
            if not self._finished:
                self._journal.sync()
        self._journal.close()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or issubclass(kind, KeyboardInterrupt):
                self.finish()
        finally:
            self.close()


def open_run(path: str | Path, header: RunHeader, resume: bool) -> RunWriter:
    """Open a results file for a run (rank 0 only).

    Without `resume` neither the file nor its journal may exist. With it the run goes on from the file, from its
    journal, from both or, where there is neither, starts anew; the plan is theirs and `header.plan` may add points.
    Raises InputError where that cannot be, or another process is writing the file.
    """
    path = Path(path)
    journal = journal_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not resume and (os.path.exists(path) or os.path.exists(journal)):
            raise exists(path if os.path.exists(path) else journal)
    except OSError as error:
        what, remedy = words(error)
        raise InputError(str(path), f"cannot be written: {what}", remedy) from None
    with locked_journal(journal, new=not resume) as (log, content):
        base = load_results(path) if os.path.exists(path) else None
        state = combine(base, content)
        state.add_launch(header, path)
        for leftover in path.parent.glob(f"{glob.escape(part_prefix(path))}*.part"):
            leftover.unlink()
        log.append_session(msgspec.structs.replace(header, plan=list(state.plan.values())))
        return RunWriter(path, state, session_id(header), log, replace=base is not None)
