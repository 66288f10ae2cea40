"""The inside of a subgraph while a function makes it, and the node around it.

What a function makes is marked by an attribute, so that it can be told from what is made outside,
however deep they are nested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from hybridnet.attribute import AttrScope, subgraph_name
from hybridnet.base.errors import ParameterError
from hybridnet.base.origins import noted_origin
from hybridnet.graph import Edge, Graph, Node, topological, variable
from hybridnet.name import NameManager
from hybridnet.ops.core import Call
from hybridnet.ops.core.registry import get

from .composition import scope_attributes
from .symbol import Symbol

__all__ = ["Inside", "distinct", "is_inside", "joined", "outside", "symbols_of"]

#: The attribute of every node inside a subgraph, which says whose it is.
_INSIDE: Final = "__subgraph_name__"


@contextmanager
def outside() -> Iterator[None]:
    """A block of which nothing that is made is inside a subgraph, wherever it is."""
    before = AttrScope.current
    attributes = before.get({})
    attributes.pop(_INSIDE, None)
    AttrScope.current = AttrScope(**attributes)
    try:
        yield
    finally:
        AttrScope.current = before


def is_inside(node: Node) -> bool:
    """Whether a node was made inside a subgraph."""
    return _INSIDE in node.attrs


def distinct(symbols: Sequence[Symbol], first_state: int) -> list[Edge]:
    """Returns edges of operators, each only once among states: files of MXNet want it so."""
    edges: list[Edge] = []
    for number, symbol in enumerate(symbols):
        if len(symbol) != 1:
            raise ParameterError(f"control flow takes symbols of one output each, got {symbol!r}")
        edge = symbol.edges[0]
        if edge.node.is_variable or (number >= first_state and edge in edges):
            edge = Symbol.apply_operator(get("_copy"), [symbol], {}, hint="identity").edges[0]
        edges.append(edge)
    return edges


def symbols_of(
    call: Call,
    inputs: Sequence[Edge],
    numbers: tuple[object, ...],
    insides: Sequence[Inside],
    name: str | None = None,
    attrs: Mapping[str, str] | None = None,
) -> list[Symbol]:
    """Makes the node of a control call; returns a symbol for each output that users know of.

    Args:
        call: what it does.
        inputs: to what.
        numbers: that it takes beside.
        insides: what the subgraphs were made in.
        name: what its name begins with; default the operator's.
        attrs: further attributes of it.
    """
    named = NameManager.current.get(None, name or call.name)
    after = tuple(dict.fromkeys(node for inside in insides for node in inside.after))
    origin = noted_origin(2)
    node = Node(call, tuple(inputs), named, numbers, scope_attributes(attrs or {}), origin, after)
    return [Symbol([Edge(node, index)]) for index in range(call.num_visible)]


class Inside:
    """The inside of a subgraph while a function makes it.

    Args:
        name: what its name begins with.
        sources: the symbols for which it is given variables.

    Attributes:
        name: of the subgraph.
        scope: marks what is made in it.
        symbols: the variables.
        after: what is outside and must have run before, once it is cut off.
        instead: edges outside, and the variables outside that are read in their place.
    """

    def __init__(self, name: str, sources: Sequence[Symbol]) -> None:
        outer = AttrScope.current.get({}).get(_INSIDE)
        self.name = subgraph_name(f"{outer}${name}" if outer else name)
        self.scope = AttrScope(**{_INSIDE: self.name})
        self.sources: list[Edge] = []
        self.after: dict[Node, None] = {}
        self.instead: dict[Edge, Edge] = {}
        self.variables: list[Node] = []
        self.symbols: list[Symbol] = []
        self._names: set[str] = set()
        for source in sources:
            self.add(source)

    def add(self, source: Symbol) -> Symbol:
        """Returns a variable that stands for a symbol, beside those that there are."""
        if len(source) != 1:
            raise ParameterError(f"control flow takes symbols of one output each, got {source!r}")
        edge = source.edges[0]
        number = 0
        while f"{edge.node.name}-{number}" in self._names:
            number += 1
        self._names.add(f"{edge.node.name}-{number}")
        node = variable(f"{edge.node.name}-{number}", {_INSIDE: self.name})
        self.sources.append(edge)
        self.variables.append(node)
        self.symbols.append(Symbol([Edge(node, 0)]))
        return self.symbols[-1]

    def cut(self, groups: Sequence[Sequence[Edge]]) -> tuple[list[Graph], list[Edge]]:
        """Cuts what was made inside off from the rest.

        Returns:
            A graph for each group, from the variables and what is used of the outside; and the
            edges outside that are the inputs.
        """
        place: dict[Edge, Edge] = {}
        outside: dict[Node, Edge] = {}
        again: dict[Node, Node] = {}
        for node in topological([edge for edges in groups for edge in edges]):
            if node.is_variable:
                if node not in self.variables:
                    outside[node] = Edge(node, 0)
                continue
            if not self._owns(node):
                continue
            inputs = tuple(self._moved(edge, place, outside) for edge in node.inputs)
            # What is outside runs before all that is inside.
            self.after |= dict.fromkeys(
                control
                for control in node.controls
                if control not in again and not control.is_variable
            )
            controls = tuple(again[control] for control in node.controls if control in again)
            made = again[node] = node.with_inputs(inputs).with_controls(controls)
            place.update((Edge(node, i), Edge(made, i)) for i in range(node.num_outputs))
        moved = [[self._moved(edge, place, outside) for edge in edges] for edges in groups]
        used = set(topological([edge for edges in moved for edge in edges]))
        read = [node for node in outside if node in used]
        variables = (*self.variables, *read)
        edges = [*self.sources, *(outside[node] for node in read)]
        return [Graph(variables, tuple(outputs)) for outputs in moved], edges

    def _owns(self, node: Node) -> bool:
        mark = node.attrs.get(_INSIDE, "")
        return mark == self.name or mark.startswith(f"{self.name}$")

    def _moved(self, edge: Edge, place: dict[Edge, Edge], outside: dict[Node, Edge]) -> Edge:
        edge = self.instead.get(edge, edge)
        if edge.node.is_variable or self._owns(edge.node):
            return place.get(edge, edge)
        if edge not in place:
            suffix = "" if edge.node.num_outputs == 1 else str(edge.index)
            stand_in = variable(f"{edge.node.name}_output{suffix}")
            outside[stand_in] = edge
            place[edge] = Edge(stand_in, 0)
        return place[edge]


def joined(
    parts: Sequence[tuple[Inside, Sequence[Edge]]],
) -> tuple[list[Graph], list[Edge], tuple[int, ...]]:
    """Cuts several subgraphs, and gives them the same inputs.

    Returns:
        The graphs; the edges outside that are the inputs; and which of these are the variables of
        the last subgraph.
    """
    slots: list[tuple[int | None, Edge]] = []
    cuts = []
    for inside, edges in parts:
        (graph,), outer = inside.cut([edges])
        own = len(inside.variables)
        # Two loop variables may begin with one value, and stay two.
        mine = [(i if i < own else None, edge) for i, edge in enumerate(outer)]
        slots += [slot for slot in mine if slot not in slots]
        cuts.append((graph, dict(zip(mine, graph.inputs, strict=True))))
    graphs = [
        Graph(
            tuple(by_slot.get(slot) or variable(f"unused{i}") for i, slot in enumerate(slots)),
            graph.outputs,
        )
        for graph, by_slot in cuts
    ]
    variables = sorted((one, i) for i, (one, _) in enumerate(slots) if one is not None)
    return graphs, [edge for _, edge in slots], tuple(i for _, i in variables)
