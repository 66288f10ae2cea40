"""`Node` and `Graph`: the one intermediate form of symbols, traces and gradients.

A node is exactly its fields and never changes; a transformation makes new nodes. Two nodes are the
same only if they are one object: they carry users' names and may be stateful, so merging equal
ones is a pass, not a side effect of making them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, final

from hybridnet import engine
from hybridnet.base.errors import GraphError
from hybridnet.ops.call import Call

from .text import to_text

__all__ = ["Edge", "Graph", "Node", "topological", "variable"]

_NO_ATTRS: Final[Mapping[str, str]] = {}


class Edge(NamedTuple):
    """One output of a node."""

    node: Node
    index: int  # type: ignore[assignment]  # hides tuple.index, which edges do not need


@final
@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A variable, or a call applied to edges.

    Attributes:
        call: what is applied; None for a variable.
        inputs: to what.
        name: unique among variables of a graph; for messages, files and pictures elsewhere.
        scalars: the numbers the call takes beside its inputs.
        attrs: the user's attributes (``ctx_group``, ``__lr_mult__``, ...), as text.
        origin: the user's line that made it, for `engine.resolve_origin`; None where not noted.
    """

    call: Call | None
    inputs: tuple[Edge, ...]
    name: str
    scalars: tuple[Any, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=lambda: _NO_ATTRS)
    origin: tuple[Any, int] | None = None

    @property
    def is_variable(self) -> bool:
        """Whether it stands for a value given from outside."""
        return self.call is None

    @property
    def num_outputs(self) -> int:
        """All outputs, hidden ones included."""
        return 1 if self.call is None else self.call.num_outputs

    @property
    def title(self) -> str:
        """Name, operator and line, for messages: ``'fc1' (dot, made at train.py:12)``."""
        what = "variable" if self.call is None else self.call.name
        place = engine.resolve_origin(self.origin)
        made = f", made at {place[0]}:{place[1]}" if place else ""
        return f"{self.name!r} ({what}{made})"

    def with_inputs(self, inputs: tuple[Edge, ...]) -> Node:
        """Returns a node with other inputs; itself if they are the same."""
        return self if inputs == self.inputs else replace(self, inputs=inputs)

    def __repr__(self) -> str:
        what = "variable" if self.call is None else repr(self.call)
        return f"<{what} {self.name!r}>"


def variable(
    name: str, attrs: Mapping[str, str] | None = None, origin: tuple[Any, int] | None = None
) -> Node:
    """Returns a new variable."""
    return Node(None, (), name, (), dict(attrs or {}), origin)


def topological(edges: Iterable[Edge]) -> list[Node]:
    """Returns the nodes the edges depend on, each after its inputs, in depth-first order.

    The order is that of MXNet: inputs from the left, so lists of arguments come out the same.

    Raises:
        GraphError: there is a cycle.
    """
    order: list[Node] = []
    done: set[Node] = set()
    entered: set[Node] = set()
    stack = [edge.node for edge in edges][::-1]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
        elif node in entered:
            stack.pop()
            done.add(node)
            order.append(node)
        else:
            entered.add(node)
            for edge in reversed(node.inputs):
                if edge.node not in done:
                    if edge.node in entered:
                        raise GraphError(f"the graph has a cycle through {edge.node.name!r}")
                    stack.append(edge.node)
    return order


@final
@dataclass(frozen=True, eq=False)
class Graph:
    """Outputs, and the variables they are computed from in a fixed order.

    Attributes:
        inputs: the variables, in the order in which values are given; it may hold some that no
            output depends on.
        outputs: what is computed.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Edge, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes the outputs depend on, each after its inputs."""
        return tuple(topological(self.outputs))

    def verify(self) -> None:
        """Checks that the graph is well formed.

        Raises:
            GraphError: a variable is not among the inputs, an edge names an output that its node
                does not have, or an input is no variable or is listed twice.
        """
        known = set(self.inputs)
        if len(known) != len(self.inputs):
            raise GraphError("an input of the graph is listed twice")
        for node in self.inputs:
            if not node.is_variable:
                raise GraphError(f"input {node.name!r} of the graph is not a variable")
        for edge in (*self.outputs, *(edge for node in self.nodes for edge in node.inputs)):
            if not 0 <= edge.index < edge.node.num_outputs:
                raise GraphError(
                    f"{edge.node.name!r} has {edge.node.num_outputs} outputs, but output "
                    f"{edge.index} is used"
                )
        for node in self.nodes:
            if node.is_variable and node not in known:
                raise GraphError(f"variable {node.name!r} is not an input of the graph")

    def map(self, change: Callable[[Node, tuple[Edge, ...]], Node | Sequence[Edge]]) -> Graph:
        """Returns the graph with each node replaced.

        Args:
            change: gets a node and its inputs in the new graph (no variables); returns the node
                that takes its place, or an edge for each of its outputs.
        """
        place: dict[Edge, Edge] = {}
        for node in self.nodes:
            if node.is_variable:
                continue
            inputs = tuple(place.get(edge, edge) for edge in node.inputs)
            made = change(node, inputs)
            for index in range(node.num_outputs):
                edge = Edge(made, index) if isinstance(made, Node) else made[index]
                place[Edge(node, index)] = edge
        return Graph(self.inputs, tuple(place.get(edge, edge) for edge in self.outputs))

    def __str__(self) -> str:
        return to_text(self)
