"""Calls about whether a session holds a variable's value, which is known before a run.

A session puts something else in their place (`resolve_held`), so they never run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, final

import numpy as np

from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import Backward, Call, HostOnlyCall, Types, registry
from hybridnet.ops.state import READ


class _Asking(HostOnlyCall):
    """A call whose first input is a variable that may have no value yet."""

    refusal = "{name} stands in a graph that no session has resolved"
    __slots__ = ()

    def facts(self) -> Sequence[Any]:
        """There is one of each."""
        return ()


@final
class _ValueOr(_Asking):
    """The value of its first input, or of its second where that has none."""

    __slots__ = ()
    name = "_value_or"

    def infer(self, types: Types) -> Types:
        """The type of the second input, which the first has, too."""
        return types[1:]

    def gradient(self, back: Backward) -> Sequence[Any]:
        """All of it goes to the variable."""
        return [back.grads[0], None]


@final
class _IsHeld(_Asking):
    """Whether its input has a value: a bool."""

    __slots__ = ()
    no_gradient = "it is a truth value"
    name = "_is_held"

    def infer(self, types: Types) -> Types:
        """One bool."""
        return (tensor_type((), np.dtype(np.bool_)),)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """None."""
        return [None]


#: What is read of a variable; of another value while it has none.
VALUE_OR: Final[Call] = _ValueOr()
#: Whether a variable has a value.
IS_HELD: Final[Call] = _IsHeld()


def asking(graph: Graph) -> tuple[Node, ...]:
    """Returns the variables of which a graph asks whether they have a value."""
    found = [node.inputs[0].node for node in graph.nodes if isinstance(node.call, _Asking)]
    return tuple(dict.fromkeys(found))


def resolve_held(graph: Graph, is_held: Callable[[Node], bool]) -> Graph:
    """Returns a graph with answers in the place of the questions whether a variable is held."""

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node | Sequence[Edge]:
        if not isinstance(node.call, _Asking):
            return node.with_inputs(inputs)
        held = is_held(node.inputs[0].node)
        if node.call is VALUE_OR:
            return replace(node, call=READ, inputs=inputs[:1]) if held else inputs[1:]
        attrs = {"value": str(int(held)), "shape": (), "dtype": "bool"}
        return replace(node, call=registry.get("_literal").bind(attrs)[0], inputs=())

    return graph.map(change)
