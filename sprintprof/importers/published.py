"""Published timings of one device as a results file, which fits and comparisons read like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import sprintprof
from sprintprof.records import InputError, Measurement, RunHeader


def write_published(
    output: Path,
    device: str,
    measurements: Sequence[Measurement],
    command: list[str],
    source: str = "",
    facts: Mapping[str, str] | None = None,
) -> Path:
    """Write a results file, which must not exist, for one device. Raises InputError.

    `gpu.name` is the device unless `facts` (environment keys) say otherwise: by it a fit finds the device's machine
    file, and with it the number of its multiprocessors.
    """
    from sprintprof.store import write_results

    if not measurements:
        raise InputError(str(output), f"would hold nothing: there are no timings of {device}", "see the column map")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    header = RunHeader(
        run_id=f"import-{now}",
        created_utc=now,
        machine=device,
        command=command,
        tool_version=sprintprof.__version__,
        plan=[m.point for m in measurements],
        settings={"imported": "published timings", "source": source},
        environments=[{"gpu.name": device, **(facts or {})}],
        rank_environment=[0],
    )
    return write_results(output, header, measurements)
