"""Exact replay of a trace: staleness as version at apply minus version at pull, gradient by gradient."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sprintprof.records import InputError

EVENTS = ("pull", "push", "update")


@dataclass(frozen=True)
class Event:
    """`worker` pulls the newest weights or pushes a gradient; `update` (of nobody) publishes what was pushed."""

    worker: str
    event: str


@dataclass(frozen=True)
class Applied:
    """A gradient that went into an update: whose it was, its staleness, and the update (version before it)."""

    worker: str
    staleness: int
    version: int


def replay(events: Iterable[Event], gradients_per_update: int = 1, pull_after_push: bool = False) -> list[Applied]:
    """Staleness of every gradient, in the order of the pushes.

    Where the trace has `update` events, gradients wait for the next one (SPRINT: the version they are applied to is
    then the newest when the update begins); else every `gradients_per_update` pushes make an update. A worker that
    never pulled has version 0. `pull_after_push`: each push is followed by a pull of the same worker.
    """
    listed = list(events)
    explicit = any(e.event == "update" for e in listed)
    version, held = 0, 0
    pulled: dict[str, int] = {}
    waiting: list[tuple[int, str, int]] = []
    found: dict[int, Applied] = {}
    for number, event in enumerate(listed):
        if event.event == "pull":
            pulled[event.worker] = version
        elif event.event == "update":
            found |= {n: Applied(worker, version - seen, version) for n, worker, seen in waiting}
            waiting, version = [], version + 1
        else:
            seen = pulled.get(event.worker, 0)
            if explicit:
                waiting.append((number, event.worker, seen))
            else:
                found[number] = Applied(event.worker, version - seen, version)
                held += 1
                if held == gradients_per_update:
                    version, held = version + 1, 0
            if pull_after_push:
                pulled[event.worker] = version
    return [found[n] for n in sorted(found)]


def read_trace(path: str | Path) -> list[Event]:
    """Read a CSV with the columns worker and event (pull, push, update), in order. Raises InputError with the line."""
    where = str(path)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None or not {"worker", "event"} <= set(reader.fieldnames):
                raise InputError(where, "is not a trace", "its first line must name the columns worker and event")
            rows = [(reader.line_num, Event(str(row["worker"]), str(row["event"]).strip())) for row in reader]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(where, f"cannot be read ({error})", "name a CSV file") from None
    for line, event in rows:
        if event.event not in EVENTS:
            raise InputError(where, f"line {line}: there is no event '{event.event}'", f"write {', '.join(EVENTS)}")
    if not any(event.event == "push" for _, event in rows):
        raise InputError(where, "has no push", "give at least one line with the event push")
    return [event for _, event in rows]
