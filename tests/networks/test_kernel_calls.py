"""Which kernels a training step consists of, against lists worked out by hand."""

from __future__ import annotations

import pytest

from sprintprof.networks import Network, list_networks, load_network
from sprintprof.networks.kernels import KERNELS
from sprintprof.networks.reader import network_from
from sprintprof.records import InputError
from sprintprof.records.tomlfile import parse_toml


def build(text: str) -> Network:
    return network_from(parse_toml(text.encode(), "net.toml"), "net.toml", "net")


RESIDUAL = """
input = [3, 8, 8]
layers = [
  { name = "a", kind = "conv", filters = 4, kernel = 3, pad = 1 },
  { name = "r", kind = "relu" },
  { name = "b", kind = "conv", filters = 4, kernel = 3, pad = 1, bias = false },
  { name = "n", kind = "batchnorm" },
  { name = "sum", kind = "add", inputs = ["n", "r"] },
  { name = "p", kind = "global_pool" },
  { name = "d", kind = "dropout" },
  { name = "f", kind = "linear", features = 10 },
]
"""


def test_a_residual_step_by_hand() -> None:
    calls = build(RESIDUAL).kernel_calls(2)
    assert [(c.layer, c.direction, c.call.kernel) for c in calls] == [
        ("a", "forward", "conv_forward"),
        ("a", "forward", "bias_forward"),
        ("r", "forward", "relu_forward"),
        ("b", "forward", "conv_forward"),
        ("n", "forward", "batchnorm_forward"),
        ("sum", "forward", "add"),
        ("p", "forward", "pool_forward"),
        ("d", "forward", "dropout_forward"),
        ("f", "forward", "linear_forward"),
        ("f", "forward", "bias_forward"),
        ("f", "loss", "softmax_xent"),
        ("f", "backward", "bias_backward"),
        ("f", "backward", "linear_backward_filter"),
        ("f", "backward", "linear_backward_data"),
        ("d", "backward", "dropout_backward"),
        ("p", "backward", "pool_backward"),
        ("n", "backward", "batchnorm_backward"),
        ("b", "backward", "conv_backward_filter"),
        ("b", "backward", "conv_backward_data"),
        ("r", "backward", "add"),  # r is read by b and sum: their gradients are summed
        ("r", "backward", "relu_backward"),
        ("a", "backward", "bias_backward"),
        ("a", "backward", "conv_backward_filter"),  # and no gradient of the picture
    ]
    assert [c.index for c in calls[:3]] == [0, 0, 1]
    assert calls[0].call.parameters == {
        "batch": 2, "channels": 3, "height": 8, "width": 8, "filters": 4, "kernel_h": 3, "kernel_w": 3, "stride_h": 1,
        "stride_w": 1, "pad_h": 1, "pad_w": 1, "dilation": 1, "groups": 1, "precision": "fp32", "layout": "NCHW",
    }  # fmt: skip
    assert calls[19].call.parameters == {"batch": 2, "features": 256, "precision": "fp32"}
    assert calls[10].call.parameters == {"batch": 2, "classes": 10, "precision": "fp32"}
    assert calls[6].call.parameters["kind"] == "average"
    assert calls[6].call.parameters["kernel_h"] == 8


def test_inference_is_forward_without_dropout() -> None:
    calls = build(RESIDUAL).kernel_calls(2, forward_only=True)
    assert {c.direction for c in calls} == {"forward"}
    assert "dropout_forward" not in {c.call.kernel for c in calls}
    assert len(calls) == 9


def test_layers_before_the_first_trained_one_have_no_backward() -> None:
    net = build(
        'input = [3, 8, 8]\nlayers = [{ name = "p", kind = "pool", kernel = 2 }, { kind = "linear", features = 5 }]'
    )
    backward = [c.call.kernel for c in net.kernel_calls(1) if c.direction == "backward"]
    assert backward == ["bias_backward", "linear_backward_filter"]


def test_loss_can_be_left_out_and_is_per_row_of_an_image() -> None:
    text = 'input = [3, 8, 8]\nloss = "{}"\nlayers = [{{ kind = "conv", filters = 7, kernel = 1 }}]'
    assert "loss" not in {c.direction for c in build(text.format("none")).kernel_calls(2)}
    loss = next(c for c in build(text.format("softmax_xent")).kernel_calls(2) if c.direction == "loss")
    assert loss.call.parameters == {"batch": 128, "classes": 7, "precision": "fp32"}


@pytest.mark.parametrize("name", list_networks())
@pytest.mark.parametrize(("batch", "precision", "layout"), [(1, "fp32", "NCHW"), (37, "fp16", "NHWC")])
def test_calls_fit_the_catalogue_and_the_counts(name: str, batch: int, precision: str, layout: str) -> None:
    network = load_network(name)
    calls = network.kernel_calls(batch, precision, layout)
    for item in calls:
        spec = KERNELS[item.call.kernel].parameters
        assert list(item.call.parameters) == list(spec)
        assert all(type(item.call.parameters[k]) is t for k, t in spec.items())
        assert item.call.flop >= 0
        assert item.call.bytes > 0
        assert network.layers[item.index].name == item.layer
    matrix = {"conv_forward", "linear_forward", "batched_gemm"}
    flop = sum(c.call.flop for c in calls if c.direction == "forward" and c.call.kernel in matrix)
    assert flop == 2 * batch * network.multiply_adds
    order = [("forward", "loss", "backward").index(c.direction) for c in calls]
    assert order == sorted(order)
    backward = [c.index for c in calls if c.direction == "backward"]
    assert backward == sorted(backward, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0, "fp32", "NCHW"), "sub-batch"), ((1, "fp23", "NCHW"), "precision"), ((1, "fp32", "NCWH"), "layout")],
)
def test_wrong_steps_are_named(arguments: tuple[int, str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_network("lenet5").kernel_calls(*arguments)
