"""Every message benchmark on three real ranks (no power of two), by compiled loops and by mpi4py, results checked."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sprintprof.bench.messages.native import find_mpicc
from sprintprof.bench.world.launch import find_starter, launch_environment
from sprintprof.bench.world.processes import kill_tagged
from sprintprof.bench.world.refuse import environment_mpiexec

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        importlib.util.find_spec("mpi4py") is None or environment_mpiexec() is None, reason="no mpi4py or no mpiexec"
    ),
]

POINTS: dict[str, dict[str, Any]] = {
    "pingpong": {"size_bytes": 2500},
    "pingpong-empty": {"size_bytes": 0},
    "bandwidth": {"size_bytes": 1000, "window": 4},
    "bandwidth-2": {"size_bytes": 1000, "window": 4, "directions": 2},
    "message_rate": {"size_bytes": 8, "window": 16, "pairs": 1},
    "pairs": {"size_bytes": 100, "round": 2},
    "pairs-window": {"size_bytes": 100, "window": 8},
    "skip-round": {"benchmark": "pairs", "round": 3},
    "all_to_one": {"size_bytes": 1200, "senders": 2},
    "one_to_all": {"size_bytes": 1200, "receivers": 2},
    "broadcast": {"size_bytes": 4000},
    "reduce": {"size_bytes": 4000},
    "gather": {"size_bytes": 1200},
    "scatter": {"size_bytes": 1200},
    "allgather": {"size_bytes": 1200},
    "reduce_scatter": {"size_bytes": 1200},
    "barrier": {},
    "allreduce": {"size_bytes": 4000},
    "allreduce-fp64": {"size_bytes": 4000, "precision": "fp64"},
    "allreduce-ring": {"size_bytes": 4000, "algorithm": "ring"},
    "allreduce-rd": {"size_bytes": 4000, "algorithm": "recursive-doubling"},
    "allreduce-rab": {"size_bytes": 4, "algorithm": "rabenseifner"},
    "allreduce-masters": {"size_bytes": 4000, "algorithm": "hierarchical-masters:2"},
    "allreduce-scatter": {"size_bytes": 4000, "algorithm": "hierarchical-scatter:3"},
    "allreduce-hybrid": {"size_bytes": 4000, "algorithm": "hybrid:2:1K", "precision": "fp64"},
    "allreduce_fused": {"size_bytes": 400, "tensors": 7, "fusion_bytes": 1200},
    "allreduce_fused-ring": {"size_bytes": 400, "tensors": 7, "fusion_bytes": 1200, "algorithm": "ring"},
    "allreduce_fused-not": {"size_bytes": 400, "tensors": 7, "fusion_bytes": 0, "algorithm": "ring"},
    "allreduce_overlap": {"size_bytes": 4000, "dimension": 32},
    "allreduce_overlap-silent": {"size_bytes": 4000, "dimension": 32, "progress": 0, "precision": "fp64"},
    "interference": {"size_bytes": 4000, "dimension": 32},
    "skew": {"dimension": 32, "products": 3},
    "skip-over-2-gib": {"benchmark": "all_to_one", "size_bytes": 1 << 30, "senders": 2},
    "skip-memory": {"benchmark": "allreduce", "size_bytes": 2147483644},
    "skip-fraction": {"benchmark": "allreduce", "size_bytes": 10},
    "skip-groups": {"benchmark": "allreduce", "size_bytes": 4000, "algorithm": "hierarchical-scatter:2"},
    "fail-algorithm": {"benchmark": "allreduce", "algorithm": "tree"},
}

RANKS = """
import json, sys
from sprintprof.bench.case import Case, Skip
from sprintprof.bench.engines.select import get_engine
from sprintprof.bench.harness.clock import RunClock
from sprintprof.bench.harness.parallel import measure_parallel
from sprintprof.bench.harness.settings import HarnessSettings
from sprintprof.bench.messages import choose, limits, native, setup
from sprintprof.bench.registry import get_benchmark
from sprintprof.bench.world.finish import close_world, guard
from sprintprof.bench.world.world import open_world
from sprintprof.records import Point

points, broken = json.load(open(sys.argv[1])), sys.argv[2] == "broken"
native.FLAGS = (*native.FLAGS, "-DPIECE=1000")
limits.PIECE_BYTES = 1000
setup.available_bytes = lambda: 1 << 30
if broken:  # the last element of every received buffer is lost after each call
    def lose(buffer):
        if buffer.size:
            buffer[-1] = 99
    for kind in (choose.CompiledDriver, choose.PythonDriver):
        for name, at in (("pingpong", 1), ("stream", 1), ("collective", 2), ("sums", 2)):
            def wrapped(self, *args, method=getattr(kind, name), at=at, **kwargs):
                result = method(self, *args, **kwargs)
                lose(args[at])
                return result
            setattr(kind, name, wrapped)
