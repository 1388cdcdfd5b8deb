"""Terms of both cycles from a machine with a known truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintprof.model.cycle import Workload
from sprintprof.model.exchange import cycles_of
from sprintprof.model.inputs import Request, resolve
from sprintprof.model.lock import lock_wait_s
from sprintprof.networks import load_network
from sprintprof.networks.kernels import KERNELS, KernelCall
from sprintprof.profile import Estimator, Profile


def cost_s(name: str, parameters: int) -> float:
    call = KernelCall(name, {"parameters": parameters, "precision": "fp32"})
    return 2e-6 + call.flop * 1e-12 + call.bytes * 1e-11


def test_every_term_is_the_known_cost(profile_file: Path) -> None:
    request = Request(profile=str(profile_file), network="resnet50", nodes=16, gpus_per_node=4, sub_batch=8)
    found = resolve(request)
    network = load_network("resnet50")
    p = network.parameters
    gpu, update = found.terms["gpu_cycle"], found.terms["update_cycle"]
    assert gpu["t_read"]["time_s"] == pytest.approx(cost_s("weight_copy", p))
    assert gpu["t_push"]["time_s"] == pytest.approx(cost_s("gradient_add", p))
    assert gpu["t_load"]["time_s"] == pytest.approx(8 * (1e-4 + 1e-9 * math.prod(network.input_shape)))
    assert update["t_gather"]["time_s"] == pytest.approx(4 * cost_s("gradient_add", p))
    assert update["t_allreduce"]["time_s"] == pytest.approx(4 * 2e-5 + 4 * p * 15 / 16 * 2e-10)
    assert update["t_optimizer"]["time_s"] == pytest.approx(cost_s("momentum_update", p))
    assert update["t_skew"]["time_s"] == pytest.approx(4e-5)
    calls = [c.call for c in network.kernel_calls(8)]
    assert gpu["layers"]["time_s"] == pytest.approx(sum(2e-6 + c.flop * 1e-12 + c.bytes * 1e-11 for c in calls))
    each = gpu["layers"]["each"]
    assert each[0]["layer"] == network.layers[0].name
    assert sum(x["forward_s"] + x["backward_s"] for x in each) == pytest.approx(gpu["layers"]["time_s"])


@pytest.mark.parametrize("interference", [0.0, 0.2])
def test_terms_sum_to_the_cycles(profile_file: Path, interference: float) -> None:
    request = Request(
        profile=str(profile_file), network="lenet5", nodes=4, gpus_per_node=4, sub_batch=8, interference=interference
    )
    found = resolve(request)
    gpu = sum(t["time_s"] for t in found.terms["gpu_cycle"].values())
    update = sum(t["time_s"] for t in found.terms["update_cycle"].values())
    assert gpu == pytest.approx(found.setting.gpu_cycle.mean_s * found.setting.slowdown, rel=1e-12)
    assert update == pytest.approx(found.setting.update_cycle.mean_s, rel=1e-12)
    assert ("t_interference" in found.terms["gpu_cycle"]) == (interference > 0)
    assert found.terms["gpu_cycle"]["t_lock"]["time_s"] > 0


def test_jitter_of_independent_terms_adds_in_variance(profile_file: Path) -> None:
    request = Request(profile=str(profile_file), network="lenet5", nodes=2, gpus_per_node=1, sub_batch=8)
    found = resolve(request)
    terms = found.terms["update_cycle"]
    # t_gather is one addition for one GPU; each term has the cv of one call
    spread = math.sqrt(sum((t["time_s"] * t["cv"]) ** 2 for t in terms.values()))
    assert found.setting.update_cycle.std_s == pytest.approx(spread)
    assert terms["t_allreduce"]["cv"] == pytest.approx(0.04)


def test_one_node_reduces_nothing(profile_file: Path) -> None:
    found = resolve(Request(profile=str(profile_file), network="lenet5", nodes=1, gpus_per_node=2))
    assert found.terms["update_cycle"]["t_allreduce"]["time_s"] == 0
    assert found.terms["update_cycle"]["t_skew"]["time_s"] == 0


def test_what_the_profile_lacks_is_absent_with_a_warning(machine_without: Callable[..., Profile]) -> None:
    machine = machine_without("weight_copy", "barrier", "relu_forward")
    work = Workload(load_network("lenet5"), 8)
    found = cycles_of("sprint", Estimator(machine), work, nodes=4, gpus_per_node=1)
    assert "t_read" not in [t.name for t in found.gpu]
    assert "t_skew" not in [t.name for t in found.update]
    text = "\n".join(found.warnings)
    for named in ("t_read is left out", "t_publish is left out", "t_skew is left out", "relu_forward"):
        assert named in text


def test_extrapolation_is_said(profile_file: Path) -> None:
    found = resolve(Request(profile=str(profile_file), network="lenet5", nodes=64, gpus_per_node=1))
    assert any("ranks 64 is outside 2..8" in w for w in found.warnings)
    assert any(w == "profile: a warning of the profile" for w in found.warnings)
    layers = len(load_network("lenet5").layers)
    assert any(w == f"{layers} of {layers} layers estimated" for w in found.warnings)


def test_lock_waits_nobody_alone_and_saturates() -> None:
    assert lock_wait_s(1, 1.0, 0.1) == 0
    # two constant threads: met in the middle of a hold with probability hold/cycle
    assert lock_wait_s(2, 0.9, 0.1) == pytest.approx(0.1 * 0.05, rel=1e-9)
    # sixteen threads of hold 0.5 and think 1: the lock is the bottleneck, a cycle lasts 16 · 0.5
    assert lock_wait_s(16, 1.0, 0.5) == pytest.approx(16 * 0.5 - 1.5, rel=1e-9)


def test_every_kernel_name_used_is_in_the_catalogue() -> None:
    assert {"weight_copy", "gradient_add", "momentum_update", "lars_update"} <= set(KERNELS)
