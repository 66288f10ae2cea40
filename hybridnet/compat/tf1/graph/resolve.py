"""Resolve: shapes that a graph computes become parameters, once the types of its inputs are known.

Not one of the passes of `hybridnet.passes.PIPELINE`, which change no result: a graph with
unresolved calls (`hybridnet.compat.tf1.graph.by_value`) cannot run before. Those inside loops and
branches are resolved by what is known outside; of a loop variable only the type is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

import numpy as np

from hybridnet.base import GraphError, HostScalar, MXNetError
from hybridnet.graph import STATE, ControlCall, Edge, Graph, Moves, Node, Subgraph, at_node
from hybridnet.ops.core import OpCall, TensorType, Types
from hybridnet.passes import NUMPY, computed_now

from .by_value import Unresolved

__all__ = ["needed_values", "resolve"]

Array = np.ndarray[Any, Any]

#: Operators whose results follow from the types of their inputs.
_OF_TYPES: Final = frozenset({"shape_array", "size_array"})


def needed_values(graph: Graph) -> tuple[Node, ...]:
    """Returns the inputs of a graph whose values `resolve` needs to be told, in their order."""
    stack = [edge.node for node in graph.nodes for edge in _deciding(node)]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.call is None or node.call.name not in _OF_TYPES:
            stack.extend(edge.node for edge in node.inputs)
    return tuple(node for node in graph.inputs if node in seen)


def _deciding(node: Node) -> list[Edge]:
    """Returns the inputs of a node whose values decide what it, or something inside it, is."""
    call = node.call
    if isinstance(call, Unresolved):
        return [node.inputs[number] for number in call.at]
    found: list[Edge] = []
    if not isinstance(call, ControlCall):
        return found
    for part in call.parts:
        numbers = {inner: number for number, inner in enumerate(part.graph.inputs)}
        found += [node.inputs[call.offset + numbers[inner]] for inner in needed_values(part.graph)]
    return found


def _is_unresolved(graph: Graph) -> bool:
    """Whether a graph has unresolved calls, or its control calls have them inside."""
    return any(
        isinstance(node.call, Unresolved)
        or (
            isinstance(node.call, ControlCall)
            and any(_is_unresolved(part.graph) for part in node.call.parts)
        )
        for node in graph.nodes
    )


def resolve(
    graph: Graph, types: Iterable[TensorType], values: Mapping[Node, Array] | None = None
) -> Graph:
    """Puts operators in the place of unresolved calls.

    Args:
        graph: what is to run; one without such calls is returned as it is.
        types: of its inputs.
        values: of those inputs that `needed_values` tells.

    Raises:
        GraphError: a shape depends on what only a run can tell.
        ShapeError, DTypeError, ParameterError: the shapes do not fit; the message names the node.
    """
    if not _is_unresolved(graph):
        return graph
    return _resolve(graph, _Known(graph, types, values or {}))


def _resolve(graph: Graph, known: _Known) -> Graph:
    moves = Moves()
    for node in graph.nodes:
        if node.is_variable:
            continue
        made = moves.moved(node)
        try:
            if isinstance(node.call, Unresolved):
                made = _resolved(known, made, node.call)
            elif isinstance(node.call, ControlCall):
                made = _resolved_inside(known, made, node.call)
            known.note(made)
        except MXNetError as error:
            raise at_node(node, error) from error
        moves.note(node, made)
    return Graph(graph.inputs, moves.edges(graph.outputs), moves.nodes(graph.targets))


def _resolved_inside(known: _Known, node: Node, call: ControlCall) -> Node:
    """Resolves what is inside a control call."""
    if not any(_is_unresolved(part.graph) for part in call.parts):
        return node
    types = call.part_types(known.types(node.inputs))
    parts = []
    for part in call.parts:
        numbers = {scalar: node.scalars[place] for scalar, place in part.places.items()}
        outside = {
            Edge(inner, 0): edge
            for number, (inner, edge) in enumerate(
                zip(part.graph.inputs, node.inputs[call.offset :], strict=False)
            )
            if call.is_fixed(number)
        }
        inside = _Known(part.graph, types, {}, known, outside, numbers)
        parts.append(Subgraph(_resolve(part.graph, inside), part.places))
    return replace(node, call=call.with_parts(tuple(parts)))


def _resolved(known: _Known, node: Node, call: Unresolved) -> Node:
    made, scalars = call.resolved([known.value(node.inputs[number]) for number in call.at])
    inputs = tuple(edge for number, edge in enumerate(node.inputs) if number not in call.at)
    return replace(node, call=made, inputs=inputs, scalars=scalars)


@final
class _Known:
    """The types of a graph's nodes, and the values of those that shapes are made of.

    Args:
        types: of its inputs.
        values: of some of its inputs.
        around: what is known of the graph around it, if it is inside a control call.
        outside: for each input that has one value, the edge of the graph around it.
        numbers: what stands for the numbers in it.
    """

    def __init__(
        self,
        graph: Graph,
        types: Iterable[TensorType],
        values: Mapping[Node, Array],
        around: _Known | None = None,
        outside: Mapping[Edge, Edge] | None = None,
        numbers: Mapping[HostScalar, Any] | None = None,
    ) -> None:
        self._around = around
        self._outside = outside or {}
        self._numbers = numbers or {}
        self._types: dict[Node, Types] = {
            node: (kind,) for node, kind in zip(graph.inputs, types, strict=True)
        }
        self._values = {Edge(node, 0): np.asarray(value) for node, value in values.items()}

    def types(self, edges: Sequence[Edge]) -> Types:
        """Returns the types of values."""
        return tuple(self._types[edge.node][edge.index] for edge in edges)

    def note(self, node: Node) -> None:
        """Infers the types of a node's outputs."""
        assert node.call is not None
        types = self.types(node.inputs)
        self._types[node] = node.call.infer((*types, STATE) if node.call.takes_state else types)

    def value(self, edge: Edge) -> Array:
        """Returns the value of a node's output.

        Raises:
            GraphError: only a run can tell it.
        """
        stack = [edge]
        while stack:
            last = stack[-1]
            missing = [] if last in self._values else self._missing(last)
            if missing:
                stack += missing
                continue
            stack.pop()
            if last in self._outside and self._around is not None:
                self._values[last] = self._around.value(self._outside[last])
            elif last not in self._values:
                self._compute(last.node)
        return self._values[edge]

    def _missing(self, edge: Edge) -> list[Edge]:
        """Returns what must be known before a value is."""
        call = edge.node.call
        if edge in self._outside:
            return []
        if type(call) is not OpCall or call.takes_state or call.mutates or call.reads_now:
            raise GraphError(
                f"a shape depends on the value of {edge.node.title}, which only a run can tell; "
                "it must follow from constants, shapes and what is fed"
            )
        if call.name in _OF_TYPES:
            return []
        return [operand for operand in edge.node.inputs if operand not in self._values]

    def _compute(self, node: Node) -> None:
        call = node.call
        assert type(call) is OpCall
        if call.name in _OF_TYPES:
            (source,) = node.inputs
            found = self._types[source.node][source.index]
            made = found.shape if call.name == "shape_array" else (found.size,)
            self._values[Edge(node, 0)] = np.array(made, np.int64)
            return
        scalars = [self._numbers.get(scalar, scalar) for scalar in node.scalars]
        if any(type(scalar) is HostScalar for scalar in scalars):
            raise GraphError("a shape depends on a number that Python is asked for at each run")
        operands = [self._values[operand] for operand in node.inputs]
        rule = NUMPY.get(call.name)
        if rule is not None:
            exact = rule.compute(operands, call.attrs, tuple(scalars), self._types[node][0])
            if exact is not None:
                self._values[Edge(node, 0)] = exact
                return
        for index, value in enumerate(computed_now(call, operands, scalars)):
            self._values[Edge(node, index)] = value
