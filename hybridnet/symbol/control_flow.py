"""`sym.contrib.foreach`, `while_loop` and `cond`: loops and choices as nodes of a symbol.

The functions that users give are run once, on variables that stand for what they will be given.
What they make becomes a graph inside the node; what they use of the symbols around them becomes
inputs of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridnet import engine
from hybridnet.attribute import AttrScope
from hybridnet.base.errors import ParameterError
from hybridnet.base.nested import Layout, flattened, nested
from hybridnet.graph.cond import open_cond
from hybridnet.graph.foreach import open_foreach
from hybridnet.graph.node import Edge, Graph, Node, topological, variable
from hybridnet.graph.while_loop import open_while
from hybridnet.name import NameManager
from hybridnet.ops.call import Call
from hybridnet.ops.registry import get

from ._compose import scope_attributes
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]

#: The attribute of every node inside a subgraph, which says whose it is.
_INSIDE: Final = "__subgraph_name__"


def foreach(
    body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Runs a function for each row of some arrays, with states that go from row to row.

    Args:
        body: gets the row (or the rows, nested as `data`) and the states, and returns the output,
            a symbol or nested lists of them, and the new states.
        data: a symbol, or nested lists of symbols, whose first dimension counts the rows.
        init_states: the first states, likewise; every row must keep their shapes and dtypes.
        name: of the subgraph.

    Returns:
        The outputs of all rows, stacked, and the last states.

    Raises:
        ParameterError: an argument, or what the body returns, is something else.
    """
    rows, data_layout = flattened(data, Symbol, "foreach: data")
    states, state_layout = flattened(init_states, Symbol, "foreach: init_states")
    if not rows:
        raise ParameterError("foreach: data must hold at least one symbol")
    inside = _Inside(name, [*rows, *states])
    with inside.scope:
        result = body(
            nested(data_layout, inside.symbols[: len(rows)]),
            nested(state_layout, inside.symbols[len(rows) :]),
        )
        outs, new, layouts = _outputs_and_states("foreach: body", result, len(states))
        edges = _distinct([*outs, *new], len(outs))
    (graph,), inputs = inside.cut([edges])
    call, numbers = open_foreach(graph, len(rows), len(states), len(outs))
    return _results(call, inputs, numbers, len(outs), layouts)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Runs a function over and over while a condition holds.

    Args:
        cond: gets the loop variables, each as an argument, and returns a symbol of one element.
        func: gets them too, and returns the output of this step, a symbol or nested lists of them
            ([] for none), and the new loop variables.
        loop_vars: the first loop variables, a symbol or nested lists of symbols; they keep their
            shapes and dtypes.
        max_iterations: how often `func` is run at most.
        name: of the subgraphs.

    Returns:
        The outputs of all steps, stacked to `max_iterations` rows of which those after the last
        step are zeros, and the last loop variables.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    limit = checked_limit(max_iterations)
    variables, layout = flattened(loop_vars, Symbol, "while_loop: loop_vars")
    if not variables:
        raise ParameterError("while_loop: loop_vars should contain at least one symbol")
    tested = _Inside(f"{name}_cond", variables)
    with tested.scope:
        holds = cond(*arguments(layout, tested.symbols))
        if not isinstance(holds, Symbol):
            raise ParameterError(
                f"while_loop: cond must return a Symbol of one element, got {type(holds).__name__}"
            )
        test = _distinct([holds], 0)
    inside = _Inside(f"{name}_func", variables)
    with inside.scope:
        result = func(*arguments(layout, inside.symbols))
        outs, new, layouts = _outputs_and_states("while_loop: func", result, len(variables))
        edges = _distinct([*outs, *new], len(outs))
    (condition, body), inputs, places = _joined([(tested, test), (inside, edges)])
    call, numbers = open_while(condition, body, places[: len(variables)], len(outs), limit)
    return _results(call, inputs, numbers, len(outs), layouts)


def cond(
    pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond"
) -> Any:
    """Runs one of two functions, whichever a value says.

    Args:
        pred: a symbol of one element.
        then_func: run where it is not 0; takes nothing, and returns a symbol or nested lists.
        else_func: run where it is 0; returns as many symbols, of the same shapes and dtypes.
        name: of the subgraphs.

    Returns:
        What the function returned.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    if not isinstance(pred, Symbol) or len(pred) != 1:
        raise ParameterError(f"cond: pred must be a Symbol of one output, got {pred!r}")
    branches, layouts = [], []
    for function, suffix in ((then_func, "then"), (else_func, "else")):
        inside = _Inside(f"{name}_{suffix}", [])
        with inside.scope:
            outs, layout = flattened(function(), Symbol, f"cond: what {suffix}_func returns")
            branches.append((inside, _distinct(outs, 0)))
        layouts.append(layout)
    counts = [len(edges) for _, edges in branches]
    if counts[0] != counts[1] or not counts[0]:
        raise ParameterError(
            "cond: then_func and else_func must return the same number of symbols, at least one, "
            f"got {counts[0]} and {counts[1]}"
        )
    (then, other), inputs, _ = _joined(branches)
    call, numbers = open_cond(then, other)
    symbols = _symbols(call, (pred.edges[0], *inputs), numbers)
    return nested(layouts[0], symbols)


def checked_limit(max_iterations: Any) -> int:
    """Returns `max_iterations` as an int.

    Raises:
        ParameterError: it is no positive whole number.
    """
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        limit = 0
    if limit <= 0:
        raise ParameterError(
            "while_loop: max_iterations should be specified, as a positive whole number, got "
            f"{max_iterations!r}"
        )
    return limit


def arguments(layout: Layout, leaves: Sequence[Any]) -> list[Any]:
    """Returns loop variables as the arguments of a function: a list is several of them."""
    made = nested(layout, leaves)
    return made if isinstance(made, list) else [made]


def _outputs_and_states(
    what: str, result: Any, num_states: int
) -> tuple[list[Any], list[Any], tuple[Layout, Layout]]:
    """Takes what a body returned apart: outputs, states, and how both were nested."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ParameterError(f"{what} must return a pair: the outputs and the new states")
    outs, out_layout = flattened(
        [] if result[0] is None else result[0], Symbol, f"{what}: the outputs"
    )
    states, state_layout = flattened(result[1], Symbol, f"{what}: the new states")
    if len(states) != num_states:
        raise ParameterError(
            f"{what} must return as many states as it gets, {num_states}, got {len(states)}"
        )
    return outs, states, (out_layout, state_layout)


