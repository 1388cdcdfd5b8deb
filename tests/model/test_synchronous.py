"""Collectives, overlap, fusion, the server's costs, fitted steps: against cases by hand and published figures."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sprintprof.cli.app import run
from sprintprof.model.allreduce import Scheme, exposed_s, scaling_efficiency
from sprintprof.model.collectives import (
    Link,
    all_to_one_s,
    hierarchical_masters_s,
    hierarchical_scatter_s,
    point_to_point_s,
    rabenseifner_s,
    recursive_doubling_s,
    ring_s,
)
from sprintprof.model.jitter import Constant, jitter
from sprintprof.model.overlap import Bucket, exchange, fuse
from sprintprof.model.server_costs import ServerCosts, server_costs
from sprintprof.model.setting import Setting
from sprintprof.model.steps import StepModel, Steps, fit_steps
from sprintprof.model.strategies import Asp, Bsp, Dssp, Ssp
from sprintprof.networks import load_network
from sprintprof.records import InputError

LINK = Link(2.0, 0.5, 0.25)


def test_collectives_by_hand() -> None:
    assert point_to_point_s(8, LINK) == 2 + 4
    assert all_to_one_s(8, 3, LINK, 0.25) == 6 + max(4, 6)
    # ring of 4: 6 steps of α, 2·8·3/4 bytes, 8·3/4 reduced
    assert ring_s(8, 4, LINK) == 12 + 6 + 1.5
    assert recursive_doubling_s(8, 4, LINK) == 2 * (2 + 4 + 2)
    assert rabenseifner_s(8, 4, LINK) == 8 + 6 + 1.5
    # five ranks: one folds into another before and after
    assert recursive_doubling_s(8, 5, LINK) == 2 * (2 + 4 + 2) + 4 + 8 + 2
    # groups of 2 of 8: a chain inside (4 steps, the data twice), a ring of 4 masters
    assert hierarchical_masters_s(8, 8, 2, LINK, LINK) == 8 + 8 + 2 + ring_s(8, 4, LINK)
    assert hierarchical_masters_s(8, 8, 4, LINK, LINK, pipelined=False) == 4 * (2 + 4) + 2 * 2 + ring_s(8, 2, LINK)
    assert hierarchical_scatter_s(8, 3, 2, LINK, LINK) == 4 + 4 + 1 + ring_s(4, 3, LINK)
    assert hierarchical_scatter_s(8, 3, 2, LINK, LINK, one_nic=True) == 4 + 4 + 1 + ring_s(8, 3, LINK)


def test_steps_of_the_hierarchical_all_reduce() -> None:
    # Jia et al.: 4(k − 1) + 2(p/k − 1) steps against 2(p − 1)
    step = Link(1.0, 0.0)
    assert ring_s(1, 1024, step) == 2 * 1023
    assert hierarchical_masters_s(1, 1024, 16, step, step) == 4 * 15 + 2 * 63


def test_fusion_and_overlap_by_hand() -> None:
    # backward makes 4, 0, 3, 2 and 1 bytes after 1 s each; fused up to 5
    buckets = fuse([1, 1, 1, 1, 1], [4, 0, 3, 2, 1], 5)
    assert buckets == [Bucket(3, 7), Bucket(5, 3)]
    # 7 s from 3 on, then 3 s: ends at 13, 8 after backward
    done = exchange(buckets, lambda size: size, 5.0)
    assert (done.total_s, done.exposed_s) == (10, 8)
    assert done.hidden_fraction == pytest.approx(0.2)
    assert exchange(fuse([1, 1], [1, 1], 0), lambda size: 0.5, 2.0).exposed_s == pytest.approx(0.5)


def test_exposed_exchange_is_at_least_the_last_bucket() -> None:
    link = Link(0.0, 1.0)
    elements = [4, 2]
    scheme = Scheme(element_bytes=1)
    whole = ring_s(4, 2, link) + ring_s(2, 2, link)
    assert exposed_s(elements, scheme, link, 2, 1.0, 0.0) == whole
    assert exposed_s(elements, scheme, link, 2, 100.0, 1.0) == ring_s(2, 2, link)
    assert exposed_s(elements, scheme, link, 1, 1.0, 0.0) == 0
    half = Scheme(element_bytes=1, fusion_bytes=100)
    assert scaling_efficiency(elements, half, link, 2, 6.0, 0.0) == pytest.approx(0.5)


def test_server_costs_by_hand() -> None:
    costs = ServerCosts(receive_s=3, add_s=1, apply_s=2, prepare_s=1, send_s=2, eviction=2)
    assert costs.service_s == 6
    assert costs.latency_s == 3 + 6 + 2 - 6
    assert costs.barrier_s(4) == 4 * 3 + 2 + 1 + 2


@pytest.mark.parametrize(("network", "compute_s", "asp_wins"), [("alexnet", 0.35, True), ("resnet110", 0.12, False)])
def test_order_of_strategies_turns_round_with_the_network(network: str, compute_s: float, asp_wins: bool) -> None:
    # four equal workers, 10 Gbit/s, 10 GB/s of memory, 60 µs for a tensor's request, evicted caches cost twice.
    # AlexNet is heavy in parameters (244 MB, 16 tensors), ResNet-110 in compute (7 MB, 330 tensors)
    net = load_network(network)
    tensors = sum(len(layer.tensors) for layer in net.layers)
    costs = server_costs(4.0 * net.parameters, tensors, 1.25e9, 10e9, 60e-6, eviction=2.0)
    setting = Setting(
        4, 1, 32, jitter(compute_s, 0.03), jitter(costs.service_s, 0.02), latency_s=costs.latency_s,
        barrier_s=costs.barrier_s(4),
    )  # fmt: skip
    asp, dssp, ssp, bsp = (s.predict(setting).samples_per_s for s in (Asp(), Dssp(3, 15), Ssp(3), Bsp()))
    assert asp == pytest.approx(dssp, rel=0.01)
    assert dssp == pytest.approx(ssp, rel=0.01)
    assert (min(asp, dssp, ssp) > 1.05 * bsp) if asp_wins else (bsp > 1.05 * max(asp, dssp, ssp))


def test_fitted_steps_find_a_known_truth_and_extrapolate() -> None:
    rng = np.random.default_rng(4)
    nodes = rng.integers(1, 9, 300).astype(float)
    fullest = rng.integers(1, 5, 300).astype(float)
    steps = Steps(nodes, nodes * fullest, fullest, rng.choice([8.0, 32.0, 128.0], 300))
    truth = StepModel(0.02, 0.001, 0.01, 0.05, 0.01, 0.002, 0.3)
    noisy = truth.step_s(steps) * np.exp(rng.normal(0, 0.01, 300))
    fitted = fit_steps(steps, noisy)
    far = Steps(np.array([16.0, 32]), np.array([64.0, 128]), np.array([4.0, 4]), np.array([32.0, 64]))
    np.testing.assert_allclose(fitted.step_s(far), truth.step_s(far), rtol=0.05)
    one = Steps(np.ones(1), np.ones(1), np.ones(1), np.array([64.0]))
    assert truth.step_s(one)[0] == pytest.approx(0.02 + 0.064)
    with pytest.raises(InputError):
        fit_steps(Steps(*(c[:5] for c in (steps.nodes, steps.gpus, steps.fullest, steps.sub_batch))), noisy[:5])


@pytest.fixture(scope="module")
def published() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "model_published.py"
    spec = importlib.util.spec_from_file_location("model_published", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_jias_figure_with_one_set_of_coefficients(published: ModuleType) -> None:
    assert published.jia()


def test_step_times_of_many_gpus_from_few(published: ModuleType) -> None:
    path = published.DATA / "end_to_end" / "step_times_t4.csv"
    if not path.exists():
        pytest.skip(f"no public data at {path}")
    steps, seconds = published.read_steps(path, "bert")
    fitted = fit_steps(*published.chosen(steps, seconds, steps.gpus <= 8))
    many, known = published.chosen(steps, seconds, steps.gpus >= 16)
    assert np.median(np.abs(fitted.step_s(many) / known - 1)) <= 0.15


def test_synchronous_training_by_a_modelled_all_reduce(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--network", "resnet50", "--nodes", "64", "--sub-batch", "8", "--strategy", "bsp"]

    def exposed(*more: str) -> float:
        assert run(["predict", str(profile_file), *shape, *more, "--json", "-"]) == 0
        return float(json.loads(capsys.readouterr().out)["terms"]["update_cycle"]["t_exposed"]["time_s"])

    ring, hybrid = exposed("--allreduce", "ring"), exposed("--allreduce", "hybrid", "--fusion", "1M")
    assert 0 < hybrid < exposed("--allreduce", "ring", "--fusion", "1M")
    assert math.isfinite(ring)
    small = ("--sub-batch", "1", "--fusion", "1M", "--scale", "network-bandwidth=0.02")
    assert exposed("--gradient-precision", "fp16", *small) < 0.7 * exposed(*small)
    assert run(["predict", str(profile_file), *shape, "--allreduce", "tree"]) == 2
    assert run(["predict", str(profile_file), *shape, "--allreduce", "hybrid", "--group", "0"]) == 2


def test_a_server_without_time_still_keeps_a_barrier() -> None:
    setting = Setting(2, 1, 1, Constant(1.0), Constant(0.0), barrier_s=0.25)
    assert Bsp().predict(setting).samples_per_s == pytest.approx(2 / 1.25)
