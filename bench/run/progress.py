"""Progress of a run on stderr: a bar with the remaining time on a terminal, else a line now and then."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Any, Self

from sprintprof.records import Measurement
from sprintprof.units import format_time

FORCE_TERMINAL = "SPRINTPROF_TERMINAL"
"""Set by a parent that started us under a launcher: its stderr is a terminal of that many columns, ours is a pipe."""

LINE_EVERY_S = 10.0


class Progress:
    """Counts points. Remaining time: what the plan expects, scaled by how the points so far compared with it."""

    def __init__(self, total: int, expected_s: float) -> None:
        self._total = total
        self._expected_s = expected_s
        self._expected_done_s = 0.0
        self._done = 0
        self._trouble = {"failed": 0, "skipped": 0}
        self._began = self._last_line = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        columns = os.environ.get(FORCE_TERMINAL)
        if sys.stderr.isatty() or columns:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            width = int(columns) if columns and columns.isdigit() else None
            console = Console(stderr=True, force_terminal=True if columns else None, width=width)
            layout = (
                BarColumn(20),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
                TextColumn("{task.description}"),
            )
            self._bar = Bar(*layout, console=console, transient=True)
            self._task = self._bar.add_task("", total=self._total, left="")
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, label: str) -> None:
        """A point starts."""
        if self._bar is not None:
            self._bar.update(self._task, description=label[:60], left=self.left())

    def end(self, measurement: Measurement, expected_s: float) -> None:
        """A point ended; `expected_s` is what the plan expected of it."""
        self._done += 1
        self._expected_done_s += expected_s
        if measurement.status != "ok":
            self._trouble[measurement.status] += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, left=self.left())
        elif time.monotonic() - self._last_line > LINE_EVERY_S:
            self._last_line = time.monotonic()
            print(f"{self._done} of {self._total} points, {self.left()}", file=sys.stderr)  # noqa: T201

    def left(self) -> str:
        """`about 34 s left`."""
        rest = self._expected_s - self._expected_done_s
        took = time.monotonic() - self._began
        pace = took / self._expected_done_s if self._expected_done_s > 1.0 else 1.0
        return f"about {format_time(max(rest * pace, 0.0), 2)} left"

    def summary(self) -> str:
        """`120 points in 48 s, 3 skipped`."""
        took = format_time(time.monotonic() - self._began, 3)
        trouble = "".join(f", {n} {kind}" for kind, n in self._trouble.items() if n)
        return f"{self._done} of {self._total} points in {took}{trouble}"
