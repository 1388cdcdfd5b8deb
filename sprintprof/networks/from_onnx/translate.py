"""ONNX operators as layers. What has no layer kind is refused by name, never left out in silence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from sprintprof.networks.from_onnx.graph import Constant, Graph, Node, read_graph
from sprintprof.networks.from_onnx.windows import sliding
from sprintprof.networks.kinds import KINDS, LayerError, Shape, show
from sprintprof.networks.reader import network_from
from sprintprof.records import InputError
from sprintprof.records.tomlfile import convert, shorten

Tables = dict[str, Any]


class Tensor(msgspec.Struct, frozen=True):
    """A tensor on its way: the layer that made it, its shape, and how it is viewed ("", "grouped", "shuffled")."""

    layer: str
    shape: Shape
    view: str = ""
    groups: int = 1


def import_onnx(path: str | Path, input_shape: Shape | None = None, output: str | None = None) -> Tables:
    """The tables of a network file for an ONNX model (see docs/formats-network.md), checked by building the network.

    `input_shape` (C, H, W) is for models that leave it open; `output` picks one of several outputs. A softmax at the
    end becomes the loss. Raises InputError: not readable, operators or shapes that no layer kind has.
    """
    graph = read_graph(path)
    tables = _Translation(graph, str(path), input_shape, output).tables()
    network_from(tables, str(path), Path(path).stem)
    return tables


class _Translation:
    def __init__(self, graph: Graph, where: str, input_shape: Shape | None, output: str | None) -> None:
        self.graph = graph
        self.where = where
        self.output = output or graph.outputs[0]
        if self.output not in graph.outputs:
            known = ", ".join(map(shorten, graph.outputs[:10]))
            raise InputError(where, f"has no output '{shorten(self.output)}'", f"known are {known}")
        self.shape = input_shape or self._input_shape()
        self.tensors = {graph.input_name: Tensor("input", self.shape)}
        self.layers: dict[str, Tables] = {}
        self.readers = Counter(name for node in graph.nodes for name in node.inputs)

    def _input_shape(self) -> Shape:
        dims = self.graph.input_dims[1:]
        if not dims or None in dims:
            shown = "×".join("?" if d is None else str(d) for d in self.graph.input_dims) or "unknown"
            raise InputError(self.where, f"leaves its input shape open ({shown})", "give it: --input 3x224x224")
        return tuple(d for d in dims if d is not None)

    def tables(self) -> Tables:
        """The network file."""
        for node in self._needed():
            place = f"{self.where}, node '{shorten(node.name)}' ({node.op})"
            if node.op not in _OPERATORS:
                known = ", ".join(sorted(_OPERATORS))
                raise InputError(place, "has no layer kind", f"supported are {known}")
            try:
                _OPERATORS[node.op](self, node)
            except LayerError as error:
                raise InputError(place, f"{error.key} {error.what}", error.remedy) from None
            except InputError as error:
                raise InputError(place, f"{error.where}: {error.what}", error.remedy) from None
        return {"input": list(self.shape), "layers": self._written()}

    def _needed(self) -> list[Node]:
        """The nodes that lead to the output, in order; a softmax that makes the output is the loss's."""
        maker = {name: node for node in self.graph.nodes for name in node.outputs}
        last = maker.get(self.output)
        while last is not None and last.op in ("Softmax", "LogSoftmax", "Identity"):
            self.output = last.inputs[0] if last.inputs else ""
            last = maker.get(self.output)
        wanted, needed = [self.output], set()
        while wanted:
            node = maker.get(wanted.pop())
            if node is not None and id(node) not in needed:
                needed.add(id(node))
                wanted += node.inputs
        if not needed:
            raise InputError(self.where, "has no layers between input and output", "check that it is the right file")
        return [node for node in self.graph.nodes if id(node) in needed]

    def _written(self) -> list[Tables]:
        """The layers with `inputs` only where they are not the layer before."""
        found, previous = [], "input"
        for name, layer in self.layers.items():
            inputs = layer["inputs"]
            rest = {k: v for k, v in layer.items() if k != "inputs"}
            found.append({"name": name, **rest} if inputs == [previous] else {"name": name, **layer})
            previous = name
        return found

    def data(self, node: Node, index: int = 0) -> Tensor:
        """The tensor a node reads. Raises LayerError where it is a constant or made later."""
        name = node.inputs[index] if index < len(node.inputs) else ""
        if name not in self.tensors:
            what = "a constant" if name in self.graph.constants else "not made by a node before it"
            raise LayerError(f"reads '{shorten(name)}', which is {what}", "this form is not supported")
        if self.tensors[name].view and node.op not in ("Transpose", "Reshape"):
            raise LayerError("reads a tensor of five dimensions", "this form is not supported")
        return self.tensors[name]

    def constant(self, node: Node, index: int) -> Constant | None:
        """The constant a node reads at `index`, if it is one."""
        return self.graph.constants.get(node.inputs[index]) if index < len(node.inputs) else None

    def weight(self, node: Node, index: int = 1) -> tuple[int, ...]:
        """Dimensions of a node's weights. Raises LayerError where they are not constant."""
        found = self.constant(node, index)
        if found is None or found.dims is None:
            raise LayerError("has weights that are not constant", "this form is not supported")
        return found.dims

    def emit(self, node: Node, kind: str, options: Tables, sources: list[Tensor], suffix: str = "") -> Tensor:
        """Add a layer; what it makes is the node's output."""
        inputs, shapes = [s.layer for s in sources], tuple(s.shape for s in sources)
        shape = convert(options, KINDS[kind], kind).output(shapes)
        defaults = {field.name: field.default for field in msgspec.structs.fields(KINDS[kind])}
        options = {k: v for k, v in options.items() if v != defaults[k] or (kind, k) == ("pool", "mode")}
        name = self._name(node.name + suffix)
        self.layers[name] = {"kind": kind, **({} if not inputs else {"inputs": inputs}), **options}
        made = Tensor(name, shape)
        self.tensors[node.outputs[0]] = made
        return made

    def passed(self, node: Node, tensor: Tensor) -> None:
        """The node's output is this tensor: nothing is done."""
        self.tensors[node.outputs[0]] = tensor

    def _name(self, wanted: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_./:+-]", "_", wanted).lstrip("./:+-")[:150] or "layer"
        name, number = base, 1
        while name in self.layers or name == "input":
            number += 1
            name = f"{base}_{number}"
        return name