def _distinct(symbols: Sequence[Symbol], first_state: int) -> list[Edge]:
    """Returns edges of operators, each only once among states: files of MXNet want it so."""
    edges: list[Edge] = []
    for number, one in enumerate(symbols):
        if len(one) != 1:
            raise ParameterError(f"control flow takes symbols of one output each, got {one!r}")
        edge = one.edges[0]
        if edge.node.is_variable or (number >= first_state and edge in edges):
            edge = Symbol.apply_operator(get("_copy"), [one], {}, hint="identity").edges[0]
        edges.append(edge)
    return edges


def _results(
    call: Call,
    inputs: Sequence[Edge],
    numbers: tuple[Any, ...],
    num_out: int,
    layouts: tuple[Layout, Layout],
) -> tuple[Any, Any]:
    symbols = _symbols(call, inputs, numbers)
    return nested(layouts[0], symbols[:num_out]), nested(layouts[1], symbols[num_out:])


def _symbols(call: Call, inputs: Sequence[Edge], numbers: tuple[Any, ...]) -> list[Symbol]:
    named = NameManager.current.get(None, call.name)
    attrs = scope_attributes({})
    node = Node(call, tuple(inputs), named, numbers, attrs, engine.caller_origin(2))
    return [Symbol([Edge(node, index)]) for index in range(call.num_visible)]


class _Inside:
    """The inside of a subgraph while a function makes it.

    Args:
        name: what its name begins with.
        sources: the symbols for which it is given variables.

    Attributes:
        scope: marks what is made in it.
        symbols: the variables.
    """

    def __init__(self, name: str, sources: Sequence[Symbol]) -> None:
        outer = AttrScope.current.get({}).get(_INSIDE)
        own = NameManager.current.get(None, name)
        self.name = f"{outer}${own}" if outer else own
        self.scope = AttrScope(**{_INSIDE: self.name})
        self.sources: list[Edge] = []
        names: set[str] = set()
        nodes = []
        for one in sources:
            if len(one) != 1:
                raise ParameterError(f"control flow takes symbols of one output each, got {one!r}")
            edge = one.edges[0]
            number = 0
            while f"{edge.node.name}-{number}" in names:
                number += 1
            names.add(f"{edge.node.name}-{number}")
            nodes.append(variable(f"{edge.node.name}-{number}", {_INSIDE: self.name}))
            self.sources.append(edge)
        self.variables = nodes
        self.symbols = [Symbol([Edge(node, 0)]) for node in nodes]

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
            # What is outside has run before all that is inside.
            controls = tuple(again[one] for one in node.controls if one in again)
            made = again[node] = node.with_inputs(inputs).with_controls(controls)
            place.update((Edge(node, i), Edge(made, i)) for i in range(node.num_outputs))
        moved = [[self._moved(edge, place, outside) for edge in edges] for edges in groups]
        used = set(topological([edge for edges in moved for edge in edges]))
        read = [node for node in outside if node in used]
        variables = (*self.variables, *read)
        edges = [*self.sources, *(outside[node] for node in read)]
        return [Graph(variables, tuple(one)) for one in moved], edges

    def _owns(self, node: Node) -> bool:
        mark = node.attrs.get(_INSIDE, "")
        return mark == self.name or mark.startswith(f"{self.name}$")

    def _moved(self, edge: Edge, place: dict[Edge, Edge], outside: dict[Node, Edge]) -> Edge:
        if edge.node.is_variable or self._owns(edge.node):
            return place.get(edge, edge)
        if edge not in place:
            suffix = "" if edge.node.num_outputs == 1 else str(edge.index)
            stand_in = variable(f"{edge.node.name}_output{suffix}")
            outside[stand_in] = edge
            place[edge] = Edge(stand_in, 0)
        return place[edge]


def _joined(
    parts: Sequence[tuple[_Inside, Sequence[Edge]]],
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
        slots += [one for one in mine if one not in slots]
        cuts.append((graph, dict(zip(mine, graph.inputs, strict=True))))
    graphs = [
        Graph(
            tuple(by_slot.get(one) or variable(f"unused{i}") for i, one in enumerate(slots)),
            graph.outputs,
        )
        for graph, by_slot in cuts
    ]
    variables = sorted((one, i) for i, (one, _) in enumerate(slots) if one is not None)
    return graphs, [edge for _, edge in slots], tuple(i for _, i in variables)
