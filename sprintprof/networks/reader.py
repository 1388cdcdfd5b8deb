"""Network files: TOML layers in order, repeated blocks, shapes inferred. The format: docs/formats-network.md."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from sprintprof.networks.kinds import KINDS, Shape, show
from sprintprof.networks.network import INPUT, LARGEST, Layer, Network, make_layer
from sprintprof.records import InputError
from sprintprof.records.tomlfile import convert, near, read_toml, shorten

MAX_LAYERS = 10_000
MAX_DEPTH = 16
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:+-]{0,199}")
_SIZES = Annotated[list[Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]], msgspec.Meta(min_length=1, max_length=3)]
_RESERVED = ("block", "name", "inputs", "repeat")

Entry = dict[str, Any]


class _Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    layers: list[Entry]
    defaults: Entry = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    input: _SIZES
    layers: list[Entry]
    name: str = ""
    title: str = ""
    source: str = ""
    loss: Literal["softmax_xent", "none"] = "softmax_xent"
    blocks: dict[str, dict[str, Any]] = {}


class _LayerHead(msgspec.Struct, frozen=True):
    """The keys every layer has; the others are options of its kind."""

    kind: str
    name: str | None = None
    inputs: str | list[str] | None = None


class _BlockHead(msgspec.Struct, frozen=True):
    """The keys every use of a block has; the others are parameters of the block."""

    block: str
    name: str | None = None
    inputs: str | list[str] | None = None
    repeat: Annotated[int, msgspec.Meta(ge=1, le=MAX_LAYERS)] | None = None


def read_network(path: str | Path, input_shape: Shape | None = None) -> Network:
    """The network of a TOML file, with `input_shape` in place of the file's where given. Raises InputError."""
    return network_from(read_toml(path), str(path), Path(path).stem, input_shape)


def network_from(data: dict[str, Any], where: str, name: str, input_shape: Shape | None = None) -> Network:
    """The network that TOML tables describe; `name` where they give none. Raises InputError."""
    file = convert(data, _File, where)
    blocks = {key: convert(block, _Block, f"{where}, blocks.{shorten(key)}") for key, block in file.blocks.items()}
    for key, block in blocks.items():
        if not block.layers:
            raise InputError(f"{where}, blocks.{shorten(key)}", "has no layers", "add layers or remove it")
    shape = tuple(file.input) if input_shape is None else input_shape
    if not 1 <= len(shape) <= 3 or min(shape) < 1 or math.prod(shape) > LARGEST:
        remedy = "write channels, height, width, each at least 1"
        raise InputError(where if input_shape is None else "input shape", f"{show(shape)} cannot be", remedy)
    builder = _Builder(where, blocks, shape)
    scope = _Scope("", {"input": INPUT}, {})
    if not file.layers:
        raise InputError(f"{where}, layers", "is empty", "add layers")
    last = builder.add(file.layers, scope, INPUT, ())
    _check_all_are_read(where, builder.layers, last)
    return Network(file.name or name, builder.input_shape, tuple(builder.layers), file.loss, file.title, file.source)


def _check_all_are_read(where: str, layers: list[Layer], last: int) -> None:
    read = {i for layer in layers for i in layer.inputs} | {last}
    for index, layer in enumerate(layers):
        if index not in read:
            remedy = "name it in the inputs of a later layer or remove it"
            raise InputError(f"{where}, layer '{layer.name}'", "its output is read by no layer", remedy)


class _Scope(msgspec.Struct):
    """Where names are looked up: `inputs` of the block (input, input2 …), `parameters` it was called with."""

    prefix: str
    inputs: dict[str, int]
    parameters: Entry


