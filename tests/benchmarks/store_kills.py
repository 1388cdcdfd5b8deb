"""SIGKILL at random moments of a run that writes results: nothing finished is lost, nothing is unreadable.

`campaign` is used by tests/store/test_kills.py too, with fewer kills. The writers are children of a server process
(`store_kills.py --serve`) that has numpy and h5py loaded, so that a kill costs milliseconds.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from sprintprof.records import InputError, Measurement, Point, RunHeader, SampleSet
from sprintprof.store import journal_path, load_results, open_run
from sprintprof.store.journal import load_journal

KILLS = 200
POINTS = 40


@cache
def plan() -> list[Point]:
    """The points of one run."""
    return [Point(("gemm", "allreduce")[i % 2], "numpy", {"m": i}, 1 + i % 2) for i in range(POINTS)]


@cache
def expected() -> dict[str, Measurement]:
    """What a complete run holds, by key."""
    return {point.key: measured(point) for point in plan()}


def measured(point: Point) -> Measurement:
    """Values that follow from the point; every third has many samples."""
    rng = np.random.default_rng(int(point.key, 16))
    count = 1000 if int(point.key, 16) % 3 == 0 else 20
    ranks = rng.random((count, 4)) if point.benchmark == "allreduce" else None
    return Measurement(
        point, "ok", median_s=float(rng.random()), samples=SampleSet({"time_s": rng.random(count)}, ranks)
    )


def write(path: Path, number: int) -> None:
    """One run: resume, measure what is pending, note each point as finished once `append` has returned."""
    progress = os.open(f"{path}.progress", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    header = RunHeader(f"run-{number}", "2025-01-01", "node", [], "0", plan(), {}, [{"host": "n" * 500}], [0])
    with open_run(path, header, resume=True) as writer:
        for point in writer.pending():
            writer.append(expected()[point.key])
            os.write(progress, f"{point.key}\n".encode())


def serve() -> None:
    """For each line `PATH NUMBER POINTS DELAY_S` fork a writer; kill it once it has finished so many points more and the
    delay has passed (never if the delay is negative); answer how it ended and how long it took."""
    import h5py  # noqa: F401  (here once, not in every child)

    expected()
    for line in sys.stdin:
        path, number, points, delay_s = line.split()
        progress = Path(f"{path}.progress")
        wanted = (progress.stat().st_size if progress.exists() else 0) + 17 * int(points)
        began_s = time.monotonic()
        child = os.fork()
        if child == 0:
            try:
                write(Path(path), int(number))
                os._exit(0)
            finally:
                os._exit(1)  # an error must not make a second server of the child
        if float(delay_s) >= 0:
            until_s = time.monotonic() + 5
            while (
                wanted and time.monotonic() < until_s and not (progress.exists() and progress.stat().st_size >= wanted)
            ):
                time.sleep(1e-4)
            time.sleep(float(delay_s))
            os.kill(child, signal.SIGKILL)  # not reaped yet, so the number is still the child's
        _, status = os.waitpid(child, 0)
        word = "killed" if os.WIFSIGNALED(status) else "ended" if os.WEXITSTATUS(status) == 0 else "failed"
        print(word, time.monotonic() - began_s, flush=True)


@dataclass
class Tally:
    """What came of a campaign. All but `kills`, `runs` and `phases` must stay 0."""

    kills: int = 0
    runs: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    unreadable: int = 0
    wrong: int = 0
    failed: int = 0
    notes: list[str] = field(default_factory=list)


def same(stored: Iterable[Measurement]) -> dict[str, bool]:
    """By key whether the stored values are those of the point."""
    found = {}
    for m in stored:
        want = expected()[m.key]
        equal = m.median_s == want.median_s and np.array_equal(m.samples.time_s, want.samples.time_s)
        ranks, want_ranks = m.samples.rank_times_s, want.samples.rank_times_s
        equal &= (ranks is None) == (want_ranks is None) and (ranks is None or np.array_equal(ranks, want_ranks))
        found[m.key] = bool(equal)
    return found


def finished(path: Path) -> int:
    """How many points have been noted as finished."""
    progress = Path(f"{path}.progress")
    return len(progress.read_text().split()) if progress.exists() else 0


def inspect(path: Path, tally: Tally) -> bool:
    """After a kill: whatever is there must be readable, and hold every finished point. True when it was all measured."""
    progress = Path(f"{path}.progress")
    noted = set(progress.read_text().split()) if progress.exists() else set()
    journal = journal_path(path)
    have: dict[str, bool] = {}
    try:
        if path.exists():
            have |= same(load_results(path).measurements)
        if journal.exists():
            content = load_journal(journal)
            have |= same(stored.measurement() for stored in content.stored.values())
            if content.damages:
                raise InputError(str(journal), "; ".join(content.damages))
    except InputError as error:
        tally.unreadable += 1
        tally.notes.append(str(error))
    if path.exists():
        tally.phases["after the file was there"] += 1
    elif len(have) == POINTS:
        tally.phases["while the file was written"] += 1
    else:
        tally.phases["while points were measured" if have else "before the first point"] += 1
    tally.lost += len(noted - set(have))
    tally.wrong += sum(not good for good in have.values())
    return len(have) == POINTS


def complete(path: Path, tally: Tally) -> None:
    """After the last resume: each point exactly once, its own values, and no other file of the store."""
    results = load_results(path)
    keys = [m.key for m in results.measurements]
    if any(not session.run_id.startswith("run-") for session in results.sessions):
        tally.wrong += 1
        tally.notes.append("the header of a launch was lost")
    if sorted(keys) != sorted(p.key for p in plan()) or not all(same(results.measurements).values()):
        tally.wrong += 1
    others = {p.name for p in path.parent.iterdir()} - {path.name, f"{path.name}.progress"}
    if others:
        tally.wrong += 1
        tally.notes.append(f"left over: {others}")


def campaign(kills: int, folder: Path, seed: int) -> Tally:
    """Kill writers `kills` times; a file is resumed until it is complete, then the next one begins."""
    tally = Tally()
    rng = random.Random(seed)
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def run(path: Path, delay_s: float, points: int = 0) -> tuple[str, float]:
            tally.runs += 1
            print(path, tally.runs, points, delay_s, file=server.stdin, flush=True)
            word, lasted_s = server.stdout.readline().split()
            return word, float(lasted_s)

        warm = folder / "warm"
        warm.mkdir()
        whole_s = min(run(warm / "r.h5", -1)[1], run(warm / "q.h5", -1)[1])
        number = 0
        while tally.kills < kills:
            number += 1
            path = folder / str(number) / "r.h5"
            path.parent.mkdir()
            word = "killed"
            while word == "killed" and tally.kills < kills:
                left = POINTS - finished(path)
                if left and rng.random() < 0.7:  # at a random point, or anywhere between start and end
                    word, _ = run(path, rng.uniform(0, 1e-3), rng.randint(1, left))
                else:
                    word, _ = run(path, rng.uniform(0, whole_s))
                tally.kills += word == "killed"
                if word == "killed" and inspect(path, tally):
                    break
            if word == "killed":
                word, _ = run(path, -1)
            if word != "ended":
                tally.failed += 1
                break
            complete(path, tally)
        server.stdin.close()
    return tally


def main() -> int:
    """Print the figures; 0 when nothing was lost."""
    with tempfile.TemporaryDirectory() as folder:
        tally = campaign(KILLS, Path(folder), seed=4)
    print(f"# {tally.kills} kills in {tally.runs} runs: " + ", ".join(f"{n} {p}" for p, n in tally.phases.items()))
    for note in tally.notes:
        print(f"# {note}")
    figures = {
        "lost_points": tally.lost,
        "unreadable_files": tally.unreadable,
        "wrong_values": tally.wrong + tally.failed,
    }
    for name, value in figures.items():
        print(f"FIGURE store_kills_{name}: {value} of {tally.kills} kills (goal 0) {'PASS' if value == 0 else 'FAIL'}")
    return int(any(figures.values()))


if __name__ == "__main__":
    sys.exit(serve() if "--serve" in sys.argv else main())
