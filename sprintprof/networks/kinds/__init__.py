"""The layer kinds a network file can name."""

from __future__ import annotations

from sprintprof.networks.kinds.base import Kind, LayerError, Shape, Step, show
from sprintprof.networks.kinds.convolution import Conv
from sprintprof.networks.kinds.dense import Linear
from sprintprof.networks.kinds.elementwise import Dropout, Relu
from sprintprof.networks.kinds.joins import Add, Flatten
from sprintprof.networks.kinds.normalisation import BatchNorm
from sprintprof.networks.kinds.pooling import GlobalPool, Pool

KINDS: dict[str, type[Kind]] = {
    "conv": Conv,
    "linear": Linear,
    "pool": Pool,
    "global_pool": GlobalPool,
    "relu": Relu,
    "dropout": Dropout,
    "batchnorm": BatchNorm,
    "add": Add,
    "flatten": Flatten,
}
"""Every kind by the name that files use."""

__all__ = ["KINDS", "Kind", "LayerError", "Shape", "Step", "show"]
