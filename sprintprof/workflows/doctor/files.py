"""The place of the results: writable, roomy, on a file system that keeps its word."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sprintprof.environment.fabric import file_system
from sprintprof.records import Missing
from sprintprof.units import format_size
from sprintprof.workflows.doctor.finding import Finding

LEAST_BYTES = 1 << 30
NETWORK = ("nfs", "lustre", "gpfs", "beegfs", "cifs", "fuse", "ceph", "9p")
VOLATILE = ("tmpfs", "ramfs")


def file_findings(folder: Path) -> Iterator[Finding]:
    """A trial file in the folder (or the nearest parent that exists), the space, the kind of file system."""
    place = next((p for p in (folder, *folder.absolute().parents) if p.exists()), Path("/"))
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".sprintprof-doctor-") as trial:
            trial.write(b"x")
            trial.flush()
            os.fsync(trial.fileno())
    except OSError as error:
        yield Finding("blocker", "results", f"{place} cannot be written ({error.strerror})", "choose another -o")
        return
    free = shutil.disk_usage(place).free
    if free < LEAST_BYTES:
        yield Finding("warning", "results", f"{place} has {format_size(free)} left", "make room or choose another -o")
    kind = file_system(folder)
    words = str(kind)
    if not isinstance(kind, Missing) and words.startswith(VOLATILE):
        yield Finding("warning", "results", f"{folder} is {words}: gone with the node", "choose another -o")
    elif not isinstance(kind, Missing) and words.startswith(NETWORK):
        yield Finding(
            "note", "results", f"{folder} is {words}", "storage benchmarks measure it; use --scratch for another"
        )
    else:
        yield Finding("ok", "results", f"{folder} is {words}, {format_size(free)} left")