def _convolution(t: _Translation, node: Node) -> None:
    x, weight = t.data(node), t.weight(node)
    window = sliding(node, x.shape, list(weight[2:]), dilated=True)
    if window.before:
        x = t.emit(node, "pad", dict(window.before), [x], "_pad")
    groups = int(node.attributes.get("group", 1))
    options = {"filters": weight[0], **window.options, "bias": len(node.inputs) > 2}
    if weight[1] * groups != x.shape[0]:
        raise LayerError(f"has weights of {show(weight)} for an image of {show(x.shape)}", "check the model")
    t.emit(node, "conv", options | ({"groups": groups} if groups > 1 else {}), [x])


def _transposed(t: _Translation, node: Node) -> None:
    x, weight = t.data(node), t.weight(node)
    window = sliding(node, x.shape, list(weight[2:]), dilated=False)
    if window.before or node.integers("dilations", [1, 1]) != [1, 1] or "output_shape" in node.attributes:
        raise LayerError("has uneven padding, dilation or a given output shape", "this form is not supported")
    groups, extra = int(node.attributes.get("group", 1)), node.integers("output_padding", [0, 0])
    options = {"filters": weight[1] * groups, **window.options, "bias": len(node.inputs) > 2}
    options |= {"output_pad": extra} if any(extra) else {}
    t.emit(node, "conv_transpose", options | ({"groups": groups} if groups > 1 else {}), [x])


