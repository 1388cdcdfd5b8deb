"""An ONNX file as plain data: nodes, constants, the image that goes in and the tensor that comes out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec

from sprintprof.records import InputError
from sprintprof.records.tomlfile import shorten

MAX_NODES = 50_000
_SMALL = 64
"""Constants of at most so many elements keep their values (targets of Reshape, limits of Clip)."""


class Node(msgspec.Struct, frozen=True):
    """One operator: its type, the tensors it reads and makes, its attributes as plain values."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    def integers(self, key: str, default: list[int]) -> list[int]:
        """A list attribute."""
        return [int(v) for v in self.attributes.get(key, default)]


class Constant(msgspec.Struct, frozen=True):
    """A tensor known before the network runs: its dimensions, None where unknown, and its values if they are few."""

    dims: tuple[int, ...] | None
    values: tuple[float, ...] | None = None


class Graph(msgspec.Struct, frozen=True):
    """The graph in the order of the file. `input_dims` has None for dimensions that are left open."""

    nodes: tuple[Node, ...]
    constants: dict[str, Constant]
    input_name: str
    input_dims: tuple[int | None, ...]
    outputs: tuple[str, ...]


def read_graph(path: str | Path) -> Graph:
    """The graph of an ONNX file. Raises InputError: no onnx package, absent, not ONNX, no or several images."""
    try:
        import onnx
    except ImportError:
        raise InputError("networks import", "needs the onnx package", "pip install 'sprintprof[onnx]'") from None
    where = str(path)
    try:
        model = onnx.load(where, load_external_data=False)
    except OSError as error:
        raise InputError(where, f"cannot be read ({error.strerror})", "check the path") from None
    except Exception as error:  # noqa: BLE001  (the parser's own types differ from version to version)
        raise InputError(where, f"is not an ONNX model ({shorten(error)})", "check that it is the right file") from None
    graph = model.graph
    if not graph.node or not graph.output:
        raise InputError(where, "is not an ONNX model, or an empty one", "check that it is the right file")
    if len(graph.node) > MAX_NODES:
        raise InputError(where, f"has more than {MAX_NODES} nodes", "check that it is the right file")
    constants = {tensor.name: _constant(tensor) for tensor in graph.initializer}
    nodes = []
    for number, raw in enumerate(graph.node):
        node = _node(raw, number)
        if (made := _made_constant(node, constants)) is None:
            nodes.append(node)
        else:
            constants |= dict.fromkeys(node.outputs, made)
    images = [value for value in graph.input if value.name not in constants]
    if len(images) != 1:
        names = ", ".join(shorten(value.name) for value in images[:5]) or "none"
        raise InputError(where, f"has {len(images)} inputs ({names})", "only networks with one input can be imported")
    dims = tuple(d.dim_value if d.dim_value > 0 else None for d in images[0].type.tensor_type.shape.dim)
    outputs = tuple(value.name for value in graph.output)
    return Graph(tuple(nodes), constants, images[0].name, dims, outputs)


def _node(raw: Any, number: int) -> Node:
    from onnx import helper

    name = raw.name or (raw.output[0] if raw.output else f"node{number}")
    attributes = {}
    for attribute in raw.attribute:
        value = helper.get_attribute_value(attribute)
        attributes[attribute.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return Node(raw.op_type, name, tuple(raw.input), tuple(raw.output), attributes)


def _constant(tensor: Any) -> Constant:
    from onnx import numpy_helper

    dims = tuple(int(d) for d in tensor.dims)
    values = None
    if 0 < math.prod(dims) <= _SMALL and tensor.data_location != tensor.EXTERNAL:
        try:
            values = tuple(float(v) for v in numpy_helper.to_array(tensor).reshape(-1))
        except (TypeError, ValueError):  # text, or fewer bytes than the dimensions say
            values = None
    return Constant(dims, values)


def _made_constant(node: Node, constants: dict[str, Constant]) -> Constant | None:
    """The constant a node makes out of constants or shapes alone; None where it works on data."""
    if node.op == "Constant":
        value = node.attributes.get("value")
        return Constant(None) if value is None else _constant(value)
    if node.op == "Shape":
        return Constant(None)
    if not node.inputs or any(name not in constants for name in node.inputs if name):
        return None
    given = [constants[name] for name in node.inputs if name]
    if node.op == "ConstantOfShape" and given[0].values is not None:
        return Constant(tuple(int(v) for v in given[0].values))
    if node.op == "Unsqueeze" and given[0].dims is not None:  # per-channel numbers, made C×1×1
        return Constant((*given[0].dims, *(1 for _ in node.integers("axes", [0]))), given[0].values)
    if node.op == "Reshape" and len(given) == 2:
        return Constant(_reshaped(given[0].dims, given[1].values), given[0].values)
    return given[0] if node.op in ("Identity", "Cast") else Constant(None)


def _reshaped(dims: tuple[int, ...] | None, target: tuple[float, ...] | None) -> tuple[int, ...] | None:
    """Dimensions after Reshape: 0 keeps one, -1 is what remains."""
    if dims is None or target is None:
        return None
    sizes = [dims[i] if t == 0 and i < len(dims) else int(t) for i, t in enumerate(target)]
    known = math.prod(n for n in sizes if n != -1)
    return tuple(math.prod(dims) // max(known, 1) if n == -1 else n for n in sizes)
