"""The node: affinity, SMT, governor, load, threads, memory."""

from __future__ import annotations

from collections.abc import Iterator

from sprintprof.environment.registry import Record, ranges, show
from sprintprof.records import Missing
from sprintprof.workflows.doctor.finding import Finding

BUSY_SHARE = 0.25
"""Load per hardware thread above which other work is sure to be felt."""


def host_findings(record: Record) -> Iterator[Finding]:
    """What the environment record says about the node."""

    def told(key: str) -> str:
        return show(key, record[key])

    cpus, total = record["affinity.cpus"], record["cpu.threads"]
    yield Finding("ok", "processor", f"{told('cpu.model')}, {told('cpu.cores')} cores")
    if isinstance(total, int) and len(cpus) == 1 < total:
        what = f"bound to one hardware thread of {total} (number {cpus[0]})"
        remedy = "give the process its cores: srun --cpus-per-task, mpiexec --bind-to none"
        yield Finding("warning", "affinity", what, remedy)
    else:
        yield Finding("ok", "affinity", f"hardware threads {ranges(cpus)} of {told('cpu.threads')}")
    if record["cpu.smt"] is True:
        yield Finding("note", "SMT", "two hardware threads share a core", "bind to cores, not to threads")
    governor = record["cpu.governor"]
    if isinstance(governor, Missing):
        yield Finding("note", "governor", f"unknown: {governor.reason}")
    elif governor != "performance":
        what = f"is '{governor}': the clock follows the load"
        yield Finding("warning", "governor", what, "cpupower frequency-set -g performance")
    load = record["os.load_1min"]
    if isinstance(total, int) and load > BUSY_SHARE * total:
        what = f"{load:.1f} on {total} hardware threads: something else is running"
        yield Finding("warning", "load", what, "wait, or find it with top")
    threads = record["blas.threads"]
    if isinstance(threads, Missing):
        yield Finding("warning", "BLAS", f"unknown: {threads.reason}")
        return
    yield Finding("ok", "BLAS", f"{told('blas.library')}, {threads} threads, kernel {told('blas.kernel')}")
    if threads > len(cpus):
        what = f"the BLAS starts {threads} threads on {len(cpus)} hardware threads"
        yield Finding("warning", "threads", what, f"set OMP_NUM_THREADS={len(cpus)}")
