"""Settle: shapes that a graph computes become parameters, once the types of its inputs are known.

Not one of the passes of `hybridnet.passes.PIPELINE`, which change no result: a graph with unsettled
calls (`hybridnet.graph.by_value`) cannot run before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

import numpy as np

from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import GraphError, MXNetError
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph.by_value import Unsettled
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.graph.transform import STATE
from hybridnet.ops.call import Types
from hybridnet.ops.operator import OpCall

from .numpy_rules import NUMPY

__all__ = ["needed_values", "settle"]

Array = np.ndarray[Any, Any]

#: Operators whose results follow from the types of their inputs.
_OF_TYPES: Final = frozenset({"shape_array", "size_array"})


def needed_values(graph: Graph) -> tuple[Node, ...]:
    """Returns the inputs of a graph whose values `settle` needs to be told, in their order."""
    stack = [
        node.inputs[number].node
        for node in graph.nodes
        if isinstance(node.call, Unsettled)
        for number in node.call.at
    ]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.call is None or node.call.name not in _OF_TYPES:
            stack.extend(edge.node for edge in node.inputs)
    return tuple(node for node in graph.inputs if node in seen)


def settle(
    graph: Graph, types: Sequence[TensorType], values: Mapping[Node, Array] | None = None
) -> Graph:
    """Puts operators in the place of unsettled calls.

    Args:
        graph: what is to run; one without such calls is returned as it is.
        types: of its inputs.
        values: of those inputs that `needed_values` tells.

    Raises:
        GraphError: a shape depends on what only a run can tell.
        ShapeError, DTypeError, ParameterError: the shapes do not fit; the message names the node.
    """
    if not any(isinstance(node.call, Unsettled) for node in graph.nodes):
        return graph
    known = _Known(graph, types, values or {})

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        made = node.with_inputs(inputs)
        try:
            if isinstance(node.call, Unsettled):
                made = _settled(known, made, node.call)
            known.note(made)
        except MXNetError as error:
            raise type(error)(f"at node {node.name!r}: {error}") from error
        return made

    return graph.map(change)


def _settled(known: _Known, node: Node, call: Unsettled) -> Node:
    made, scalars = call.settled([known.value(node.inputs[number]) for number in call.at])
    inputs = tuple(edge for number, edge in enumerate(node.inputs) if number not in call.at)
    return replace(node, call=made, inputs=inputs, scalars=scalars)


@final
class _Known:
    """The types of a graph's nodes, and the values of those that shapes are made of."""

    def __init__(
        self, graph: Graph, types: Sequence[TensorType], values: Mapping[Node, Array]
    ) -> None:
        self._types: dict[Node, Types] = {
            node: (one,) for node, one in zip(graph.inputs, types, strict=True)
        }
        self._values = {Edge(node, 0): np.asarray(one) for node, one in values.items()}

    def note(self, node: Node) -> None:
        """Infers the types of a node's outputs."""
        assert node.call is not None
        types = tuple(self._types[edge.node][edge.index] for edge in node.inputs)
        self._types[node] = node.call.infer((*types, STATE) if node.call.takes_state else types)

    def value(self, edge: Edge) -> Array:
        """Returns the value of a node's output.

        Raises:
            GraphError: only a run can tell it.
        """
        stack = [edge]
        while stack:
            one = stack[-1]
            missing = [] if one in self._values else self._missing(one)
            if missing:
                stack += missing
                continue
            stack.pop()
            if one not in self._values:
                self._compute(one.node)
        return self._values[edge]

    def _missing(self, edge: Edge) -> list[Edge]:
        """Returns what must be known before a value is."""
        call = edge.node.call
        if type(call) is not OpCall or call.takes_state or call.mutates or call.reads_now:
            raise GraphError(
                f"a shape depends on the value of {edge.node.title}, which only a run can tell; "
                "it must follow from constants, shapes and what is fed"
            )
        if call.name in _OF_TYPES:
            return []
        return [one for one in edge.node.inputs if one not in self._values]

    def _compute(self, node: Node) -> None:
        call = node.call
        assert type(call) is OpCall
        if call.name in _OF_TYPES:
            (source,) = node.inputs
            found = self._types[source.node][source.index]
            made = found.shape if call.name == "shape_array" else (found.size,)
            self._values[Edge(node, 0)] = np.array(made, np.int64)
            return
        if any(type(one) is HostScalar for one in node.scalars):
            raise GraphError("a shape depends on a number that Python is asked for at each run")
        operands = [self._values[one] for one in node.inputs]
        rule = NUMPY.get(call.name)
        if rule is not None:
            exact = rule.compute(operands, call.attrs, node.scalars, self._types[node][0])
            if exact is not None:
                self._values[Edge(node, 0)] = exact
                return
        for index, one in enumerate(_lowered(call, operands, node.scalars)):
            self._values[Edge(node, index)] = one


def _lowered(call: OpCall, operands: Sequence[Array], scalars: Sequence[Any]) -> list[Array]:
    """Returns what the operator's own lowering makes of arrays, computed here and now."""
    cpu = jax.local_devices(backend="cpu")[0]
    with jax.ensure_compile_time_eval(), jax.enable_x64(True), jax.default_device(cpu):
        arrays = [jax.numpy.asarray(one) for one in operands]
        numbers = [jax.numpy.asarray(one, "float64") for one in scalars]
        return [np.asarray(one) for one in call.lower("cpu", arrays, numbers)]
