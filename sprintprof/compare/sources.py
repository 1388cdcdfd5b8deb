"""The files of a comparison: what kind each is, and a name for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sprintprof.compare.records import SourceInfo
from sprintprof.profile import Profile, load_profile
from sprintprof.records import InputError
from sprintprof.store import Results, load_results


class Source(msgspec.Struct, frozen=True):
    """A loaded file; exactly one of `results` and `profile` is there."""

    name: str
    path: str
    results: Results | None = None
    profile: Profile | None = None

    @property
    def info(self) -> SourceInfo:
        """What the report says about it."""
        if self.results is not None:
            header = self.results.header
            complete = str(self.results.completeness)
            return SourceInfo(self.name, self.path, "results", header.machine, header.created_utc, complete)
        assert self.profile is not None
        complete = f"{len(self.profile.fits)} fits"
        return SourceInfo(self.name, self.path, "profile", self.profile.machine, self.profile.created_utc, complete)


def load_sources(paths: Sequence[str | Path]) -> list[Source]:
    """Load results files and profiles (by suffix .json) and name them: by machine, else by file, else by path.

    Raises InputError for fewer than two files, for results and profiles together, and for files that are neither.
    """
    if len(paths) < 2:
        raise InputError("compare", "needs at least two files", "sprintprof compare A.h5 B.h5")
    texts = [str(path) for path in paths]
    profiles = [text.endswith(".json") for text in texts]
    if any(profiles) and not all(profiles):
        raise InputError(texts[profiles.index(True)], "is a profile among results files", "compare files of one kind")
    if all(profiles):
        loaded = [Source("", text, profile=load_profile(text)) for text in texts]
    else:
        loaded = [Source("", text, results=load_results(text)) for text in texts]
    names = _names(texts, [source.info.machine for source in loaded])
    return [msgspec.structs.replace(source, name=name) for source, name in zip(loaded, names, strict=True)]


def _names(paths: list[str], machines: list[str]) -> list[str]:
    for candidates in (machines, [Path(p).stem for p in paths], paths):
        if len(set(candidates)) == len(candidates) and all(candidates):
            return candidates
    return [f"{path} ({number})" for number, path in enumerate(paths, 1)]  # one file given twice


def find_reference(sources: Sequence[Source], wanted: str | None) -> int:
    """Index of the reference: the first by default, else by name, path, file name or machine. Raises InputError."""
    if wanted is None:
        return 0
    for names in (
        [s.name for s in sources],
        [s.path for s in sources],
        [Path(s.path).name for s in sources],
        [Path(s.path).stem for s in sources],
        [s.info.machine for s in sources],
    ):
        if names.count(wanted) == 1:
            return names.index(wanted)
    remedy = f"names are {', '.join(s.name for s in sources)}"
    raise InputError("--reference", f"'{wanted}' is none of the files, or several", remedy)
