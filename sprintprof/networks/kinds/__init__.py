"""The layer kinds a network file can name."""

from __future__ import annotations

from sprintprof.networks.kinds.attention import Attention, ClassToken, Patches
from sprintprof.networks.kinds.base import Kind, LayerError, Shape, Step, show
from sprintprof.networks.kinds.convolution import Conv, ConvTranspose
from sprintprof.networks.kinds.dense import Linear
from sprintprof.networks.kinds.elementwise import Dropout, Gelu, Relu, Scale, Sigmoid, Silu, Tanh
from sprintprof.networks.kinds.joins import Add, Concat, Flatten, Pad, Shuffle
from sprintprof.networks.kinds.normalisation import BatchNorm, LayerNorm, Lrn
from sprintprof.networks.kinds.pooling import GlobalPool, Pool

KINDS: dict[str, type[Kind]] = {
    "conv": Conv,
    "conv_transpose": ConvTranspose,
    "linear": Linear,
    "pool": Pool,
    "global_pool": GlobalPool,
    "relu": Relu,
    "gelu": Gelu,
    "silu": Silu,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "dropout": Dropout,
    "batchnorm": BatchNorm,
    "layernorm": LayerNorm,
    "lrn": Lrn,
    "add": Add,
    "concat": Concat,
    "scale": Scale,
    "pad": Pad,
    "shuffle": Shuffle,
    "flatten": Flatten,
    "patches": Patches,
    "attention": Attention,
    "class_token": ClassToken,
}
"""Every kind by the name that files use."""

__all__ = ["KINDS", "Kind", "LayerError", "Shape", "Step", "show"]
