"""A network: layers with shapes, and the kernels one training step on a sub-batch consists of."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal

import msgspec

from sprintprof.networks.kernels import ELEMENT_BYTES, KernelCall
from sprintprof.networks.kinds import KINDS, Kind, LayerError, Shape, Step, show
from sprintprof.records import InputError

Direction = Literal["forward", "loss", "backward"]
INPUT = -1
"""Index that stands for the network's input among a layer's inputs."""
LARGEST = 1 << 50
"""Greatest element count of a tensor: more is a slip of the pen, and would not fit the files' 64-bit columns."""


class LayerCall(msgspec.Struct, frozen=True):
    """One kernel call of a training step, with the layer it belongs to (`index` into Network.layers)."""

    layer: str
    index: int
    direction: Direction
    call: KernelCall


class Layer(msgspec.Struct, frozen=True, dict=True):
    """One layer. `inputs` are indices into Network.layers, INPUT for the network's input. Shapes are per sample."""

    name: str
    kind: str
    options: Kind
    inputs: tuple[int, ...]
    input_shapes: tuple[Shape, ...]
    output_shape: Shape

    @cached_property
    def tensors(self) -> dict[str, int]:
        """Elements of each parameter tensor, by name, in stored order."""
        return self.options.tensors(self.input_shapes)

    @property
    def parameters(self) -> int:
        """Trained parameters."""
        return sum(self.tensors.values())

    @cached_property
    def multiply_adds(self) -> int:
        """Multiply-adds of the convolutions and matrix products, one sample, forward."""
        return self.options.multiply_adds(self.input_shapes)


class Network(msgspec.Struct, frozen=True, dict=True):
    """A network with all shapes known. Layers stand in an order in which each comes after its inputs."""

    name: str
    input_shape: Shape
    layers: tuple[Layer, ...]
    loss: Literal["softmax_xent", "none"] = "softmax_xent"
    title: str = ""
    source: str = ""

    @cached_property
    def parameters(self) -> int:
        """Trained parameters of all layers (P of the model; gradient bytes = P × bytes per element)."""
        return sum(self.layer_parameters)

    @cached_property
    def layer_parameters(self) -> tuple[int, ...]:
        """Trained parameters by layer, one entry a layer (0 where it has none): what tensor fusion packs."""
        return tuple(layer.parameters for layer in self.layers)

    @cached_property
    def multiply_adds(self) -> int:
        """Multiply-adds of one sample's forward pass (convolutions and matrix products; 2 FLOP each)."""
        return sum(layer.multiply_adds for layer in self.layers)

    @property
    def output_shape(self) -> Shape:
        """Shape of the last layer's output."""
        return self.layers[-1].output_shape

    def kernel_calls(
        self, batch: int, precision: str = "fp32", layout: str = "NCHW", forward_only: bool = False
    ) -> list[LayerCall]:
        """The kernels of one training step on a sub-batch of `batch` samples, in order: forward, loss, backward.

        Backward runs from the last layer to the first. A layer whose inputs depend on no trained parameter computes
        no gradient of its input; an output that several layers read gets their gradients summed by `add` calls,
        booked under the layer that made it. The update of the weights is not among them: it is over
        Network.parameters. `forward_only` is inference: no loss, no backward, dropout does nothing.
        Raises InputError for a batch under 1, an unknown precision or layout.
        """
        if batch < 1:
            raise InputError("sub-batch", f"{batch} samples cannot be trained on", "choose 1 or more")
        how = (precision, layout, forward_only)
        if how not in self._of_one_sample:
            self._of_one_sample[how] = self._calls(self._step(precision, layout, forward_only))
        return [_for_batch(item, batch) for item in self._of_one_sample[how]]

    @cached_property
    def _of_one_sample(self) -> dict[tuple[str, str, bool], list[LayerCall]]:
        """Calls for a sub-batch of one, by precision, layout and forward_only: `batch` of each is a multiple of it."""
        return {}

    def _calls(self, step: Step) -> list[LayerCall]:
        calls = [
            LayerCall(layer.name, index, "forward", call)
            for index, layer in enumerate(self.layers)
            for call in layer.options.forward(layer.input_shapes, step)
        ]
        return calls if step.inference else calls + self._loss_calls(step) + self._backward_calls(step)

    def _step(self, precision: str, layout: str, inference: bool) -> Step:
        if precision not in ELEMENT_BYTES:
            raise InputError("precision", f"there is no '{precision}'", f"known are {', '.join(ELEMENT_BYTES)}")
        if layout not in ("NCHW", "NHWC"):
            raise InputError("layout", f"there is no '{layout}'", "known are NCHW, NHWC")
        return Step(1, precision, layout, inference)

    def _loss_calls(self, step: Step) -> list[LayerCall]:
        if self.loss == "none":
            return []
        shape = self.output_shape
        classes = shape[1] if len(shape) == 2 else shape[0]
        rows = math.prod(shape) // classes
        call = step.call("softmax_xent", batch=step.batch * rows, classes=classes)
        return [LayerCall(self.layers[-1].name, len(self.layers) - 1, "loss", call)]

    def _backward_calls(self, step: Step) -> list[LayerCall]:
        readers = [0] * len(self.layers)
        trained = [False] * (len(self.layers) + 1)  # the last one is INPUT
        for index, layer in enumerate(self.layers):
            trained[index] = layer.parameters > 0 or any(trained[i] for i in layer.inputs)
            for i in layer.inputs:
                if i != INPUT:
                    readers[i] += 1
        found = []
        for index in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[index]
            if not trained[index]:
                continue
            forks = max(readers[index] - 1, 0)
            calls = [step.call("add", features=math.prod(layer.output_shape))] * forks
            data = any(trained[i] for i in layer.inputs)
            calls += layer.options.backward(layer.input_shapes, step, data)
            found += [LayerCall(layer.name, index, "backward", call) for call in calls]
        return found


def _for_batch(item: LayerCall, batch: int) -> LayerCall:
    """The call of one sample for a sub-batch: every layer kernel's `batch` grows with it."""
    parameters = item.call.parameters.copy()
    parameters["batch"] = int(parameters["batch"]) * batch
    return LayerCall(item.layer, item.index, item.direction, KernelCall(item.call.kernel, parameters))


def make_layer(
    where: str, name: str, kind: str, options: Kind, inputs: tuple[int, ...], shapes: tuple[Shape, ...]
) -> Layer:
    """A layer with its output shape. Raises InputError that names file, layer and key where it cannot be."""
    place = f"{where}, layer '{name}'"
    least, most = KINDS[kind].arity
    if not least <= len(shapes) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise InputError(f"{place}, inputs", f"'{kind}' has {wanted}, not {len(shapes)}", "name the layers it reads")
    try:
        output = options.output(shapes)
        layer = Layer(name, kind, options, inputs, shapes, output)
        sizes = [math.prod(output), *layer.tensors.values()]
    except LayerError as error:
        at = f"{place}, {error.key}" if error.key else place
        raise InputError(at, error.what, error.remedy) from None
    except InputError as error:  # a window that does not fit
        raise InputError(f"{place}, kernel", f"{error.where} {error.what}", error.remedy) from None
    if max(sizes) > LARGEST:
        raise InputError(place, f"makes a tensor of more than {LARGEST} elements ({show(output)})", "check its sizes")
    return layer
