"""What a run has so far: launches, plan and measurements, put together from a results file and a journal."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sprintprof.records import InputError, Point, RunHeader
from sprintprof.store.codec import leading, session_id
from sprintprof.store.journal import JournalContent
from sprintprof.store.results import Results
from sprintprof.store.stored import Stored


class RunState(msgspec.Struct):
    """Launches by id in order, planned points by key in order, the last record of each point by key."""

    sessions: dict[str, RunHeader]
    plan: dict[str, Point]
    stored: dict[str, Stored]

    def header(self) -> RunHeader:
        """The first launch's header with the plan of all launches."""
        return msgspec.structs.replace(leading(self.sessions.values()), plan=list(self.plan.values()))

    def add_launch(self, header: RunHeader, path: Path) -> None:
        """Add a launch and what it plans beyond the others. Raises InputError where it runs on another machine."""
        first = leading([*self.sessions.values(), header])
        if first.machine != header.machine:
            remedy = "measure into a file of its own"
            raise InputError(str(path), f"was measured on '{first.machine}', this is '{header.machine}'", remedy)
        self.sessions.setdefault(session_id(header), msgspec.structs.replace(header, plan=[]))
        for point in header.plan:
            self.plan.setdefault(point.key, point)

    def keep(self, stored: Stored) -> None:
        """Take a measurement in place of an older one of the same point; a point outside the plan joins it."""
        key = stored.row.key
        self.stored.pop(key, None)
        self.stored[key] = stored
        self.plan.setdefault(key, stored.row.point)


def combine(base: Results | None, content: JournalContent) -> RunState:
    """A file and the journal that goes on from it. A point in both is the journal's, which is younger."""
    state = RunState({}, {}, {})
    if base:
        state.sessions |= {session_id(header): header for header in base.sessions}
        state.plan |= {point.key: point for point in base.header.plan}
        state.stored |= {stored.row.key: stored for stored in base.all_stored()}
    state.sessions |= {i: header for i, header in content.sessions.items() if i not in state.sessions}
    state.plan |= {key: point for key, point in content.plan.items() if key not in state.plan}
    for stored in content.stored.values():
        state.keep(stored)
        state.sessions.setdefault(stored.session, _lost(stored.session))
    return state


def _lost(identity: str) -> RunHeader:
    """Stands for a launch whose header was lost in a damaged journal, so that its points are kept."""
    settings = {"lost": f"the header of launch {identity} was lost in a damaged journal"}
    return RunHeader(f"lost-{identity}", "", "", [], "", [], settings, [], [])