world = open_world(3)
clock, engine, found = RunClock(), get_engine("numpy"), {}
settings = HarnessSettings(timeout_s=0.04, warmup_timeout_s=0.02, max_samples=12)
choose.CALIBRATION_S = 1e-4
with guard(world):
    for label, given in points.items():
        bench = get_benchmark(given.pop("benchmark", label.split("-")[0]))
        parameters = bench.parameters(given)
        ranks = bench.ranks_of(parameters) if bench.ranks_of else 3
        comm = world.subcomm(ranks)
        if comm is None:
            continue
        try:
            work = bench.build(Case(parameters, engine, comm, 5))
        except Exception as error:
            work = error
        got = measure_parallel(Point(bench.name, "numpy", parameters, ranks), work, comm, settings, clock, engine)
        if got is not None:
            kept = set(bench.columns) - set(got.extra) if got.status == "ok" else set()
            found[label] = [got.status, got.reason, got.bytes, got.median_s > 0, got.extra, sorted(kept)]
if world.rank == 0:
    print(json.dumps(found))
sys.exit(close_world(world, 0))
"""


def run(folder: Path, points: dict[str, dict[str, Any]], mode: str, **more: str) -> dict[str, list[Any]]:
    program, wanted = folder / "ranks.py", folder / "points.json"
    program.write_text(RANKS)
    wanted.write_text(json.dumps(points))
    starter = find_starter(3)
    tag = f"ranks-{os.getpid()}-{folder.name}"
    environ = {
        **launch_environment(starter),
        "SPRINTPROF_CACHE": str(folder / "cache"),
        "SPRINTPROF_LAUNCH": tag,
        **more,
    }
    try:
        done = subprocess.run(
            [starter.path, "-n", "3", sys.executable, str(program), str(wanted), mode],
            env=environ, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    finally:
        kill_tagged(tag)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


BYTES = {
    "pingpong": 2500, "pingpong-empty": 0, "bandwidth": 1000, "bandwidth-2": 1000, "message_rate": 8,
    "all_to_one": 2400, "one_to_all": 2400, "broadcast": 4000, "reduce": 4000, "gather": 2400, "scatter": 2400,
    "allgather": 3600, "reduce_scatter": 3600, "allreduce": 4000, "allreduce_fused": 2800,
}  # fmt: skip


@pytest.mark.parametrize("driver", ["c-loop", "mpi4py"])
def test_every_benchmark_is_measured_and_right(tmp_path: Path, driver: str) -> None:
    if driver == "c-loop" and find_mpicc() is None:
        pytest.skip("no mpicc")
    found = run(tmp_path, POINTS, "whole", SPRINTPROF_NO_COMPILER="1" if driver == "mpi4py" else "0")
    assert set(found) == set(POINTS)
    for label, (status, reason, bytes_, positive, extra, missing) in found.items():
        if label.startswith("skip"):
            assert status == "skipped", (label, reason)
            continue
        if label.startswith("fail"):
            assert status == "failed"
            assert "there is no all-reduce 'tree'" in reason
            continue
        assert (status, reason, positive, missing) == ("ok", "", True, []), label
        assert extra.get("driver", driver) == driver
        assert extra.get("driver_note", "") in ("", "SPRINTPROF_NO_COMPILER is set")
        if label in BYTES:
            assert bytes_ == BYTES[label]
    assert "the root would receive 2 GiB" in found["skip-over-2-gib"][1]
    assert "3 ranks have rounds 0 to 2" in found["skip-round"][1]
    assert "memory are available" in found["skip-memory"][1]
    assert "no whole number of fp32" in found["skip-fraction"][1]
    assert "needs equal ones" in found["skip-groups"][1]
    assert [found[f"allreduce_fused{end}"][4]["buckets"] for end in ("", "-ring", "-not")] == [3, 3, 7]
    for label in ("allreduce_overlap", "allreduce_overlap-silent"):
        assert 0 <= found[label][4]["overlap_fraction"] <= 1
        assert found[label][4]["compute_s"] > 0
    assert found["interference"][4]["interference_kappa"] >= 0
    assert found["interference"][4]["updates"] >= 1
    assert found["skew"][4]["skew_s"] >= 0
    assert os.path.isdir(tmp_path / "cache") == (driver == "c-loop")


def test_a_wrong_result_fails_the_point(tmp_path: Path) -> None:
    points = {
        k: v
        for k, v in POINTS.items()
        if not k.startswith(("skip", "fail", "barrier", "pingpong-empty", "allreduce_overlap", "skew"))
    }
    for label, (status, reason, *_) in run(tmp_path, points, "broken").items():
        assert status == "failed", label
        assert "wrong result" in reason
        assert "differ" in reason