class _Builder:
    """Expands blocks and makes layers one by one, each after its inputs."""

    def __init__(self, where: str, blocks: dict[str, _Block], input_shape: Shape) -> None:
        self.where = where
        self.blocks = blocks
        self.input_shape = input_shape
        self.layers: list[Layer] = []
        self.outputs: dict[str, int] = {}
        self.values = {name: _values(block.layers) for name, block in blocks.items()}

    def add(self, entries: list[Entry], scope: _Scope, previous: int, stack: tuple[str, ...]) -> int:
        """Append the entries' layers; returns the index of the last one."""
        later = {e["name"] for e in entries if isinstance(e.get("name"), str)}
        counts: dict[str, int] = {}
        for number, entry in enumerate(entries, 1):
            place = f"{self.where}, {_place(scope, stack, number, entry)}"
            entry = self._substitute(entry, scope, place)
            head = _head(entry, place)
            base = head.block if isinstance(head, _BlockHead) else head.kind
            name = head.name if head.name is not None else _free_name(base, counts, later)
            if not _NAME.fullmatch(name):
                remedy = "write letters, digits and _ . / : + -, at most 200"
                raise InputError(f"{place}, name", f"'{shorten(name)}' is not a name", remedy)
            if name in scope.inputs or scope.prefix + name in self.outputs:
                raise InputError(f"{place}, name", f"'{name}' is taken", "choose another name")
            inputs = self._inputs(head.inputs, scope, previous, place, later)
            if isinstance(head, _BlockHead):
                previous = self._add_block(head, entry, scope, name, inputs, place, stack)
            else:
                previous = self._add_layer(head, entry, scope, name, inputs, place)
            self.outputs[scope.prefix + name] = previous
        return previous

    def _substitute(self, entry: Entry, scope: _Scope, place: str) -> Entry:
        """The entry with "$name" replaced by the block's parameter of that name."""

        def value_of(value: Any, key: str) -> Any:
            if isinstance(value, list):
                return [value_of(v, key) for v in value]
            if not isinstance(value, str) or not value.startswith("$"):
                return value
            if value[1:] not in scope.parameters:
                what = f"'{shorten(value)}' is not a parameter here"
                raise InputError(f"{place}, {key}", what, "give it where the block is used, or under defaults")
            return scope.parameters[value[1:]]

        return {key: value_of(value, key) for key, value in entry.items()}

    def _inputs(
        self, named: str | list[str] | None, scope: _Scope, previous: int, place: str, later: set[str]
    ) -> tuple[int, ...]:
        if named is None:
            return (previous,)
        return tuple(self._find(n, scope, place, later) for n in ([named] if isinstance(named, str) else named))

    def _find(self, name: str, scope: _Scope, place: str, later: set[str]) -> int:
        if name in scope.inputs:
            return scope.inputs[name]
        full = scope.prefix + name
        if full in self.outputs:
            return self.outputs[full]
        if name in later:
            what = f"'{shorten(name)}' is this layer or comes after it"
            raise InputError(f"{place}, inputs", what, "a layer reads earlier ones only, without cycles: reorder")
        here = [n.removeprefix(scope.prefix) for n in self.outputs if n.startswith(scope.prefix)]
        remedy = near(name, here[-200:] + list(scope.inputs), "name an earlier layer, or input")
        raise InputError(f"{place}, inputs", f"there is no layer '{shorten(name)}' before it", remedy)

    def _add_layer(
        self, head: _LayerHead, entry: Entry, scope: _Scope, name: str, inputs: tuple[int, ...], place: str
    ) -> int:
        if head.kind not in KINDS:
            raise InputError(f"{place}, kind", f"there is no kind '{shorten(head.kind)}'", near(head.kind, KINDS))
        given = {k: v for k, v in entry.items() if k not in ("kind", "name", "inputs")}
        options = convert(given, KINDS[head.kind], place)
        if len(self.layers) >= MAX_LAYERS:
            raise InputError(self.where, f"has more than {MAX_LAYERS} layers", "check the repeats of its blocks")
        shapes = tuple(self.input_shape if i == INPUT else self.layers[i].output_shape for i in inputs)
        full = scope.prefix + name
        self.layers.append(make_layer(self.where, full, head.kind, options, inputs, shapes))
        return len(self.layers) - 1

    def _add_block(
        self,
        head: _BlockHead,
        entry: Entry,
        scope: _Scope,
        name: str,
        inputs: tuple[int, ...],
        place: str,
        stack: tuple[str, ...],
    ) -> int:
        if head.block not in self.blocks:
            remedy = near(head.block, self.blocks) if self.blocks else "write it under [blocks]"
            raise InputError(f"{place}, block", f"there is no block '{shorten(head.block)}'", remedy)
        if head.block in stack or len(stack) >= MAX_DEPTH:
            chain = " in ".join([head.block, *reversed(stack)])
            raise InputError(f"{place}, block", f"blocks go round or too deep: {shorten(chain, 200)}", "unfold them")
        block = self.blocks[head.block]
        given = {k: v for k, v in entry.items() if k not in _RESERVED}
        wanted = self.values[head.block] | set(block.defaults)
        for key in given:
            if key not in wanted:
                remedy = near(key, wanted) if wanted else "the block has no parameters"
                raise InputError(f"{place}, {shorten(key)}", f"is not a parameter of '{head.block}'", remedy)
        last = inputs[0]
        for i in range(head.repeat or 1):
            prefix = f"{scope.prefix}{name}." if head.repeat is None else f"{scope.prefix}{name}.{i}."
            if prefix[:-1] in self.outputs:
                raise InputError(f"{place}, name", f"'{shorten(prefix[:-1])}' is taken", "choose another name")
            sources = {"input" if n == 0 else f"input{n + 1}": source for n, source in enumerate((last, *inputs[1:]))}
            inner = _Scope(prefix, sources, block.defaults | given)
            last = self.add(block.layers, inner, last, (*stack, head.block))
            self.outputs[prefix[:-1]] = last
        return last


def _head(entry: Entry, place: str) -> _LayerHead | _BlockHead:
    if "block" not in entry:
        return convert(entry, _LayerHead, place)
    if "kind" in entry:
        raise InputError(place, "has both 'kind' and 'block'", "remove one of them")
    return convert(entry, _BlockHead, place)


def _values(entries: list[Entry]) -> set[str]:
    """Names of the parameters that a block's layers use."""
    found = set()
    for entry in entries:
        for value in entry.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str) and item.startswith("$"):
                    found.add(item[1:])
    return found


def _free_name(base: str, counts: dict[str, int], taken: set[str]) -> str:
    """conv1, conv2 …: the kind and a running number within the scope."""
    while True:
        counts[base] = counts.get(base, 0) + 1
        if (name := f"{base}{counts[base]}") not in taken:
            return name


def _place(scope: _Scope, stack: tuple[str, ...], number: int, entry: Entry) -> str:
    """`layer 3 'conv1'` or `layer 3 of block 'basic'`: where the user finds the entry in the file."""
    of = f" of block '{stack[-1]}'" if stack else ""
    name = entry.get("name")
    return f"layer {number}{of}" + (f" '{shorten(name)}'" if isinstance(name, str) else "")
