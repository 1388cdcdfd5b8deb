"""Parameters and multiply-adds of the built-in networks against published counts."""

from __future__ import annotations

import pytest

from sprintprof.networks import list_networks, load_network

# Parameters and multiply-adds (10⁹, one sample of the network's own size; convolutions and matrix products): the tables
# of torchvision's model zoo. GoogLeNet: with biases and without auxiliary heads, as published with Caffe; 1.58 is the
# sum over its paper's table. ResNet-110: the paper says 1.7 M and 253 M. LeNet-5: by hand, see below.
PUBLISHED: dict[str, tuple[int, float]] = {
    "lenet5": (61_706, 0.00),
    "alexnet": (61_100_840, 0.71),
    "vgg11": (132_863_336, 7.61),
    "vgg16": (138_357_544, 15.47),
    "vgg19": (143_667_240, 19.63),
    "googlenet": (6_998_552, 1.58),
    "inception_v3": (23_834_568, 5.71),
    "resnet18": (11_689_512, 1.81),
    "resnet34": (21_797_672, 3.66),
    "resnet50": (25_557_032, 4.09),
    "resnet101": (44_549_160, 7.80),
    "resnet152": (60_192_808, 11.51),
    "resnet110": (1_727_962, 0.25),
    "densenet121": (7_978_856, 2.83),
    "squeezenet": (1_248_424, 0.82),
    "mobilenet_v2": (3_504_872, 0.30),
    "efficientnet_b0": (5_288_548, 0.39),
    "vit_b16": (86_567_656, 17.56),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_counts_are_the_published_ones(name: str) -> None:
    network = load_network(name)
    parameters, giga_multiply_adds = PUBLISHED[name]
    assert network.parameters == parameters
    assert network.multiply_adds / 1e9 == pytest.approx(giga_multiply_adds, abs=0.005)
    assert sum(network.layer_parameters) == parameters


def test_every_built_in_network_is_in_the_table() -> None:
    assert list_networks() == sorted(PUBLISHED)


def test_lenet_by_hand() -> None:
    by_hand = 6 * 28 * 28 * 25 + 16 * 10 * 10 * 150 + 400 * 120 + 120 * 84 + 84 * 10
    assert load_network("lenet5").multiply_adds == by_hand == 416_520
