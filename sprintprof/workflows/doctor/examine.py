"""All checks in one go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from sprintprof.environment.collect import collect
from sprintprof.workflows.doctor.files import file_findings
from sprintprof.workflows.doctor.finding import Finding
from sprintprof.workflows.doctor.gpu import cupy_findings, gpu_findings
from sprintprof.workflows.doctor.host import host_findings
from sprintprof.workflows.doctor.mpi import mpi_findings, rank_findings
from sprintprof.workflows.doctor.versions import version_findings


class Wanted(msgspec.Struct, frozen=True):
    """What the run to come needs; None = nothing said."""

    ranks: int | None = None
    gpus: int | None = None
    engine: str = "auto"
    output: Path = Path("results")


def examine(wanted: Wanted, environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Every finding, blockers first. Nothing is changed, no GPU memory taken; it works without MPI, GPU and driver."""
    environ = os.environ if environ is None else environ
    record = collect([], results=wanted.output)
    needs_gpu = wanted.engine == "cupy" or bool(wanted.gpus)
    findings = [
        *version_findings(),
        *host_findings(record),
        *mpi_findings(wanted.ranks, environ),
        *rank_findings(wanted.ranks, len(record["affinity.cpus"])),
        *gpu_findings(wanted.gpus if wanted.gpus else 1 if needs_gpu else None, environ),
        *cupy_findings(needs_gpu, environ),
        *file_findings(wanted.output),
    ]
    order = ("blocker", "warning", "note", "ok")
    return sorted(findings, key=lambda f: order.index(f.level))
