"""Look at the header of a run that may be unfinished, without opening it for writing."""

from __future__ import annotations

import os
from pathlib import Path

from sprintprof.records import RunHeader
from sprintprof.store.journal import load_journal
from sprintprof.store.paths import journal_path
from sprintprof.store.results import load_results
from sprintprof.store.state import combine


def peek_header(path: str | Path) -> RunHeader | None:
    """The header that `open_run(path, …, resume=True)` would go on with; None where there is neither file nor journal.

    Raises InputError where what is there cannot be read.
    """
    path = Path(path)
    journal = journal_path(path)
    base = load_results(path) if os.path.exists(path) else None
    if not os.path.exists(journal):
        return base.header if base else None
    state = combine(base, load_journal(journal))
    return state.header() if state.sessions else None
