"""Search: the grid against predictions one by one, limits, the 5 % rule, files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from sprintprof.cli.app import run
from sprintprof.model.inputs import Request, from_estimator
from sprintprof.model.memory import training_bytes
from sprintprof.model.search.choose import Goal, keep_current, near_best, surely_better
from sprintprof.model.search.grid import pareto
from sprintprof.model.search.limits import Limits
from sprintprof.model.search.search import search
from sprintprof.model.search.space import Space, parse_range, parse_strategies
from sprintprof.model.search.times import condensed
from sprintprof.networks import load_network
from sprintprof.profile import Estimator, Profile, save_profile
from sprintprof.records import InputError

SPACE = Space((1, 2, 5, 9), (1, 4), (1, 8, 32), parse_strategies("sprint,bsp,asp,softsync:1"))
BASE = Request(profile="known", network="lenet5", interference=0.1)


@pytest.fixture
def estimator(machine_without: Callable[..., Profile]) -> Estimator:
    return Estimator(machine_without())


def test_every_configuration_is_what_predict_says(estimator: Estimator) -> None:
    grid = search([("known", estimator)], BASE, SPACE, Limits(), Goal()).grid
    assert len(grid) == 4 * 2 * 3 * 4
    for i in range(0, len(grid), 7):
        strategy = SPACE.strategies[int(grid.strategy[i])]
        request = replace(
            BASE, strategy=strategy.name, nodes=int(grid.nodes[i]), gpus_per_node=int(grid.gpus_per_node[i]),
            sub_batch=int(grid.sub_batch[i]),
        )  # fmt: skip
        setting = from_estimator(request, estimator).setting
        known = strategy.predict(setting)
        values = {name: float(column[i]) for name, column in grid.values.items()}
        # a server's queue is only bounded by the grid: the finalists are simulated
        rel = 0.35 if known.method == "simulation" else 0.02
        assert values["throughput_samples_per_s"] == pytest.approx(known.samples_per_s, rel=rel)
        assert values["minibatch_mean"] == pytest.approx(known.minibatch.mean, rel=1e-6)
        assert values["staleness_mean"] == pytest.approx(known.staleness.mean, rel=0.02, abs=0.05)
        if strategy.name == "sprint":
            assert values["minibatch_std"] == pytest.approx(known.minibatch.std, rel=0.03)
            assert values["staleness_std"] == pytest.approx(known.staleness.std, rel=0.05, abs=0.02)


def test_the_best_is_the_least_of_all_allowed(estimator: Estimator) -> None:
    space = replace(SPACE, strategies=parse_strategies("sprint"))
    limits = Limits(target_batch=40, tolerance=0.5)
    found = search([("known", estimator)], BASE, space, limits, Goal())
    batch, epoch = found.grid.values["minibatch_mean"], found.grid.values["epoch_time_s"]
    allowed = np.abs(batch - 40) <= 20
    np.testing.assert_array_equal(found.allowed, allowed)
    best = found.finalists[0]
    assert best.objective == pytest.approx(epoch[allowed].min(), rel=1e-6)
    assert [c.objective for c in found.finalists] == sorted(c.objective for c in found.finalists)
    assert found.ruled_out["--target-batch"] == int((~allowed).sum())


def test_every_limit_rules_out_what_breaks_it(estimator: Estimator) -> None:
    network = load_network("lenet5")
    limits = Limits(
        staleness_mean=20, staleness_quantile=(0.95, 15), memory_bytes=training_bytes(network, 8), hours=0.02, gpus=8
    )
    found = search([("known", estimator)], BASE, SPACE, limits, Goal("gpu-hours"))
    grid = found.grid
    assert grid.sub_batch[found.allowed].max() <= 8
    assert grid.gpus[found.allowed].max() <= 8
    assert grid.values["staleness_mean"][found.allowed].max() <= 20
    assert grid.values["epoch_time_s"][found.allowed].max() <= 72
    assert all(c.outcome.staleness.quantile(0.95) <= 15 for c in found.finalists)
    assert {"--memory", "--max-gpus", "--max-staleness", "--max-hours"} <= set(found.ruled_out)


def test_a_faster_machine_wins_and_its_lead_is_judged(machine_without: Callable[..., Profile]) -> None:
    from sprintprof.model.whatif import scaled_profile

    plain = machine_without()
    double = scaled_profile(plain, {"memory-bandwidth": 2.0, "gpu-flops": 2.0})
    space = replace(SPACE, strategies=parse_strategies("sprint"))
    machines = [("plain", Estimator(plain)), ("double", Estimator(double))]
    found = search(machines, replace(BASE, network="resnet18"), space, Limits(), Goal())
    assert found.finalists[0].machine == "double"
    assert 0.5 < found.sure <= 1


def test_small_gains_do_not_change_the_choice() -> None:
    # U88: 1 % and 3 % are not worth it, 6 % is
    assert [keep_current(100.0, 100.0 * (1 - gain)) for gain in (0.01, 0.03, 0.06)] == [True, True, False]
    assert not keep_current(None, 1.0)
    assert near_best(np.array([1.0, 1.04, 1.2]), [0, 1, 2]) == [0, 1]
    assert surely_better(np.array([1.0, 2.0]), np.array([1.0, 3.0])) == 0.75


def test_pareto_front_by_hand() -> None:
    time = np.array([1.0, 2.0, 3.0, 2.5, np.nan])
    cost = np.array([9.0, 4.0, 3.0, 5.0, 0.1])
    assert pareto(time, cost).tolist() == [0, 1, 2]


def test_ranges_and_strategies_are_read() -> None:
    assert parse_range("--nodes", "1,4..6") == (1, 4, 5, 6)
    assert parse_range("--nodes", "8..32:8") == (8, 16, 24, 32)
    assert parse_range("--nodes", "1..20:x2") == (1, 2, 4, 8, 16)
    for wrong in ("", "0", "4..2", "a", "1..4:0", "1..8:x1", "3:2", "1..1e9"):
        with pytest.raises(InputError, match="--nodes"):
            parse_range("--nodes", wrong)
    names = [s.name for s in parse_strategies("sprint, ssp:2,dssp:1:4")]
    assert names == ["sprint", "ssp", "dssp"]
    for wrong in ("", "magic", "ssp:x", "sprint:3"):
        with pytest.raises(InputError, match="--strategy"):
            parse_strategies(wrong)


def test_many_extrapolations_are_one_warning() -> None:
    lines = ["x: ranks 9 is outside 2..8", "other", "x: ranks 16 is outside 2..8", "x: ranks 9 is outside 2..8"]
    assert condensed(lines) == ["x: ranks 9 to 16 are outside 2..8", "other"]


def test_memory_grows_by_the_activations() -> None:
    network = load_network("lenet5")
    outputs = sum(int(np.prod(layer.output_shape)) for layer in network.layers)
    greatest = max(int(np.prod(layer.output_shape)) for layer in network.layers)
    step = training_bytes(network, 2) - training_bytes(network, 1)
    assert step == 4 * (32 * 32 + outputs + 2 * greatest)
    assert training_bytes(network, 1) > 12 * network.parameters


RANGES = ["--network", "lenet5", "--nodes", "1..8", "--sub-batch", "1..16:x2"]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["search", *arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_search_as_a_user_calls_it(profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, hdf5 = tmp_path / "grid.csv", tmp_path / "grid.h5"
    out = call(
        capsys, str(profile_file), *RANGES, "--strategy", "sprint,bsp", "--max-gpus", "6", "--sweep", str(table),
        "--sweep", str(hdf5),
    )  # fmt: skip
    assert out["configurations"] == 8 * 5 * 2
    assert out["best"]["epoch_time_s"] <= out["runner_up"]["epoch_time_s"]
    assert out["ruled_out"] == {"--max-gpus": 2 * 5 * 2}
    rows = list(csv.DictReader(table.open()))
    with h5py.File(hdf5) as file:
        stored = file["configurations"][:]
        assert file["configurations"].attrs["unit_epoch_time_s"] == "s"
    assert len(rows) == len(stored) == out["configurations"]
    assert float(rows[7]["epoch_time_s"]) == pytest.approx(stored["epoch_time_s"][7])
    assert sum(int(r["allowed"]) for r in rows) == out["allowed"]
    assert run(["search", str(profile_file), *RANGES, "--sweep", str(table)]) == 2
    assert run(["search", str(profile_file), *RANGES]) == 0
    assert "runner-up" in capsys.readouterr().out


def test_what_runs_now_stays_unless_much_is_gained(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = call(capsys, str(profile_file), *RANGES)["best"]
    place = f"{best['nodes']},{best['gpus_per_node']},{best['sub_batch']}"
    assert call(capsys, str(profile_file), *RANGES, "--current", place)["kept_current"] is True
    worse = call(capsys, str(profile_file), *RANGES, "--current", "1,1,1")
    assert worse["kept_current"] is False
    assert worse["choice"] == worse["best"]


def test_other_objectives(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    energy = call(capsys, str(profile_file), *RANGES, "--objective", "energy", "--gpu-power", "300")
    assert energy["best"]["objective"] == pytest.approx(energy["best"]["gpu_hours"] * 3600 * 300)
    updates = call(capsys, str(profile_file), *RANGES, "--objective", "updates:1000")
    assert updates["best"]["nodes"] == 1


def test_two_machines_at_once(profile_file: Path, tmp_path: Path, machine_without: Callable[..., Profile]) -> None:
    other = tmp_path / "other.json"
    save_profile(machine_without("t_nothing"), other)
    assert run(["search", str(profile_file), str(other), *RANGES]) == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--nodes", "0..4"], "--nodes"),
        (["--strategy", "x"], "--strategy"),
        (["--objective", "fame"], "--objective"),
        (["--objective", "energy"], "--objective"),
        (["--objective", "updates:-3"], "--objective"),
        (["--target-batch", "-1"], "--target-batch"),
        (["--tolerance", "-1"], "--tolerance"),
        (["--max-staleness-quantile", "2:3"], "--max-staleness-quantile"),
        (["--current", "1,2"], "--current"),
        (["--sweep", "grid.txt"], "grid.txt"),
        (["--memory", "x"], "--memory"),
        (["--gpu-power", "-1"], "--gpu-power"),
        (["--scale", "nodes=4"], "--scale"),
        (["--nodes", "1..3000", "--sub-batch", "1..3000"], "search"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str], named: str, profile_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", str(profile_file), "--network", "lenet5", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0
    assert named in error


def test_nothing_within_the_limits_is_exit_1(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", str(profile_file), *RANGES, "--target-batch", "1e9"]) == 1
    assert "no configuration" in capsys.readouterr().err
