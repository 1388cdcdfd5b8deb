"""Make a results file from what a killed run left, or from measurements that were taken elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from sprintprof.records import InputError, Measurement, PartialError, RunHeader
from sprintprof.store.codec import session_id
from sprintprof.store.failures import words
from sprintprof.store.hdf5_write import write_file
from sprintprof.store.journal import load_journal, locked_journal
from sprintprof.store.lock import exists
from sprintprof.store.paths import SUFFIX, results_path
from sprintprof.store.results import Completeness, load_results
from sprintprof.store.run import RunWriter
from sprintprof.store.state import RunState, combine
from sprintprof.store.stored import in_memory


class Recovered(NamedTuple):
    """The file that was made, how complete it is, and the damaged places of the journal that were passed over."""

    path: Path
    completeness: Completeness
    damages: list[str]


def recover_journal(journal: str | Path, out: str | Path | None = None) -> Recovered:
    """Make a results file from a journal, and from the results file it went on from where there is one.

    Without `out` the file is the journal's own, and the journal is removed as at the end of a run. With another
    `out`, which must not exist, the journal stays and may even be one that is being written. Raises InputError where
    the journal is not one, holds nothing, or is being written; PartialError where the file cannot be written.
    """
    journal = Path(journal)
    own = results_path(journal)
    if not journal.name.endswith(SUFFIX) or not os.path.isfile(journal):
        what = "there is no such journal" if not os.path.exists(journal) else "is not a journal"
        raise InputError(str(journal), what, f"give a file FILE.h5{SUFFIX}")
    if out is None or Path(out).absolute() == own.absolute():
        return _in_place(journal, own)
    out = Path(out)
    content = load_journal(journal)
    state = combine(load_results(own) if os.path.exists(own) else None, content)
    write_new(out, state, journal)
    return Recovered(out, load_results(out).completeness, content.damages)


def _in_place(journal: Path, own: Path) -> Recovered:
    with locked_journal(journal, new=False) as (log, content):
        base = load_results(own) if os.path.exists(own) else None
        state = combine(base, content)
        _refuse_empty(state, journal)
        writer = RunWriter(own, state, next(iter(state.sessions)), log, replace=base is not None)
    with writer:
        pass
    return Recovered(own, load_results(own).completeness, content.damages)


def _refuse_empty(state: RunState, where: Path) -> None:
    if not state.sessions:
        raise InputError(str(where), "holds no record: the run was killed as it began", "remove it and measure again")


def write_new(out: Path, state: RunState, source: Path | None = None) -> None:
    """Write a file that must not exist. Raises InputError or PartialError."""
    if source:
        _refuse_empty(state, source)
    if os.path.exists(out):
        raise exists(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, state, replace=False)
    except FileExistsError:
        raise exists(out) from None
    except OSError as error:
        what, remedy = words(error)
        safe = f"; nothing of {source} is lost" if source else ""
        raise PartialError(f"{out}: cannot be written: {what}{safe}; {remedy}") from None


def write_results(path: str | Path, header: RunHeader, measurements: Iterable[Measurement]) -> Path:
    """Write measurements that are in memory (imported ones, say) as a results file, which must not exist.

    Of several measurements of one point the last counts; points outside `header.plan` join it. Raises InputError
    where the file exists, PartialError where it cannot be written.
    """
    identity = session_id(header)
    state = RunState({identity: msgspec.structs.replace(header, plan=[])}, {p.key: p for p in header.plan}, {})
    for measurement in measurements:
        state.keep(in_memory(measurement, identity))
    write_new(Path(path), state)
    return Path(path)
