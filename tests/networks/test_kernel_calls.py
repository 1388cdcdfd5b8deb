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
    matrix = {"conv_forward", "conv_backward_data", "linear_forward", "batched_gemm"}
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


def steps(text: str, batch: int = 2) -> list[tuple[str, str, dict[str, object]]]:
    """(direction, kernel, parameters without precision and layout) of a file that is one layer."""
    found = build(f'input = [4, 6, 6]\nloss = "none"\nlayers = [{text}]').kernel_calls(batch)
    return [
        (c.direction, c.call.kernel, {k: v for k, v in c.call.parameters.items() if k not in ("precision", "layout")})
        for c in found
    ]


BEHIND = '{ kind = "conv", filters = 4, kernel = 1, bias = false }, '  # something trained, so that gradients pass


def test_transposed_convolution_is_a_convolution_backwards() -> None:
    text = '{ kind = "conv_transpose", filters = 3, kernel = 4, stride = 2, pad = 1 }'
    net = build(f"input = [4, 6, 6]\nlayers = [{BEHIND}{text}]")
    layer = net.layers[1]
    assert layer.output_shape == (3, 12, 12)  # (6 − 1)·2 − 2 + 4
    assert layer.tensors == {"weight": 4 * 3 * 16, "bias": 3}
    assert layer.multiply_adds == 4 * 3 * 16 * 36  # every input point meets every weight of its channel once
    kernels = [(c.direction, c.call.kernel) for c in net.kernel_calls(1) if c.index == 1 and c.direction != "loss"]
    assert kernels == [
        ("forward", "conv_backward_data"),
        ("forward", "bias_forward"),
        ("backward", "bias_backward"),
        ("backward", "conv_backward_filter"),
        ("backward", "conv_forward"),
    ]
    geometry = net.kernel_calls(1)[1].call.parameters
    assert [geometry[k] for k in ("channels", "height", "width", "filters")] == [3, 12, 12, 4]


def test_concat_copies_there_and_back() -> None:
    kernels = steps(BEHIND + '{ kind = "concat", inputs = ["conv1", "input"] }')
    assert ("forward", "copy", {"batch": 2, "features": 8 * 36}) in kernels
    assert ("backward", "copy", {"batch": 2, "features": 8 * 36}) in kernels


def test_squeeze_excite() -> None:
    gates = '{ kind = "global_pool" }, { kind = "conv", filters = 4, kernel = 1 }, { name = "g", kind = "sigmoid" }, '
    kernels = steps(BEHIND + gates + '{ kind = "scale", inputs = ["conv1", "g"] }')
    assert ("forward", "activation_forward", {"batch": 2, "features": 4, "function": "sigmoid"}) in kernels
    assert ("forward", "scale_forward", {"batch": 2, "channels": 4, "spatial": 36}) in kernels
    backward = [k for d, k, _ in kernels if d == "backward"]
    assert backward == ["scale_backward", "activation_backward", "bias_backward", "conv_backward_filter",
                        "conv_backward_data", "pool_backward", "add", "conv_backward_filter"]  # fmt: skip


def test_attention_by_hand() -> None:
    kernels = steps(
        '{ kind = "patches", size = 2, features = 8, class_token = false }, { kind = "attention", heads = 2 }'
    )
    t, d, b = 9, 4, 2  # tokens, features of a head, samples
    gemm = {"batch": b * 2, "transpose": "nt", "m": t, "n": t, "k": d}
    value = {"batch": b * 2, "transpose": "nn", "m": t, "n": d, "k": t}
    assert [k for dd, k, _ in kernels if dd == "forward"] == [
        "conv_forward", "bias_forward", "copy", "bias_forward",
        "linear_forward", "bias_forward", "batched_gemm", "softmax_forward", "batched_gemm",
        "linear_forward", "bias_forward",
    ]  # fmt: skip
    forward = [p for dd, _, p in kernels if dd == "forward"]
    assert forward[4] == {"batch": b * t, "in_features": 8, "out_features": 24}
    assert forward[6] == gemm
    assert forward[7] == {"batch": b * 2 * t, "features": t}
    assert forward[8] == value
    backward = [(k, p) for dd, k, p in kernels if dd == "backward"]
    products = [p for k, p in backward if k == "batched_gemm"]
    assert products == [gemm, value | {"transpose": "tn"}, value, value | {"transpose": "tn"}]
    assert backward[-1][0] == "conv_backward_filter"  # the picture needs no gradient
    flop_forward = sum(2 * p["batch"] * p["m"] * p["n"] * p["k"] for p in (gemm, value))  # type: ignore[operator]
    assert sum(2 * p["batch"] * p["m"] * p["n"] * p["k"] for p in products) == 2 * flop_forward  # type: ignore[operator]


def test_normalisations_count_what_they_normalise() -> None:
    assert steps('{ kind = "batchnorm" }')[0][2] == {"batch": 2, "channels": 4, "spatial": 36}
    assert steps('{ kind = "layernorm" }')[0][2] == {"batch": 2, "features": 144}
    assert steps('{ kind = "lrn", size = 3 }')[0][2] == {"batch": 2, "channels": 4, "spatial": 36, "size": 3}
    tokens = '{ kind = "patches", size = 3, features = 5 }, { kind = "layernorm" }, { kind = "class_token" }'
    calls = steps(tokens)
    assert ("forward", "layernorm_forward", {"batch": 2 * 5, "features": 5}) in calls
    assert ("forward", "copy", {"batch": 2, "features": 5}) in calls


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{ kind = "concat", inputs = ["input", "p"] }', "joins inputs that differ"),
        ('{ kind = "scale", inputs = ["input", "p"] }', "wants 4 numbers"),
        ('{ kind = "attention", heads = 2 }', "wants tokens"),
        ('{ kind = "patches", size = 5, features = 8 }', "does not divide 6×6"),
        ('{ kind = "shuffle", groups = 3 }', "does not divide 4 channels"),
        ('{ kind = "patches", size = 3, features = 8 }, { kind = "attention", heads = 3 }', "does not divide 8 features"),
        ('{ kind = "conv_transpose", filters = 3, kernel = 1, pad = 9 }', "leaves nothing"),
        ('{ kind = "conv_transpose", filters = 3, kernel = 3, output_pad = 1 }', "not smaller than the stride"),
        ('{ kind = "conv_transpose", filters = 3, kernel = 3, groups = 2 }', "does not divide"),
        ('{ kind = "conv", depthwise = true, groups = 2, kernel = 3 }', "does not go with depthwise"),
    ],
)  # fmt: skip
def test_kinds_say_what_they_want(text: str, words: str) -> None:
    first = '{ name = "p", kind = "pool", kernel = 2 }, ' if '"p"' in text else ""
    with pytest.raises(InputError, match=words) as caught:
        build(f"input = [4, 6, 6]\nlayers = [{first}{text}]")
    assert "net.toml, layer" in str(caught.value)
