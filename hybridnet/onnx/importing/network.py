"""An ONNX graph, read node by node into a symbol and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np

from hybridnet import symbol as symbols
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.base.lazy import onnx
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import Edge, Node, infer_call
from hybridnet.symbol import Symbol

from ..protos import array_of, attributes_of
from .arrival import Arrival, ConstantValue, Held, ImportModelError, Types
from .table import translate

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

#: What stands for an open size while the model is read: of the first axis, and of others, which
#: must be large enough for images.
_FIRST_SIZES: Final = (6, 10)
_OTHER_SIZES: Final = (224, 256)
#: What is not computed while a model is read, though its inputs are known.
_DRAWN: Final = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
)
#: Operators by which a few numbers become many, and how many these may be.
_GROWING: Final = frozenset({"ConstantOfShape", "Expand", "Range", "Tile"})
_MAX_NUMBERS: Final = 2**27


def sizes_of(value: ValueInfoProto) -> tuple[int, ...]:
    """Returns the sizes of an input or output of a model, 0 for open ones."""
    return tuple(int(dim.dim_value) for dim in value.type.tensor_type.shape.dim)


def inputs_of(graph: GraphProto) -> list[ValueInfoProto]:
    """Returns the inputs of a model that are no weights."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


@final
class Reader:
    """A model while it is read.

    Args:
        model: the model.
        path: of its file, for messages.

    Attributes:
        params: the numbers of the variables that are parameters, by name.
    """

    def __init__(self, model: ModelProto, path: str) -> None:
        self.params: dict[str, NumpyArray] = {}
        self._path = path
        self._graph = model.graph
        versions = [one.version for one in model.opset_import if one.domain in ("", "ai.onnx")]
        self._opset = max(versions, default=1)
        self._values: dict[str, Held] = {}
        self._variables: dict[str, Symbol] = {}
        self._types: dict[Edge, Types] = {}

    def read(self) -> Symbol:
        """Reads all nodes; returns the outputs.

        Raises:
            ImportModelError: a node has no form here.
            FormatError: the model is damaged.
        """
        for tensor in self._graph.initializer:
            array = array_of(tensor)
            self._values[tensor.name] = ConstantValue(tensor.name, array, array)
        for value in inputs_of(self._graph):
            self._values[value.name] = self._input(value)
        for node in self._graph.node:
            self._node(node)
        outputs = [self._output(value.name) for value in self._graph.output]
        return outputs[0] if len(outputs) == 1 else symbols.Group(outputs)

    def _input(self, value: ValueInfoProto) -> Symbol:
        if not value.type.tensor_type.HasField("shape"):
            raise FormatError(f"{self._path}: input {value.name!r} must have a shape")
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        sizes = sizes_of(value)
        made = symbols.var(value.name, dtype=None if dtype == FLOAT32 else dtype)
        shapes = [
            tuple(
                n or (_OTHER_SIZES if axis else _FIRST_SIZES)[way] for axis, n in enumerate(sizes)
            )
            for way in (0, 1)
        ]
        shapes = [shape or (1,) for shape in shapes]  # there are no arrays without dimensions
        self._types[made.edges[0]] = tensor_type(shapes[0], dtype), tensor_type(shapes[1], dtype)
        return made

    def _output(self, name: str) -> Symbol:
        value = self._value(name)
        if value is None:
            raise FormatError(f"{self._path}: an output has no name")
        if isinstance(value, Symbol):
            return value
        return self._parameter(value.name, value.first.reshape(value.first.shape or (1,)))

    def _value(self, name: str) -> Held | None:
        if not name:
            return None
        if name not in self._values:
            raise FormatError(f"{self._path}: a node reads {name!r}, which no node makes")
        return self._values[name]

    def _parameter(self, name: str, array: NumpyArray) -> Symbol:
        """Returns the variable of a parameter, which is one however often it is used."""
        found = self._variables.get(name)
        if found is None:
            dtype = None if array.dtype == FLOAT32 else array.dtype
            found = symbols.var(name, shape=array.shape, dtype=dtype)
            self._variables[name] = found
            self.params[name] = array
            type_ = tensor_type(array.shape, array.dtype)
            self._types[found.edges[0]] = type_, type_
        return found

    def _node(self, node: NodeProto) -> None:
        if node.domain not in ("", "ai.onnx"):
            raise ImportModelError(
                f"import_model: node {node.name or node.output[0]!r}: operators of the domain "
                f"{node.domain!r} have no form here; export the model with ONNX's own"
            )
        inputs = [self._value(name) for name in node.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        made: Sequence[Held] | None = self._of_shape(node, inputs) or self._folded(node, inputs)
        if made is None:
            made = self._translated(node, inputs)
        for name, value in zip(node.output, made, strict=False):
            if name:
                self._values[name] = value

    def _of_shape(
        self, node: NodeProto, inputs: Sequence[Held | None]
    ) -> list[ConstantValue] | None:
        """Returns the shape or the size of a symbol, which is known while the model is read."""
        if node.op_type not in ("Shape", "Size") or not isinstance(inputs[0], Symbol):
            return None
        attrs = attributes_of(node)
        shapes = [np.array(type_.shape, np.int64) for type_ in self._types_of(inputs[0])]
        if node.op_type == "Size":
            shapes = [np.array(shape.prod()) for shape in shapes]
        else:
            shapes = [shape[attrs.get("start", 0) : attrs.get("end")] for shape in shapes]
        return [ConstantValue(node.output[0], *shapes)]

    def _folded(self, node: NodeProto, inputs: Sequence[Held | None]) -> list[ConstantValue] | None:
        """Returns the outputs of a node whose inputs are all known; None for any other."""
        constants = [value for value in inputs if isinstance(value, ConstantValue)]
        if len(constants) < sum(value is not None for value in inputs) or node.op_type in _DRAWN:
            return None
        self._check_size(node, constants)
        names = [name for name in node.input if name]
        first = self._computed(node, names, [one.first for one in constants])
        if first is None:
            return None
        second = first
        if any(one.first is not one.second for one in constants):
            second = self._computed(node, names, [one.second for one in constants]) or first
        return [
            ConstantValue(name, *pair)
            for name, pair in zip(node.output, zip(first, second, strict=True), strict=True)
        ]

    def _check_size(self, node: NodeProto, inputs: Sequence[ConstantValue]) -> None:
        """Raises where a few numbers in a file would become an array that fills the memory."""
        if node.op_type not in _GROWING:
            return
        first, last = inputs[0].first, inputs[-1].first
        if node.op_type == "Range":
            start, stop, step = (float(one.first.reshape(())) for one in inputs)
            size = abs(stop - start) / abs(step) if step else 0.0
        else:
            grown = np.prod([max(float(n), 1.0) for n in last.reshape(-1)])
            size = float(grown) * (1.0 if node.op_type == "ConstantOfShape" else first.size)
        if size > _MAX_NUMBERS:
            raise ImportModelError(
                f"import_model: node {node.name or node.output[0]!r} ({node.op_type}): must make "
                f"fewer than {_MAX_NUMBERS} numbers while the model is read, got {size:.0f}"
            )

    def _computed(
        self, node: NodeProto, names: Sequence[str], arrays: Sequence[NumpyArray]
    ) -> list[NumpyArray] | None:
        """Returns the outputs of a node, by ONNX's reference implementation."""
        helper = onnx.helper
        given = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in dict(zip(names, arrays, strict=True)).items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        graph = helper.make_graph([node], "one", given, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self._opset)])
        try:
            evaluator = onnx.reference.ReferenceEvaluator(model)
            made = evaluator.run(None, dict(zip(names, arrays, strict=True)))
        except (NotImplementedError, RuntimeError, TypeError):
            return None  # what it does not have may still have a form here
        return [np.asarray(one) for one in made]

    def _translated(self, node: NodeProto, inputs: Sequence[Held | None]) -> list[Symbol]:
        arrival = Arrival(
            node.name or node.output[0],
            node.op_type,
            self._opset,
            inputs,
            attributes_of(node),
            len([name for name in node.output if name]),
            self._types_of,
            self._parameter,
        )
        try:
            return translate(arrival)
        except KeyError as error:
            arrival.fail(f"attribute {error} is missing", "the model is damaged")
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, MXNetError):
                raise
            raise ImportModelError(
                f"import_model: node {arrival.name!r} ({arrival.op}): its inputs or attributes are "
                f"not what ONNX has there: {error}; onnx.checker.check_model says more"
            ) from error
        except MXNetError as error:
            if not isinstance(error, ImportModelError):
                error.add_note(f"while reading node {arrival.name!r} ({arrival.op})")
            raise

    def _types_of(self, value: Symbol) -> Types:
        edge = value.edges[0]
        pending = [] if edge in self._types else [edge.node]
        while pending:
            node = pending[-1]
            missing = [one.node for one in node.inputs if one not in self._types]
            if missing:
                pending += missing
                continue
            pending.pop()
            self._infer(node)
        return self._types[edge]

    def _infer(self, node: Node) -> None:
        call = node.call
        assert call is not None  # variables are known from when they are made
        both = [infer_call(call, [self._types[e][way] for e in node.inputs]) for way in (0, 1)]
        for index in range(call.num_visible):
            self._types[Edge(node, index)] = both[0][index], both[1][index]

    def by_kind(self, symbol: Symbol) -> tuple[Mapping[str, NumpyArray], Mapping[str, NumpyArray]]:
        """Returns the parameters that a symbol has: arguments, and auxiliary states."""
        states = set(symbol.list_auxiliary_states())
        names = [name for name in symbol.list_inputs() if name in self.params]
        return (
            {name: self.params[name] for name in names if name not in states},
            {name: self.params[name] for name in names if name in states},
        )
