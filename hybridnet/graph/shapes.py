"""Partial inference of shapes: from what is known of some variables to all that follows from it.

A shape is a tuple in which `UNKNOWN` stands for an unknown dimension, or None when not even the
number of dimensions is known. How users write that depends on the mode they are in; `symbol`
translates.

Nodes are visited forward and backward until nothing new is learned. At each, the operator's
``complete`` rule fills in unknown inputs, its type rule gives the outputs, and what is known of
the outputs is traced back to the inputs (`infer_inputs`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from hybridnet.base.array_types import DType, Shape
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import MXNetError, ShapeError
from hybridnet.base.numpy_mode import mode
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import (
    ELEMENTWISE,
    UNKNOWN,
    Call,
    CustomCall,
    OpCall,
    Types,
    same_type,
    unify,
)

from .control_infer import insides
from .input_shapes import SIZES, infer_inputs, keeps_shape
from .node import Edge, Node, at_node
from .subgraph import ControlCall
from .transform import STATE

_T = TypeVar("_T")

#: Operators that say nothing before all their inputs are known, as in MXNet.
_PATIENT: Final = frozenset({"where"})
#: What joins arrays of which all whose length is not known have the same, as in MXNet: the weights
#: of the two directions of a recurrent layer.
_EVEN: Final = frozenset({"_rnn_param_concat"})
#: Operators that cut an axis off at a size, and refuse one that is shorter.
_CUTTING: Final = frozenset({"slice_axis"})


def is_known(shape: Shape | None) -> bool:
    """Whether every dimension is known."""
    return shape is not None and UNKNOWN not in shape


def open_shape(node: Node) -> Shape | None:
    """Returns what is known of an array that a node makes; None where all is, or it makes none.

    That is so where its operator is told a shape in which -1, or out of NumPy mode 0, stands for a
    size that is not known, as ``zeros((0, 20))``.
    """
    if node.inputs or not isinstance(node.call, OpCall):
        return None
    shape = node.call.attrs.get("shape")
    if not isinstance(shape, tuple):
        return None
    unknown = (UNKNOWN,) if mode.shape else (UNKNOWN, 0)
    found = tuple(UNKNOWN if size in unknown else size for size in shape)
    return found if UNKNOWN in found else None


def is_untold(node: Node) -> bool:
    """Whether a node makes an array of a shape that it was not told, as ``sym.random.normal()``.

    It is of one element then, unless the rest of the graph wants another shape. In NumPy mode the
    shape () is one.
    """
    if node.inputs or not isinstance(node.call, OpCall) or mode.shape:
        return False
    return node.call.attrs.get("shape") == () and infer_call(node.call, ())[0].shape == (1,)


def infer_shapes(
    nodes: Sequence[Node],
    known: Mapping[Node, Shape],
    dtypes: Mapping[Edge, DType | None],
) -> dict[Edge, Shape | None]:
    """Infers the shapes of all values of a graph.

    Args:
        nodes: of the graph, each after its inputs.
        known: shapes of variables, whole or in part.
        dtypes: of all values; float32 is assumed where one is not known.

    Returns:
        For each output of each node its shape, as far as it is known.

    Raises:
        ShapeError, DTypeError: an operator's requirement cannot be met, or two shapes contradict
            one another; the message names the node.
    """
    inference = _ShapeInference(nodes, dtypes)
    for node, shape in known.items():
        inference.learn(Edge(node, 0), shape, node)
    inference.run()
    return inference.shapes


class Inference(ABC, Generic[_T]):
    """The values that are known so far, and the steps that add to them."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = [node for node in nodes if not node.is_variable]
        self.values: dict[Edge, _T | None] = {
            Edge(node, index): None for node in nodes for index in range(node.num_outputs)
        }
        self.changed = False
        self.done: set[Node] = set()

    def run(self) -> None:
        """Visits the nodes until nothing new is learned."""
        order = self.nodes
        while True:
            self.changed = False
            for node in order:
                if node not in self.done:
                    self.visit(node)
            if not self.changed:
                return
            order = order[::-1]

    @abstractmethod
    def visit(self, node: Node) -> None:
        """Learns what one node tells."""


