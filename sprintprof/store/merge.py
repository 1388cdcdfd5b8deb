"""Join results files of one machine into one."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sprintprof.records import InputError, Point
from sprintprof.store.codec import session_id
from sprintprof.store.lock import exists
from sprintprof.store.paths import SUFFIX, results_path
from sprintprof.store.recover import write_new
from sprintprof.store.results import Results, load_results
from sprintprof.store.state import RunState
from sprintprof.store.stored import Stored


class MergeReport(msgspec.Struct, frozen=True):
    """What a merge did. `quarantined` maps the names of files that were left out to the reason.

    `duplicates` counts measurements that were in several files, `superseded` those without a value that a better one
    replaced, `renumbered` those that got another launch number because their point was measured in several launches.
    """

    path: str
    merged: list[str]
    quarantined: dict[str, str]
    points: int
    duplicates: int
    superseded: int
    renumbered: int
    done: int
    planned: int

    def __str__(self) -> str:
        return f"{len(self.merged)} of {len(self.merged) + len(self.quarantined)} files merged"


def merge_results(paths: Sequence[str | Path], out: str | Path, force: bool = False) -> MergeReport:
    """Join the files (or folders of files) `paths` into `out`, which must not exist. The sources stay as they are.

    One measurement (same launch of the tool, same point) in several files is kept once. A point that several launches
    measured is kept from each: the oldest keeps its launch number, the others get the next ones that no file plans or
    has. A failed or skipped record gives way to a measured one of the same point, or to a younger one. Files that
    cannot be read are left out by name and reason. Raises InputError where `out` exists, no file can be read or,
    unless `force`, the files are of different machines; PartialError where `out` cannot be written.
    """
    out = Path(out)
    if os.path.exists(out):
        raise exists(out)
    _allow_open_files()
    files: list[Results] = []
    quarantined: dict[str, str] = {}
    sources = _expand(paths)
    for path in sources:
        try:
            files.append(load_results(path))
        except InputError as error:
            quarantined[str(path)] = f"{error.what}; {error.remedy}" if error.remedy else error.what
    if not files:
        name, reason = next(iter(quarantined.items()), ("merge", "no files given"))
        raise InputError(name, f"{reason} (0 of {len(sources)} files can be merged)", "name results files")
    merged = [str(results.path) for results in files]
    files.sort(key=lambda results: (results.header.created_utc, str(results.path)))
    if not force:
        _refuse_strangers(files)
    join = _Join(files)
    write_new(out, join.state)
    counts = (len(join.state.stored), join.duplicates, join.superseded, join.renumbered)
    return MergeReport(str(out), merged, quarantined, *counts, *load_results(out).completeness)


def _expand(paths: Sequence[str | Path]) -> list[Path]:
    """The files themselves; a folder stands for the results files in it and for journals whose run did not end."""
    files: list[Path] = []
    for path in map(Path, paths):
        if os.path.isdir(path):
            inside = sorted(path.glob("*.h5"))
            files += inside + [j for j in sorted(path.glob(f"*.h5{SUFFIX}")) if results_path(j) not in inside]
        else:
            files.append(path)
    return files


def _allow_open_files() -> None:
    """Samples are read from the sources as they are written; so all of them are open at once."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _refuse_strangers(files: list[Results]) -> None:
    by_machine: dict[str, list[str]] = {}
    for results in files:
        for session in filter(lambda s: s.machine, results.sessions):
            names = by_machine.setdefault(session.machine, [])
            if results.path.name not in names:
                names.append(results.path.name)
    if len(by_machine) > 1:
        listed = "; ".join(f"'{machine}': {', '.join(names[:3])}" for machine, names in by_machine.items())
        raise InputError("merge", f"the files are of different machines ({listed})", "merge each alone, or --force")


def _family(point: Point) -> str:
    """The key all launches of a point share."""
    return msgspec.structs.replace(point, launch=0).key


class _Join:
    """The joined state, built file by file, oldest first."""

    def __init__(self, files: list[Results]) -> None:
        self.state = RunState({}, {}, {})
        self.duplicates = self.superseded = self.renumbered = 0
        self._known: dict[tuple[str, str], list[str]] = {}
        self._moved: dict[tuple[str, str], list[Stored]] = {}
        self._last_launch: dict[str, int] = {}
        for results in files:
            self.state.sessions |= {
                session_id(s): s for s in results.sessions if session_id(s) not in self.state.sessions
            }
            for point in results.header.plan:
                self.state.plan.setdefault(point.key, point)
        for results in files:
            for stored in results.all_stored():
                self.state.plan.setdefault(stored.row.key, stored.row.point)
                if stored.origin != stored.row.key:
                    self._moved.setdefault((stored.session, stored.origin), []).append(stored)
        for point in self.state.plan.values():
            family = _family(point)
            self._last_launch[family] = max(point.launch, self._last_launch.get(family, 0))
        for results in files:
            for stored in results.all_stored():
                self._add(stored)

    def _add(self, stored: Stored) -> None:
        identity = (stored.session, stored.origin)
        twin = next((moved for moved in self._moved.get(identity, ()) if _same(moved, stored)), None)
        if twin:  # an earlier merge gave it another number, which it keeps
            stored = twin
        known = self._known.setdefault(identity, [])
        if any(_same(self.state.stored[key], stored) for key in known):
            self.duplicates += 1
            return
        good = stored.row.status == "ok"
        # an attempt of the same launch at the same point, perhaps under the number an earlier merge gave it
        place = next((k for k in known if not (good and self.state.stored[k].row.status == "ok")), stored.row.key)
        other = self.state.stored.get(place)
        if other and other.row.status == "ok" and not good:
            self.superseded += 1
            return
        if other and other.row.status == "ok":
            family = _family(stored.row.point)
            self._last_launch[family] += 1
            stored = _moved(stored, self._last_launch[family])
            self.renumbered += 1
        elif other:
            self.superseded += 1
            self._known[other.session, other.origin].remove(place)
            stored = _moved(stored, other.row.point.launch)
        known.append(stored.row.key)
        self.state.keep(stored)


def _same(a: Stored, b: Stored) -> bool:
    """Whether two records hold the same values, to the bit."""
    if a.shape != b.shape or repr(_moved(a, 0).row) != repr(_moved(b, 0).row):
        return False
    ours, theirs = a.load(), b.load()
    same = all(ours.columns[name].tobytes() == theirs.columns[name].tobytes() for name in a.shape.columns)
    if ours.rank_times_s is None or theirs.rank_times_s is None:
        return same
    return same and ours.rank_times_s.tobytes() == theirs.rank_times_s.tobytes()


def _moved(stored: Stored, launch: int) -> Stored:
    """The measurement under another launch number."""
    point = msgspec.structs.replace(stored.row.point, launch=launch)
    return stored._replace(row=msgspec.structs.replace(stored.row, point=point))
