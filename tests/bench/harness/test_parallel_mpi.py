"""Parallel points on real MPI ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.mpi

RANKS = 3
RANK_PROGRAM = """
import json, sys, time
import numpy as np
from mpi4py import MPI
from sprintprof.bench.case import Skip, Work
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.parallel import measure_parallel
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.records import Point

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
clock = RunClock()
send, total = np.full(1024, rank + 1.0), np.zeros(1024)

def reduce_all():
    comm.Allreduce(send, total)

def check():
    return "" if (total == sum(range(1, comm.Get_size() + 1))).all() else f"sum is {total[0]}"

def too_long():
    if rank == 1:
        raise OverflowError("message too long")

def lag():
    time.sleep(0.02 if rank == 1 else 0.005)

def run(name, work, **settings):
    given = {"timeout_s": 0.3, "warmup_timeout_s": 0.1, "max_samples": 40, **settings}
    found = measure_parallel(Point(name, "host", {}, comm.Get_size()), work, comm, HarnessSettings(**given), clock)
    assert (found is None) == (rank != 0)
    if found is None:
        return {}
    kept = found.samples.rank_times_s
    return {name: {"status": found.status, "reason": found.reason, "flags": found.flags, "median_s": found.median_s,
                   "extra": found.extra, "shape": None if kept is None else kept.shape, "n": len(found.samples),
                   "max": kept is not None and bool(np.allclose(kept.max(axis=1), found.samples.time_s))}}

def untouched(call, **more):
    return Work(call, cache="untouched", **more)

seen = {
    **run("barrier", untouched(reduce_all, verify=check, bytes=8192)),
    **run("window", untouched(reduce_all, verify=check), sync="window"),
    **run("raises", untouched(reduce_all, before_sample=too_long)),
    **run("not built", MemoryError("no room") if rank == 2 else untouched(reduce_all)),
    **run("skipped", Skip("not here")),
    **run("lag", untouched(lag)),
    **run("after all that", untouched(reduce_all, verify=check)),
}
if rank == 0:
    print("RESULT " + json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip(f"no mpiexec beside {sys.executable}")
    program = tmp_path_factory.mktemp("mpi") / "rank.py"
    program.write_text(RANK_PROGRAM)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI_", "SLURM_"))}
    ranks = subprocess.Popen(
        [str(mpiexec), "-n", str(RANKS), sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean | {"OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    try:
        text, _ = ranks.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(ranks.pid, signal.SIGKILL)
        text = ranks.communicate()[0] + "\nkilled after 90 s"
    assert ranks.returncode == 0, text
    line = next(line for line in text.splitlines() if line.startswith("RESULT "))
    return dict(json.loads(line.removeprefix("RESULT ")))


@pytest.mark.parametrize("name", ["barrier", "window", "after all that"])
def test_every_rank_is_kept_and_the_slowest_counts(seen: dict[str, Any], name: str) -> None:
    found = seen[name]
    assert found["status"] == "ok", found["reason"]
    assert found["shape"] == [found["n"], RANKS]
    assert found["max"]
    assert found["median_s"] > 0
    assert found["extra"]["sync"].startswith("window" if name == "window" else "barrier")
    assert found["extra"]["rank_min_s"] <= found["extra"]["rank_median_s"] <= found["extra"]["rank_max_s"]


def test_trouble_on_one_rank_ends_the_point_on_all(seen: dict[str, Any]) -> None:
    assert (seen["raises"]["status"], seen["raises"]["reason"]) == ("failed", "rank 1: OverflowError: message too long")
    assert seen["not built"]["reason"] == "rank 2: MemoryError: no room"
    assert (seen["skipped"]["status"], seen["skipped"]["reason"]) == ("skipped", "not here")


def test_the_straggler_is_named(seen: dict[str, Any]) -> None:
    assert "straggler" in seen["lag"]["flags"]
    assert seen["lag"]["extra"]["straggler_rank"] == 1
