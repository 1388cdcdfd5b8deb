"""Exact replay of traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprintprof.model.simulate.replay import Event, read_trace, replay
from sprintprof.records import InputError


def pushes(*workers: str) -> list[Event]:
    return [Event(w, "push") for w in workers]


def test_three_workers_that_pull_after_each_push() -> None:
    # U85: all pull version 0, then push twice in turn
    events = [Event(w, "pull") for w in ("w0", "w1", "w2")] + pushes("w0", "w1", "w2", "w0", "w1", "w2")
    assert [a.staleness for a in replay(events, pull_after_push=True)] == [0, 1, 2, 2, 2, 2]


def test_pulls_in_the_trace_count_where_they_stand() -> None:
    events = [Event("a", "pull"), *pushes("b", "b"), Event("b", "pull"), *pushes("a", "b")]
    assert [(a.worker, a.staleness) for a in replay(events)] == [("b", 0), ("b", 1), ("a", 2), ("b", 1)]


def test_updates_of_several_gradients() -> None:
    events = pushes("a", "b", "a", "b", "a")
    assert [a.staleness for a in replay(events, gradients_per_update=2, pull_after_push=True)] == [0, 0, 1, 0, 1]


def test_explicit_updates_apply_what_waits() -> None:
    events = [
        Event("a", "pull"), Event("", "update"), Event("b", "pull"),
        *pushes("a", "b"), Event("", "update"), *pushes("a"), Event("", "update"),
    ]  # fmt: skip
    assert [(a.worker, a.staleness, a.version) for a in replay(events)] == [("a", 1, 1), ("b", 0, 1), ("a", 2, 2)]


def test_a_trace_file_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("worker,event\nw0,pull\nw0,push\n")
    assert read_trace(path) == [Event("w0", "pull"), Event("w0", "push")]
    for text in ("", "a,b\n1,2\n", "worker,event\nw0,pop\n", "worker,event\nw0,pull\n"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"trace\.csv"):
            read_trace(path)
    with pytest.raises(InputError):
        read_trace(tmp_path / "none.csv")
