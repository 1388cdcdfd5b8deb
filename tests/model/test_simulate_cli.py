"""`sprintprof simulate`, `predict --intervals` and `--scale` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sprintprof.cli.app import run

CYCLES = ["--gpu-cycle", "1.0:0.03", "--update-cycle", "0.37:0.03"]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_simulate_has_the_keys_and_values_of_predict(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--nodes", "6", "--gpus-per-node", "4", "--sub-batch", "8"]
    known = call(capsys, "predict", *shape, *CYCLES)
    seen = call(capsys, "simulate", *shape, *CYCLES, "--replicas", "300", "--updates", "30", "--seed", "3")
    assert set(known) <= set(seen)
    assert seen["minibatch"]["mean"] == pytest.approx(known["minibatch"]["mean"], rel=0.01)
    assert seen["staleness"]["mean"] == pytest.approx(known["staleness"]["mean"], rel=0.005)
    assert seen["epoch_time_s"] == pytest.approx(known["epoch_time_s"], rel=0.01)
    assert seen == call(capsys, "simulate", *shape, *CYCLES, "--replicas", "300", "--updates", "30", "--seed", "3")


def test_a_timeline_is_a_chrome_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for strategy, update in (("sprint", "0.3"), ("bsp", "0.3"), ("asp", "0"), ("ssp", "0"), ("dssp", "0.01")):
        target = tmp_path / f"{strategy}.json"
        call(
            capsys, "simulate", "--strategy", strategy, "--nodes", "3", "--gpu-cycle", "1:0.1", "--update-cycle", update,
            "--updates", "10", "--replicas", "2", "--timeline", str(target),
        )  # fmt: skip
        trace = json.loads(target.read_text())
        complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        assert {"ts", "dur", "tid", "pid", "name"} <= set(complete[0])
        assert min(e["dur"] for e in complete) >= 0
        names = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
        assert {"GPU 0", "GPU 1", "GPU 2"} <= names


def test_a_trace_is_replayed_exactly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.csv"
    pulls = "".join(f"w{i},pull\n" for i in range(3))
    trace.write_text("worker,event\n" + pulls + "".join(f"w{i % 3},push\n" for i in range(6)))
    assert run(["simulate", "--replay", str(trace), "--pull-after-push"]) == 0
    assert capsys.readouterr().out.strip() == "0 1 2 2 2 2"
    out = call(capsys, "simulate", "--replay", str(trace), "--pull-after-push")
    assert [g["staleness"] for g in out["gradients"]] == [0, 1, 2, 2, 2, 2]


def test_stragglers_slow_the_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "slow.csv"
    trace.write_text("worker,begin_s,end_s,factor\n0,0,1e9,2\n")
    shape = ["--strategy", "bsp", "--nodes", "4", "--gpu-cycle", "1", "--update-cycle", "0", "--updates", "20"]
    plain = call(capsys, "simulate", *shape)
    slow = call(capsys, "simulate", *shape, "--stragglers", str(trace))
    assert slow["epoch_time_s"] == pytest.approx(2 * plain["epoch_time_s"])
    assert slow["losses"]["skew"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--updates", "0", *CYCLES], "--updates"),
        (["--replicas", "-1", *CYCLES], "--replicas"),
        (["--seed", "-1", *CYCLES], "--seed"),
        (["--stragglers", "none.csv", *CYCLES], "none.csv"),
        (["--replay", "none.csv"], "none.csv"),
        (["--lower", "2", *CYCLES], "--lower"),
        (["--isgd", "x", *CYCLES], "--isgd"),
        (["--gpu-samples", "none.h5:gemm", *CYCLES], "none.h5"),
        (["--scale", "gpu-flops=2", *CYCLES], "--scale"),
        (["--gpu-cycle", "1", "--update-cycle", "0"], "--update-cycle"),
        (["--updates", "1000000000000", *CYCLES], "too many"),
        (["--strategy", "dssp", "--nodes", "1000", "--updates", "100000000", *CYCLES], "too many"),
        (["--nodes", "2000000", *CYCLES], "too many"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0
    assert named in error


def test_isgd_costs_its_extra_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    plain = call(capsys, "predict", *CYCLES)
    extra = call(capsys, "predict", *CYCLES, "--isgd", "0.01:5")
    assert extra["epoch_time_s"] == pytest.approx(1.05 * plain["epoch_time_s"])


WORK = ["--network", "resnet50", "--nodes", "8", "--gpus-per-node", "2", "--sub-batch", "8"]


def test_intervals_hold_the_value_and_widen_with_the_coefficients(
    profile_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = call(capsys, "predict", str(profile_file), *WORK, "--intervals")
    for part in (out["epoch_time_s"], out["gpu_cycle_s"], out["minibatch"]["mean"], out["staleness"]["mean"]):
        assert part["low"] < part["value"] < part["high"]
    # each kernel is known to within −5 % and +6 %: nothing can be surer or far less sure than that
    assert 0.02 < out["epoch_time_s"]["high"] / out["epoch_time_s"]["value"] - 1 < 0.15
    assert run(["predict", *CYCLES, "--intervals"]) == 2
    assert run(["predict", str(profile_file), *WORK, "--intervals"]) == 0
    assert " to " in capsys.readouterr().out


def test_every_strategy_predicts_from_a_profile(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for strategy in ("sprint", "bsp", "asp", "ssp", "dssp", "softsync"):
        out = call(capsys, "predict", str(profile_file), *WORK, "--strategy", strategy, "--intervals")
        assert out["epoch_time_s"]["low"] < out["epoch_time_s"]["value"] < out["epoch_time_s"]["high"]
        assert sum(out["losses"].values()) == pytest.approx(1 - out["scaling_efficiency"])
        total = sum(t["time_s"] for t in out["terms"]["update_cycle"].values())
        assert total == pytest.approx(out["update_cycle_s"]["value"])


def test_what_if_the_network_were_twice_as_fast(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = call(capsys, "predict", str(profile_file), *WORK)
    faster = call(capsys, "predict", str(profile_file), *WORK, "--scale", "network-bandwidth=2 gpu-flops=1.5")
    before, after = (o["terms"]["update_cycle"]["t_allreduce"]["time_s"] for o in (plain, faster))
    latency = 3 * 2e-5
    assert after == pytest.approx(latency + (before - latency) / 2)
    assert faster["gpu_cycle_s"] < plain["gpu_cycle_s"]
    assert (
        faster["terms"]["update_cycle"]["t_optimizer"]["time_s"]
        < plain["terms"]["update_cycle"]["t_optimizer"]["time_s"]
    )
    more = call(capsys, "predict", str(profile_file), *WORK, "--scale", "gpus-per-node=8")
    assert more["gpus_per_node"] == 8
    for wrong in ("speed=2", "gpu-flops=0", "gpus-per-node=1.5", "gpu-flops"):
        assert run(["predict", str(profile_file), *WORK, "--scale", wrong]) == 2


def test_lars_costs_more_than_momentum(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = call(capsys, "predict", str(profile_file), *WORK)
    lars = call(capsys, "predict", str(profile_file), *WORK, "--optimizer", "lars")
    assert lars["update_cycle_s"] > plain["update_cycle_s"]
