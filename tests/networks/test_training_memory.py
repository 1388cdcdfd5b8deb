"""Memory as a function of the sub-batch: by hand, against published figures, and its form."""

from __future__ import annotations

import json

import pytest

from sprintprof.cli.app import run
from sprintprof.networks import list_networks, load_network
from sprintprof.networks.memory import kept_elements, largest_batch, memory_use
from sprintprof.networks.reader import network_from
from sprintprof.records import InputError
from sprintprof.records.tomlfile import parse_toml

SMALL = b"""
input = [3, 8, 8]
layers = [
  { name = "a", kind = "conv", filters = 4, kernel = 3, pad = 1 },
  { name = "r", kind = "relu" },
  { name = "b", kind = "conv", filters = 4, kernel = 1, bias = false },
  { name = "n", kind = "batchnorm" },
  { name = "sum", kind = "add", inputs = ["n", "r"] },
  { name = "flat", kind = "flatten" },
  { name = "d", kind = "dropout" },
  { name = "f", kind = "linear", features = 10 },
]
"""
NETWORK = network_from(parse_toml(SMALL, "net.toml"), "net.toml", "net")


def test_by_hand() -> None:
    picture, image = 3 * 64, 4 * 64
    # a reads the picture again; r its output, which b reads too; n its input; d its mask; f its input, d's output
    kept = picture + image + image + image + image
    assert kept_elements(NETWORK) == kept
    parameters = (4 * 27 + 4) + 16 + 8 + (256 * 10 + 10)
    use = memory_use(NETWORK, 5, "fp32", "momentum", workspace_cap_bytes=1 << 40)
    assert use.weights_bytes == use.gradients_bytes == use.optimizer_bytes == 4 * parameters
    assert use.activations_bytes == 5 * 4 * kept
    assert use.transient_bytes == 5 * 4 * 3 * image  # the sum and its two inputs
    assert use.workspace_bytes == 5 * 4 * 27 * 64  # columns of a; b is pointwise
    assert use.total_bytes == 12 * parameters + 5 * 4 * (kept + 3 * image + 27 * 64)


def test_optimizers_and_half_precision() -> None:
    parameters = NETWORK.parameters
    states = {"sgd": 0, "momentum": 1, "lars": 1, "adam": 2}
    for name, count in states.items():
        assert memory_use(NETWORK, 1, "fp32", name).optimizer_bytes == 4 * parameters * count  # type: ignore[arg-type]
        half = memory_use(NETWORK, 1, "fp16", name)  # type: ignore[arg-type]
        assert half.optimizer_bytes == 4 * parameters * (count + 1)  # and the weights in single precision
        assert half.weights_bytes == 2 * parameters
    assert memory_use(NETWORK, 1, "fp64").optimizer_bytes == 8 * parameters


def test_vgg16_needs_what_was_published() -> None:
    # Rhu et al., vDNN: virtualized deep neural networks, MICRO 2016: VGG-16 at 256 images needs 28 GB, with workspaces
    # that the paper does not list.
    total = memory_use(load_network("vgg16"), 256).total_bytes
    assert 0.8 * 28e9 < total < 28e9


@pytest.mark.parametrize("name", list_networks())
def test_memory_is_a_straight_line_until_the_workspace_is_capped(name: str) -> None:
    network = load_network(name)
    totals = [memory_use(network, b, workspace_cap_bytes=0).total_bytes for b in (1, 2, 3, 11)]
    slope = totals[1] - totals[0]
    assert slope > 0
    assert [t - totals[0] for t in totals] == [slope * (b - 1) for b in (1, 2, 3, 11)]
    capped = memory_use(network, 10_000, workspace_cap_bytes=1000)
    assert capped.workspace_bytes == (0 if network.name == "vit_b16" else 1000)


def test_largest_batch_is_the_last_that_fits() -> None:
    network = load_network("resnet50")
    memory = 16 << 30
    best = largest_batch(network, memory)
    assert memory_use(network, best).total_bytes <= memory < memory_use(network, best + 1).total_bytes
    assert largest_batch(network, memory_use(network, 1).total_bytes) == 1
    assert largest_batch(network, memory_use(network, 1).total_bytes - 1) == 0


@pytest.mark.parametrize(
    ("how", "words"),
    [((0, "fp32", "sgd"), "sub-batch"), ((1, "x", "sgd"), "precision"), ((1, "fp32", "x"), "optimizer")],
)
def test_wrong_questions_are_named(how: tuple[int, str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        memory_use(NETWORK, *how)  # type: ignore[arg-type]


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["networks", "show", "lenet5", "--batch", "8", "--memory", "1M", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    network = load_network("lenet5")
    assert result["memory"]["total_bytes"] == memory_use(network, 8).total_bytes
    assert result["largest_batch"] == largest_batch(network, 1 << 20)
    assert result["parameters"] == 61_706
    assert result["multiply_adds"] == 416_520
    assert [layer["name"] for layer in result["layers"]][:2] == ["c1", "relu1"]
    assert run(["networks", "show", "lenet5", "--batch", "8", "--input", "1x28x28"]) == 0
    assert "memory (momentum)" in capsys.readouterr().out
    assert run(["networks", "list", "--json", "-"]) == 0
    assert [n["name"] for n in json.loads(capsys.readouterr().out)] == list_networks()
    for wrong in (["--input", "1x-2x3"], ["--input", "0x28x28"], ["--batch", "0"], ["--memory", "much"]):
        assert run(["networks", "show", "lenet5", *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