def _pooling(t: _Translation, node: Node) -> None:
    x = t.data(node)
    window = sliding(node, x.shape, node.integers("kernel_shape", []), dilated=False)
    if node.integers("dilations", [1, 1]) != [1, 1]:
        raise LayerError("is dilated", "this form is not supported")
    if window.before:
        x = t.emit(node, "pad", dict(window.before), [x], "_pad")
    mode = "average" if node.op == "AveragePool" else "max"
    rounding = {"rounding": "ceil"} if node.attributes.get("ceil_mode", 0) else {}
    t.emit(node, "pool", {"mode": mode, **window.options, **rounding}, [x])


def _global_pool(t: _Translation, node: Node) -> None:
    mode = "max" if node.op == "GlobalMaxPool" else "average"
    t.emit(node, "global_pool", {"mode": mode}, [t.data(node)])


def _mean(t: _Translation, node: Node) -> None:
    given = t.constant(node, 1)
    axes = node.integers("axes", [int(v) for v in (given.values if given and given.values else ())])
    x = t.data(node)
    if len(x.shape) != 3 or sorted(a % 4 for a in axes) != [2, 3]:
        raise LayerError(f"is over axes {axes}", "only the mean over height and width is supported")
    t.emit(node, "global_pool", {}, [x])
    if not node.attributes.get("keepdims", 1):
        t.emit(node, "flatten", {}, [t.tensors[node.outputs[0]]], "_flat")


def _product(t: _Translation, node: Node) -> None:
    x, weight = t.data(node), t.weight(node)
    if len(weight) != 2 or node.attributes.get("transA", 0):
        raise LayerError(f"multiplies by a tensor of {show(weight)}", "only matrices are supported")
    outputs, inputs = weight if node.attributes.get("transB", 0) else weight[::-1]
    own = x.shape[1] if len(x.shape) == 2 else math.prod(x.shape)
    if own != inputs:
        raise LayerError(f"has weights for {inputs} features, its input has {own}", "check the input size")
    t.emit(node, "linear", {"features": outputs, "bias": len(node.inputs) > 2}, [x])


def _simple(kind: str, **names: str) -> Callable[[_Translation, Node], None]:
    """An operator with one input; `names` are option = attribute."""

    def translate(t: _Translation, node: Node) -> None:
        options = {option: node.attributes[name] for option, name in names.items() if name in node.attributes}
        t.emit(node, kind, options, [t.data(node)])

    return translate


def _dropout(t: _Translation, node: Node) -> None:
    given = t.constant(node, 1)
    rate = node.attributes.get("ratio", given.values[0] if given and given.values else 0.5)
    t.emit(node, "dropout", {"rate": round(float(rate), 6)}, [t.data(node)])


def _joined(t: _Translation, node: Node) -> None:
    if int(node.attributes.get("axis", 1)) not in (1, -3):
        raise LayerError("does not join channels", "only axis 1 is supported")
    t.emit(node, "concat", {}, [t.data(node, i) for i in range(len(node.inputs))])


def _sum(t: _Translation, node: Node) -> None:
    """A sum of activations; or numbers added per channel, which are the bias or shift of the layer before."""
    constants = [c for i in range(len(node.inputs)) if (c := t.constant(node, i)) is not None]
    if not constants:
        t.emit(node, "add", {}, [t.data(node, i) for i in range(len(node.inputs))])
        return
    _folded(t, node, {"conv": "bias", "conv_transpose": "bias", "linear": "bias", "batchnorm": "shift"})


def _times(t: _Translation, node: Node) -> None:
    """x·sigmoid(x) is SiLU; an image times a number per channel is a scale; constants belong to the layer before."""
    if any(t.constant(node, i) is not None for i in range(len(node.inputs))):
        _folded(t, node, {"batchnorm": "scale"})
        return
    a, b = t.data(node, 0), t.data(node, 1)
    for x, gate in ((a, b), (b, a)):
        layer = t.layers.get(gate.layer, {})
        single = all(t.readers[n] == 1 for n in node.inputs if t.tensors[n].layer == gate.layer)
        if layer.get("kind") == "sigmoid" and layer["inputs"] == [x.layer] and single:
            del t.layers[gate.layer]
            t.emit(node, "silu", {}, [x])
            return
    big, small = (a, b) if math.prod(a.shape) >= math.prod(b.shape) else (b, a)
    t.emit(node, "scale", {}, [big, small])


