"""`sprintprof predict` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sprintprof.cli.app import run

CYCLES = ["--gpu-cycle", "1.0:0.03", "--update-cycle", "0.37:0.03"]


def test_cycles_give_the_distributions_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["predict", *CYCLES, "--nodes", "6", "--gpus-per-node", "4", "--sub-batch", "8", "--json", "-"])
    out = json.loads(capsys.readouterr().out)
    assert code == 0
    assert out["minibatch"]["mean"] == pytest.approx(71.04, rel=0.005)
    assert out["staleness"]["mean"] == pytest.approx(3.703, rel=0.005)
    pmf = dict(zip(out["staleness"]["pmf"]["values"], out["staleness"]["pmf"]["probabilities"], strict=True))
    assert pmf[4] == pytest.approx(0.703, abs=0.01)
    assert (out["staleness"]["mean"] - 1) * out["minibatch"]["mean"] == pytest.approx(24 * 8, rel=1e-9)
    assert out["epoch_time_s"] == pytest.approx(1281167 / (24 * 8))
    assert out["throughput_samples_per_s"] == pytest.approx(192)
    assert list(out["minibatch"]["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    assert all(v % 8 == 0 for v in out["minibatch"]["pmf"]["values"])
    assert min(out["minibatch"]["pmf"]["probabilities"]) >= 1e-9


def test_a_profile_and_a_network_give_everything(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        ["predict", str(profile_file), "--network", "resnet50", "--nodes", "16", "--gpus-per-node", "4",
         "--sub-batch", "8", "--dataset-size", "50000", "--strategy", "sprint", "--json", "-"]
    )  # fmt: skip
    out = json.loads(capsys.readouterr().out)
    assert code == 0
    assert sum(t["time_s"] for t in out["terms"]["gpu_cycle"].values()) == pytest.approx(out["gpu_cycle_s"])
    assert sum(t["time_s"] for t in out["terms"]["update_cycle"].values()) == pytest.approx(out["update_cycle_s"])
    assert out["epoch_time_s"] == pytest.approx(50000 * out["gpu_cycle_s"] / (64 * 8))
    assert "profile: a warning of the profile" in out["warnings"]
    assert out["scaling_efficiency"] == pytest.approx(1 - sum(out["losses"].values()))


def test_the_terminal_shows_figures_and_both_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", *CYCLES, "--nodes", "24", "--sub-batch", "8"]) == 0
    text = capsys.readouterr().out
    assert "mini-batch  mean 71.04" in text
    assert "staleness  mean 3.7027" in text
    assert "█" in text


def test_json_to_a_file_keeps_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.json"
    assert run(["predict", *CYCLES, "--json", str(target)]) == 0
    assert "mini-batch" in capsys.readouterr().out
    assert json.loads(target.read_text())["strategy"] == "sprint"


def test_little_jitter_warns_of_one_runs_own_spread(capsys: pytest.CaptureFixture[str]) -> None:
    run(["predict", "--gpu-cycle", "1:0.005", "--update-cycle", "0.37:0.03", "--nodes", "64", "--json", "-"])
    assert any("ensemble" in w for w in json.loads(capsys.readouterr().out)["warnings"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--nodes", "0", *CYCLES], "--nodes"),
        (["--nodes", "-3", *CYCLES], "--nodes"),
        (["--gpus-per-node", "0", *CYCLES], "--gpus-per-node"),
        (["--sub-batch", "-8", *CYCLES], "--sub-batch"),
        (["--dataset-size", "0", *CYCLES], "--dataset-size"),
        (["--strategy", "magic", *CYCLES], "--strategy"),
        (["--distribution", "cauchy", *CYCLES], "--distribution"),
        (["--gpu-cycle", "1.0"], "--update-cycle"),
        (["--gpu-cycle", "-1", "--update-cycle", "1"], "--gpu-cycle"),
        (["--slow-gpus", "5:2", *CYCLES], "--slow-gpus"),
        (["--slow-gpus", "x", *CYCLES], "--slow-gpus"),
        (["--busy", "2", *CYCLES], "--busy"),
        (["--interference", "-1", *CYCLES], "--interference"),
        (["missing.json", "--network", "lenet5"], "missing.json"),
        ([], "profile"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0
    assert named in error


def test_unknown_network_is_one_line_and_exit_2(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for network in ("resnet51", "missing.toml"):
        assert run(["predict", str(profile_file), "--network", network]) == 2
        assert capsys.readouterr().err.strip().count("\n") == 0
    assert run(["predict", str(profile_file)]) == 2
    assert run(["predict", str(profile_file), "--network", "lenet5", "--precision", "fp7"]) == 2
    assert run(["predict", str(profile_file), "--network", "lenet5", "--optimizer", "adam"]) == 2


def test_speed_is_kept_apart_from_claims_about_accuracy(capsys: pytest.CaptureFixture[str]) -> None:
    # U89: asynchronous runs can diverge; a speed model must not promise otherwise
    assert run(["predict", *CYCLES, "--json", "-"]) == 0
    keys = set(json.loads(capsys.readouterr().out))
    assert not [k for k in keys if "accura" in k or "converge" in k or "loss_value" in k]
    docs = Path(__file__).parents[2] / "docs" / "model.md"
    assert "nothing about accuracy or convergence" in " ".join(docs.read_text().split())
