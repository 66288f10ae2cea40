"""`Node` and `Graph`: the one intermediate form of symbols, traces and gradients.

A node is exactly its fields and never changes; a transformation makes new nodes. Two nodes are the
same only if they are one object: they carry users' names and may be stateful, so merging equal
ones is a pass, not a side effect of making them.

Beside the edges that carry values there are control edges, which only say what runs first: those of
a node lead to its `controls`, and those of the graph's sink to its `targets` (Abadi et al.,
"TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Final, NamedTuple, final

from hybridnet import engine
from hybridnet.base.errors import GraphError, MXNetError
from hybridnet.ops.core import Call, Scalars

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
        controls: what must have run before it, beside what it reads.
        written: the operator's parameters that the user gave, as text, also where they are the
            defaults.
    """

    call: Call | None
    inputs: tuple[Edge, ...]
    name: str
    scalars: Scalars = ()
    attrs: Mapping[str, str] = field(default_factory=lambda: _NO_ATTRS)
    origin: engine.Origin | None = None
    controls: tuple[Node, ...] = ()
    written: Mapping[str, str] = field(default_factory=lambda: _NO_ATTRS)

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
        if inputs == self.inputs:
            return self
        # What passes do to most nodes; `replace` takes three times as long.
        mine = self.scalars, self.attrs, self.origin, self.controls, self.written
        return Node(self.call, inputs, self.name, *mine)

    def with_controls(self, controls: tuple[Node, ...]) -> Node:
        """Returns a node with other controls; itself if they are the same."""
        return self if controls == self.controls else replace(self, controls=controls)

    def __repr__(self) -> str:
        what = "variable" if self.call is None else repr(self.call)
        return f"<{what} {self.name!r}>"


def at_node(node: Node, error: MXNetError) -> MXNetError:
    """Returns an error that says at which node it was: its name, its operator and its line."""
    return type(error)(f"at node {node.title}: {error}")


def variable(
    name: str, attrs: Mapping[str, str] | None = None, origin: engine.Origin | None = None
) -> Node:
    """Returns a new variable."""
    return Node(None, (), name, (), dict(attrs or {}), origin)


def topological(edges: Iterable[Edge], targets: Sequence[Node] = ()) -> list[Node]:
    """Returns the nodes that must run, each after its inputs and controls, in depth-first order.

    The order is that of MXNet: inputs from the left, so lists of arguments come out the same.

    Args:
        edges: what is read.
        targets: what runs though nothing reads it.

    Raises:
        GraphError: there is a cycle.
    """
    order: list[Node] = []
    done: set[Node] = set()
    entered: set[Node] = set()
    stack = [*(edge.node for edge in edges), *targets][::-1]
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
            for control in reversed(node.controls):
                if control not in done:
                    if control in entered:
                        raise GraphError(f"the graph has a cycle through {control.title}")
                    stack.append(control)
            for edge in reversed(node.inputs):
                if edge.node not in done:
                    if edge.node in entered:
                        raise GraphError(f"the graph has a cycle through {edge.node.title}")
                    stack.append(edge.node)
    return order


@final
class Moves:
    """The new nodes of the old ones, while a graph is made anew from its first node to its last.

    Args:
        place: what takes the place of some edges from the start.
    """

    def __init__(self, place: Mapping[Edge, Edge] | None = None) -> None:
        self._edges = dict(place or {})
        self._nodes: dict[Node, tuple[Node, ...]] = {}

    def edge(self, edge: Edge) -> Edge:
        """Returns where a value is now."""
        return self._edges.get(edge, edge)

    def edges(self, edges: Iterable[Edge]) -> tuple[Edge, ...]:
        """Returns where values are now."""
        place = self._edges
        return tuple([place.get(edge, edge) for edge in edges])

    def nodes(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """Returns what runs now where nodes ran; variables, which do not run, are left out."""
        found = [new for old in nodes for new in self._nodes.get(old, (old,))]
        return tuple(dict.fromkeys(node for node in found if not node.is_variable))

    def moved(self, node: Node) -> Node:
        """Returns a node over what its inputs and controls are now."""
        made = node.with_inputs(self.edges(node.inputs))
        return made.with_controls(self.nodes(node.controls)) if node.controls else made

    def note(self, node: Node, made: Node | Sequence[Edge]) -> None:
        """Notes what takes a node's place: another one, or a value for each of its outputs."""
        if made is node:
            return
        if isinstance(made, Node):
            self._nodes[node] = (made,)
            made = [Edge(made, index) for index in range(node.num_outputs)]
        else:
            self._nodes[node] = tuple(edge.node for edge in made)
        for index, edge in enumerate(made):
            self._edges.setdefault(Edge(node, index), edge)


@final
@dataclass(frozen=True, eq=False)
class Graph:
    """Outputs, and the variables they are computed from in a fixed order.

    Attributes:
        inputs: the variables, in the order in which values are given; it may hold some that no
            output depends on.
        outputs: what is computed.
        targets: nodes that run though no output depends on them.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Edge, ...]
    targets: tuple[Node, ...] = ()

    #: Writes a graph as text; `text`, which stands above this module, puts it here.
    write: ClassVar[Callable[[Graph], str]]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that outputs and targets depend on, each after its inputs and controls."""
        return tuple(topological(self.outputs, self.targets))

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
        moves = Moves()
        for node in self.nodes:
            if node.is_variable:
                continue
            made = change(node, moves.edges(node.inputs))
            if node.controls and isinstance(made, Node):
                made = made.with_controls(moves.nodes(node.controls))
            moves.note(node, made)
        return Graph(self.inputs, moves.edges(self.outputs), moves.nodes(self.targets))

    def __str__(self) -> str:
        return Graph.write(self)