def _folded(t: _Translation, node: Node, options: dict[str, str]) -> None:
    """Numbers per channel become the option of the layer that made the data; a single number is passed over."""
    index = next(i for i in range(len(node.inputs)) if t.constant(node, i) is None)
    x, numbers = t.data(node, index), t.constant(node, 1 - index)
    count = None if numbers is None or numbers.dims is None else math.prod(numbers.dims)
    layer = t.layers.get(x.layer, {})
    option = options.get(layer.get("kind", ""))
    if count == 1:
        t.passed(node, x)
    elif option and count == (x.shape[-1] if len(x.shape) == 2 else x.shape[0]):
        if option == "bias":
            layer[option] = True
        t.passed(node, x)
    else:
        raise LayerError("adds or multiplies constants that are no layer's", "this form is not supported")


def _reshaped(t: _Translation, node: Node) -> None:
    """An image to a vector; or the splitting and joining of channels in a channel shuffle."""
    x, target = t.data(node), t.constant(node, 1)
    given = node.attributes.get("shape") or (target.values if target else None)
    sizes = [int(v) for v in given] if given else []
    if x.view == "shuffled" and len(sizes) in (0, 4):
        t.emit(node, "shuffle", {"groups": x.groups}, [Tensor(x.layer, x.shape)])
    elif len(x.shape) == 3 and len(sizes) == 5 and sizes[1] > 0:
        t.passed(node, Tensor(x.layer, x.shape, "grouped", sizes[1]))
    elif len(sizes) in (0, 2) and not x.view:
        _flattened(t, node)
    elif len(sizes) == 4 and x.shape == tuple(sizes[1:]):
        t.passed(node, x)
    else:
        raise LayerError(f"makes {sizes} of {show(x.shape)}", "only flattening and channel shuffles are supported")


def _flattened(t: _Translation, node: Node) -> None:
    x = t.data(node)
    if len(x.shape) == 1:
        t.passed(node, x)
    else:
        t.emit(node, "flatten", {}, [x])


def _permuted(t: _Translation, node: Node) -> None:
    x = t.data(node)
    if x.view != "grouped" or node.integers("perm", []) != [0, 2, 1, 3, 4]:
        raise LayerError(f"has the order {node.integers('perm', [])}", "only channel shuffles are supported")
    t.passed(node, Tensor(x.layer, x.shape, "shuffled", x.groups))


def _padded(t: _Translation, node: Node) -> None:
    x, given = t.data(node), t.constant(node, 1)
    pads = node.integers("pads", [int(v) for v in (given.values if given and given.values else ())])
    if len(x.shape) != 3 or len(pads) != 8 or min(pads) < 0 or pads[0] or pads[1] or pads[4]:
        raise LayerError(f"has paddings {pads}", "only zeros around the image and behind the channels are supported")
    sides = {"top": pads[2], "left": pads[3], "channels": pads[5], "bottom": pads[6], "right": pads[7]}
    t.emit(node, "pad", {side: zeros for side, zeros in sides.items() if zeros}, [x])


def _passed(t: _Translation, node: Node) -> None:
    t.passed(node, t.data(node))


_OPERATORS: dict[str, Callable[[_Translation, Node], None]] = {
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "MaxPool": _pooling,
    "AveragePool": _pooling,
    "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool,
    "ReduceMean": _mean,
    "Gemm": _product,
    "MatMul": _product,
    "Relu": _simple("relu"),
    "Clip": _simple("relu"),
    "Sigmoid": _simple("sigmoid"),
    "Tanh": _simple("tanh"),
    "Gelu": _simple("gelu"),
    "LRN": _simple("lrn", size="size"),
    "BatchNormalization": _simple("batchnorm"),
    "Dropout": _dropout,
    "Concat": _joined,
    "Add": _sum,
    "Sum": _sum,
    "Mul": _times,
    "Reshape": _reshaped,
    "Flatten": _flattened,
    "Squeeze": _flattened,
    "Transpose": _permuted,
    "Pad": _padded,
    "Identity": _passed,
    "Cast": _passed,
}
