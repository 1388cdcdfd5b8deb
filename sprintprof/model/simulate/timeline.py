"""A simulated run as a Chrome trace (chrome://tracing, Perfetto): one row a worker, one event a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sprintprof.model.simulate.run import Spans

UPDATE_THREAD = -1


def chrome_trace(spans: Sequence[Spans], sub_batch: int) -> dict[str, Any]:
    """The trace as plain data; times in µs as the format demands (Trace Event Format, complete events)."""
    events: list[dict[str, Any]] = []
    workers = sorted({int(w) for s in spans for w in set(s.worker.tolist())})
    for worker in workers:
        name = "update" if worker == UPDATE_THREAD else f"GPU {worker}"
        events.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": worker + 1, "args": {"name": name}})
    for span in spans:
        for worker, begin, end in zip(span.worker.tolist(), span.begin_s.tolist(), span.end_s.tolist(), strict=True):
            events.append(
                {
                    "name": span.label,
                    "ph": "X",
                    "pid": 0,
                    "tid": worker + 1,
                    "ts": begin * 1e6,
                    "dur": (end - begin) * 1e6,
                    "args": {} if worker == UPDATE_THREAD else {"samples": sub_batch},
                }
            )
    return {"traceEvents": events, "displayTimeUnit": "ms"}
