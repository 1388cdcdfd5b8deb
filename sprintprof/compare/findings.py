"""What `check` can find: kinds with cause and remedy, findings, and the report."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Level = Literal["problem", "warning"]


class Kind(msgspec.Struct, frozen=True):
    """A kind of finding. A problem makes a file unstable; a warning is for the reader to judge."""

    level: Level
    title: str
    cause: str
    remedy: str


KINDS: dict[str, Kind] = {
    "incomplete": Kind(
        "problem", "points are missing", "the run was stopped or killed", "sprintprof run --resume {file}"
    ),
    "failed": Kind(
        "problem", "points failed", "see the reasons", "remove the cause, then sprintprof run --resume {file}"
    ),
    "few-samples": Kind(
        "problem",
        "too few samples for an interval",
        "the time was up before 6 samples were taken",
        "a longer --timeout, or smaller sizes",
    ),
    "noisy": Kind(
        "problem",
        "the interval of the median is wider than its target",
        "other load on the machine, a changing clock, or too little time",
        "quiet the machine (no other jobs, fixed clock, bound threads), then a longer --timeout",
    ),
    "sustained drift": Kind(
        "problem",
        "samples end at another level than they began",
        "warm-up that did not settle, heating, or load that came or went",
        "longer warm-up; look at clock and temperature with sprintprof show --point KEY",
    ),
    "burst": Kind(
        "problem",
        "some samples in a row are apart from the rest",
        "other load for a while",
        "measure again on a quiet machine; the median bears it as long as it is short",
    ),
    "multimodal": Kind(
        "problem",
        "samples fall into groups",
        "two clock levels, two algorithms, or threads placed on different cores or sockets",
        "bind threads and fix the clock; one median does not describe such a point",
    ),
    "under-resolution": Kind(
        "problem",
        "a timed window is too short for the timer",
        "the call is short and could not be batched",
        "larger sizes, or more time for batching with --timeout",
    ),
    "throttled": Kind(
        "problem",
        "the device lowered its clock",
        "power or temperature limit, or a clock that was not locked",
        "let it cool, lock the clock, or lower the power limit for all measurements alike",
    ),
    "not-converged": Kind(
        "problem",
        "warm-up did not settle",
        "first-use costs, a rising clock, or noise",
        "a longer warm-up; see also noise",
    ),
    "above-peak": Kind(
        "problem",
        "a rate is above a physical limit",
        "results served from a cache, an unfinished window, or a wrong limit in the machine file",
        "measure with cold caches, check the limits with sprintprof machines show",
    ),
    "suspicious": Kind(
        "problem",
        "a value cannot be right as it stands",
        "a log that was cut or mixed, or a result that contradicts itself",
        "look at the line of the log (sprintprof show FILE --point KEY); fits leave it out",
    ),
    "ranks-unknown": Kind(
        "problem",
        "the number of ranks is missing(not in log)",
        "the log does not show how its program was started",
        "import again with --ranks, or with --nodes and --ranks-per-node; fits and comparisons leave it out",
    ),
    "summary-only": Kind(
        "warning",
        "a summary, no samples: how much it varies is not known",
        "logs print means",
        "import the logs of several launches: then their scatter is",
    ),
    "launches": Kind(
        "warning",
        "launches differ by more than the margin of a comparison",
        "placement of memory and threads, or load, that lasts as long as a launch",
        "more launches; compare over launches only",
    ),
    "ranks": Kind(
        "warning",
        "ranks differ",
        "a root that does more than the others, placement, or one slow node",
        "do not pool ranks; the maximum over ranks is the headline",
    ),
    "straggler": Kind(
        "warning",
        "one rank is slower than the others",
        "a slow core, node or link, or the root of the operation",
        "measure again without that rank's node or core",
    ),
    "falls": Kind(
        "warning",
        "time falls while the size grows",
        "another algorithm or protocol from that size on, or something else than the work inside the window",
        "compare host and device time, measure sizes in between; fits split there or leave the smaller size out",
    ),
    "outliers": Kind(
        "warning",
        "many samples are outliers",
        "interruptions by the system or by other load",
        "marked and kept; the median bears them",
    ),
    "emulated": Kind("warning", "times were drawn, not measured", "emulated run", "do not compare with measured ones"),
    "staged": Kind(
        "warning",
        "device buffers went through host memory",
        "the MPI is not CUDA-aware",
        "an MPI built for the device, or take it as the staged path",
    ),
}
"""Every kind by name, in the order of the report. `{file}` in a remedy is the file's name."""


class Finding(msgspec.Struct, frozen=True):
    """One thing about one point (or about the file: then `key` is empty).

    `what` says it with its numbers, `sure` how sure it is, `weight` how bad (greater is worse, within the kind).
    """

    kind: str
    key: str
    label: str
    what: str
    sure: str
    weight: float = 0.0


class CheckReport(msgspec.Struct, frozen=True):
    """Whether a results file is stable, and if not, why and what to do.

    `measured` counts points with samples, `sound` those without a problem. `noise` is the median over points of the
    half width of the 95 % interval over the median. `around` are circumstances that may be the cause.
    """

    file: str
    stable: bool
    planned: int
    done: int
    measured: int
    sound: int
    skipped: int
    noise: float | None
    counts: dict[str, int]
    findings: list[Finding]
    around: list[str]

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON: findings with the level, cause and remedy of their kind."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["kinds"] = {
            name: {**msgspec.to_builtins(KINDS[name]), "remedy": self.remedy(name)} for name in self.counts
        }
        return plain

    def remedy(self, kind: str) -> str:
        """What to do about a kind, for this file."""
        return KINDS[kind].remedy.format(file=self.file)