class _ShapeInference(Inference[Shape]):
    def __init__(self, nodes: Sequence[Node], dtypes: Mapping[Edge, Any]) -> None:
        super().__init__(nodes)
        self.shapes = self.values
        self.dtypes = dtypes
        self.patient = True

    def run(self) -> None:
        """Learns what the graph tells; after that, what arrays are that nobody tells of."""
        super().run()
        if any(self.shapes[Edge(node, 0)] is None and is_untold(node) for node in self.nodes):
            self.patient = False
            super().run()

    def learn(self, edge: Edge, shape: Shape | None, where: Node) -> None:
        """Adds what was found out about a value."""
        if shape is None:
            return
        before = self.shapes[edge]
        joined: Shape | None = shape
        if before is not None:
            joined = _join(before, shape)
            if joined is None:
                raise ShapeError(
                    f"at node {where.title}: {edge.node.name!r} must have shape {shape}, but it "
                    f"has shape {before}"
                )
        if joined != before:
            self.shapes[edge] = joined
            self.changed = True

    def visit(self, node: Node) -> None:
        """Learns what one node tells."""
        call = node.call
        assert call is not None
        if isinstance(call, ControlCall):
            self.look_inside(node)
            return
        if isinstance(call, CustomCall):
            self.ask(node, call)
        if isinstance(call, OpCall):
            self.complete(node, call)
        shapes = [self.shapes[edge] for edge in node.inputs]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            return
        told = not self.patient and self.shapes[Edge(node, 0)] is None
        if not node.inputs and not told and is_untold(node):
            return
        opened = open_shape(node)
        if opened is not None:
            self.learn(Edge(node, 0), opened, node)
            return
        if all(UNKNOWN not in shape for shape in known):
            outputs: Sequence[Shape | None] = [kind.shape for kind in self.infer(node, known)]
            self.done.add(node)
        else:
            outputs = self.probe(node, known)
        for index, shape in enumerate(outputs):
            self.learn(Edge(node, index), shape, node)

    def ask(self, node: Node, call: CustomCall) -> None:
        """Learns what the class of a user's operator tells of shapes that are not known."""
        shapes = [self.shapes[edge] for edge in node.inputs[: len(call.arguments)]]
        if not is_known(shapes[0] if shapes else None):
            return
        try:
            arguments, outputs, states = call.shapes(shapes)
        except MXNetError:
            if all(is_known(shape) for shape in shapes):
                raise
            return
        for edge, shape in zip(node.inputs, (*arguments, *states), strict=True):
            self.learn(edge, shape or None, node)
        for index, shape in enumerate(outputs):
            self.learn(Edge(node, index), shape or None, node)

    def look_inside(self, node: Node) -> None:
        """Learns what the graphs inside a node tell."""
        for inside in insides(node):
            known: dict[Node, Shape] = {}
            for inner, edge, is_row in inside.inputs:
                shape = self.shapes[edge]
                if shape is not None:
                    known[inner] = (shape[1:] or (1,)) if is_row else shape
            found = infer_shapes(inside.nodes, known, {})
            rows = (self.shapes[inside.rows_of] or (UNKNOWN,))[0] if inside.rows_of else UNKNOWN
            for inner, edge, is_row in inside.inputs:
                shape = found[Edge(inner, 0)]
                if shape is None or (is_row and self.shapes[edge] is not None):
                    continue  # a row (1,) may be one of an array of one dimension
                self.learn(edge, (UNKNOWN, *shape) if is_row else shape, node)
            for inner_edge, edge, length in inside.outputs:
                shape = found[inner_edge]
                if shape is not None:
                    self.learn(edge, shape if length is None else (length or rows, *shape), node)

    def complete(self, node: Node, call: OpCall) -> None:
        """Learns the shapes of inputs from those of others and, where it is kept, of the output."""
        op = call.operator
        if op.complete is not None:
            shapes = [self.shapes[edge] for edge in node.inputs]
            for edge, shape in zip(node.inputs, op.complete(shapes, **call.attrs), strict=True):
                self.learn(edge, shape, node)
        if node.inputs and call.name not in _PATIENT:
            self.trace_back(node, call)

    def trace_back(self, node: Node, call: OpCall) -> None:
        """Learns the shapes of inputs from those of the outputs."""
        outputs = [self.shapes[Edge(node, index)] for index in range(node.num_outputs)]
        inputs = [self.shapes[edge] for edge in node.inputs]
        if all(shape is None for shape in outputs) or all(map(is_known, inputs)):
            return

        if call.name in _EVEN:
            self.share(node, call.attrs["dim"], outputs[0], inputs)
            return

        def rule(shapes: Sequence[Shape]) -> Sequence[Shape]:
            return [kind.shape for kind in self.infer(node, shapes)]

        if call.operator.infer is same_type:
            self.learn(node.inputs[0], outputs[0], node)
        elif outputs[0] is not None and keeps_shape(rule, len(inputs)):
            # (An operator may unite its inputs and yet give another shape, as `stack`; and of
            # operators that broadcast no input is told by the output.)
            if len(inputs) == 1 or call.operator.complete is unify:
                for edge in node.inputs:
                    self.learn(edge, outputs[0], node)
        else:
            known = [shape for shape in inputs if shape is not None]
            if len(known) == len(inputs):
                found = infer_inputs(rule, known, outputs)
                for edge, shape in zip(node.inputs, found, strict=True):
                    self.learn(edge, shape, node)

    def share(
        self, node: Node, axis: int, output: Shape | None, inputs: Sequence[Shape | None]
    ) -> None:
        """Learns that the inputs of unknown length share what the others leave evenly."""
        unknown = [
            edge for edge, shape in zip(node.inputs, inputs, strict=True) if not is_known(shape)
        ]
        known = [shape[axis] for shape in inputs if shape is not None and is_known(shape)]
        if output is None or not is_known(output):
            return
        for edge in unknown:
            size = (output[axis] - sum(known)) // len(unknown)
            self.learn(edge, (*output[:axis], size, *output[axis + 1 :]), node)

    def infer(self, node: Node, shapes: Sequence[Shape]) -> Types:
        """Returns the types of a node's outputs for these shapes of its inputs."""
        types = [
            tensor_type(shape, FLOAT32 if (dtype := self.dtypes.get(edge)) is None else dtype)
            for edge, shape in zip(node.inputs, shapes, strict=True)
        ]
        assert node.call is not None
        try:
            return infer_call(node.call, types)
        except MXNetError as error:
            raise at_node(node, error) from error

    def probe(self, node: Node, shapes: Sequence[Shape]) -> Sequence[Shape | None]:
        """Returns the output shapes for inputs with unknown dimensions."""
        assert node.call is not None
        if node.call.name in _PATIENT:
            return []
        found = []
        for size in SIZES:
            try:
                made = self.infer(node, [_filled(shape, size) for shape in shapes])
            except MXNetError:  # it depends on the size whether this is possible at all
                return self.probe_ones(node, shapes) if node.call.name in ELEMENTWISE else []
            found.append([kind.shape for kind in made])
        try:  # what is cut off at a size, as by `slice`, shows with a small one only
            made = self.infer(node, [_filled(shape, 1) for shape in shapes])
            found.append([kind.shape for kind in made])
        except MXNetError:
            if node.call.name in _CUTTING:
                return [_open_again(shape, shapes[0]) for shape in found[0]]
        return [
            tuple(sizes[0] if len({*sizes}) == 1 else UNKNOWN for sizes in zip(*tried, strict=True))
            if len({*map(len, tried)}) == 1
            else None
            for tried in zip(*found, strict=True)
        ]

    def probe_ones(self, node: Node, shapes: Sequence[Shape]) -> Sequence[Shape | None]:
        """Returns what arrays that broadcast tell where one is unknown beside a size of another.

        The unknown one can be that size or 1, so the output has the size.
        """
        try:
            made = self.infer(node, [_filled(shape, 1) for shape in shapes])[0].shape
        except MXNetError:
            return []
        unknown = {axis - len(shape) for shape in shapes for axis in _unknown_axes(shape)}
        return [
            tuple(
                UNKNOWN if size == 1 and axis in unknown else size
                for axis, size in enumerate(made, -len(made))
            )
        ]


def infer_call(call: Call, types: Sequence[TensorType]) -> Types:
    """Returns the types of a call's outputs, whose inputs lack the state of a random generator."""
    return call.infer((*types, STATE) if call.takes_state else tuple(types))


def _filled(shape: Shape, size: int) -> Shape:
    """Returns the shape with a size in the place of unknown dimensions."""
    return tuple(size if n == UNKNOWN else n for n in shape)


def _unknown_axes(shape: Shape) -> list[int]:
    return [axis for axis, size in enumerate(shape) if size == UNKNOWN]


def _open_again(output: Shape, data: Shape) -> Shape:
    """Returns an output shape with those dimensions unknown that are unknown in the data."""
    return tuple(UNKNOWN if n == UNKNOWN else size for size, n in zip(output, data, strict=True))


def _join(left: Shape, right: Shape) -> Shape | None:
    """Returns what two partly known shapes tell together; None if they contradict."""
    if len(left) != len(right):
        return None
    pairs = list(zip(left, right, strict=True))
    if any(a != b and UNKNOWN not in (a, b) for a, b in pairs):
        return None
    return tuple(b if a == UNKNOWN else a for a, b in pairs)
