"""Control flow in MXNet's JSON: nodes with a list ``subgraphs``, and where inputs go in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import FormatError, GraphError
from hybridnet.ops.core.registry import get

from .cond import CondCall, open_cond
from .foreach import ForeachCall, open_foreach
from .node import Edge, Graph, Moves, Node, topological, variable
from .subgraph import ControlCall, Subgraph
from .while_loop import WhileCall, open_while

#: The operators with subgraphs, and how many each has.
OPERATORS: Final = {"_foreach": 1, "_while_loop": 2, "_cond": 3}


def subgraphs(node: Node) -> list[Graph]:
    """Returns the graphs inside a node, with their numbers, as files list them."""
    call = node.call
    assert isinstance(call, ControlCall)
    if not call.is_open:
        raise GraphError(
            f"node {node.name!r}: a loop of a traced function or of a gradient has no name in "
            "symbol files; save the symbol it was derived from instead"
        )
    graphs = [_with_numbers(part, node.scalars) for part in call.parts]
    if isinstance(call, ForeachCall):
        graphs = [_reading_states(graphs[0], call)]
    if isinstance(call, CondCall):
        source = node.inputs[0].node
        name = source.name if source.is_variable else f"{source.name}_output"
        pred = variable(name)
        copied = _copy(Edge(pred, 0))
        graphs.insert(0, Graph((pred,), (copied,)))
    return graphs


def _reading_states(body: Graph, call: ForeachCall) -> Graph:
    """Returns a body that reads every state, as MXNet wants it, to the same effect."""
    read = {node for node in topological(body.outputs) if node.is_variable}
    outputs, loop = list(body.outputs), call.loop
    for number in range(loop.num_states):
        state = body.inputs[loop.carried[number]]
        if state not in read:
            place = loop.num_out + number
            edges = outputs[place], Edge(state, 0)
            like = get("_identity_with_attr_like_rhs").bind({})[0]
            outputs[place] = Edge(Node(like, edges, f"{state.name}_next"), 0)
    return Graph(body.inputs, tuple(outputs))


def _copy(edge: Edge) -> Edge:
    return Edge(Node(get("_copy").bind({})[0], (edge,), "identity_pred"), 0)


def _with_numbers(part: Subgraph, numbers: Sequence[object]) -> Graph:
    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        scalars = tuple(
            numbers[part.places[scalar]] if type(scalar) is HostScalar else scalar
            for scalar in node.scalars
        )
        return replace(node, inputs=inputs, scalars=scalars)

    return part.graph.map(change)


def attributes(node: Node, graphs: Sequence[Graph]) -> dict[str, str]:
    """Returns the attributes that say where a node's inputs go in its subgraphs.

    Raises:
        GraphError: an input that MXNet wants to be used is not.
    """
    call = node.call
    assert isinstance(call, ControlCall)
    listed = [[n for n in topological(graph.outputs) if n.is_variable] for graph in graphs]
    found: dict[str, Any] = {"num_args": len(node.inputs) + len(graphs)}

    def place(number: int, variable: Node, what: str) -> int:
        try:
            return listed[number].index(variable)
        except ValueError:
            raise GraphError(
                f"node {node.name!r}: {what} is not used inside, which MXNet's files cannot hold; "
                "leave it out"
            ) from None

    if isinstance(call, ForeachCall):
        every, loop = graphs[0].inputs, call.loop
        ends = loop.num_data, loop.num_data + loop.num_states
        for key, some, what in (
            ("in_data_locs", every[: ends[0]], "an array of data"),
            ("in_state_locs", every[ends[0] : ends[1]], "a state"),
            ("remain_locs", every[ends[1] :], "an array"),
        ):
            found[key] = [place(0, variable, what) for variable in some]
        found["num_out_data"] = loop.num_out
    elif isinstance(call, WhileCall):
        for number, key in enumerate(("cond_input_locs", "func_input_locs")):
            inputs = graphs[number].inputs
            found[key] = [inputs.index(variable) for variable in listed[number]]
        found["func_var_locs"] = [
            place(1, graphs[1].inputs[i], "a loop variable")
            for i in call.carried[: call.num_states]
        ]
        found["num_out_data"] = call.num_out
        found["max_iterations"] = call.max_iterations
    else:
        found["cond_input_locs"] = [0]
        for number, key in ((1, "then_input_locs"), (2, "else_input_locs")):
            inputs = graphs[number].inputs
            found[key] = [1 + inputs.index(variable) for variable in listed[number]]
    found["num_outputs"] = call.num_visible
    return {key: str(value) for key, value in found.items()}


Outputs = Sequence[Edge]


def read(
    op: str,
    name: str,
    where: str,
    attrs: Mapping[str, str],
    inputs: Sequence[Edge],
    inside: Sequence[Outputs],
    kept: Mapping[str, str],
) -> Node:
    """Makes the node of an operator with subgraphs.

    Args:
        name: of the node.
        where: in the file it stands, for messages.
        attrs: its attributes.
        inputs: its inputs.
        inside: the outputs of its subgraphs.
        kept: the user's attributes.

    Raises:
        FormatError: the attributes do not fit the subgraphs.
    """
    makers: dict[str, Callable[..., Any]] = {
        "_foreach": _read_foreach,
        "_while_loop": _read_while,
        "_cond": _read_cond,
    }
    if len(inside) != OPERATORS[op]:
        raise FormatError(
            f"symbol JSON: {where} applies {op} and needs {OPERATORS[op]} subgraphs, got "
            f"{len(inside)}"
        )
    try:
        call, edges, numbers = makers[op](_Attributes(attrs, where), list(inputs), inside)
    except GraphError as error:
        raise FormatError(f"symbol JSON: {where}: {error}") from error
    except (IndexError, KeyError) as error:
        raise FormatError(
            f"symbol JSON: the locations of {where} do not fit its inputs and subgraphs"
        ) from error
    return Node(call, tuple(edges), name, numbers, dict(kept))


class _Attributes:
    """The attributes of a node, as numbers."""

    def __init__(self, attrs: Mapping[str, str], where: str) -> None:
        self._attrs = attrs
        self._where = where

    def places(self, key: str) -> list[int]:
        """Returns a list of positions."""
        found = self._read(key)
        if isinstance(found, (list, tuple)) and all(
            isinstance(place, int) and place >= 0 for place in found
        ):
            return list(found)
        raise FormatError(f"symbol JSON: {key} of {self._where} must be a list, got {found!r}")

    def number(self, key: str) -> int:
        """Returns a whole number."""
        found = self._read(key)
        if isinstance(found, int) and found >= 0:
            return found
        raise FormatError(f"symbol JSON: {key} of {self._where} must be a number, got {found!r}")

    def is_none(self, key: str) -> bool:
        """Whether there is no value: a loop without a maximum, which MXNet does not know."""
        return self._read(key) is None

    def _read(self, key: str) -> Any:
        text = self._attrs.get(key, "None").replace("L", "")
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text


def _variables(outputs: Outputs) -> list[Node]:
    return [node for node in topological(outputs) if node.is_variable]


def _read_foreach(attrs: _Attributes, inputs: list[Edge], inside: Sequence[Outputs]) -> Any:
    own = _variables(inside[0])
    keys = ("in_data_locs", "in_state_locs", "remain_locs")
    data, states, rest = (attrs.places(key) for key in keys)
    order = [own[place] for place in (*data, *states, *rest)]
    num_out = attrs.number("num_out_data")
    if (
        len(order) != len(inputs)
        or set(order) != set(own)
        or len(set(order)) != len(order)
        or len(inside[0]) != num_out + len(states)
        or not data
    ):
        raise IndexError
    graph = Graph(tuple(order), tuple(inside[0]))
    call, numbers = open_foreach(graph, len(data), len(states), num_out)
    return call, inputs, numbers


def _with_inputs(outputs: Outputs, places: Sequence[int], count: int) -> Graph:
    """Returns a subgraph that takes all the inputs of its node."""
    own = _variables(outputs)
    if len(own) != len(places):
        raise IndexError
    by_place = dict(zip(places, own, strict=True))
    if len(by_place) < len(own) or any(place >= count for place in by_place):
        raise IndexError
    return Graph(
        tuple(by_place.get(i) or variable(f"unused{i}") for i in range(count)), tuple(outputs)
    )


def _read_while(attrs: _Attributes, inputs: list[Edge], inside: Sequence[Outputs]) -> Any:
    tested, used = attrs.places("cond_input_locs"), attrs.places("func_input_locs")
    condition = _with_inputs(inside[0], tested, len(inputs))
    body = _with_inputs(inside[1], used, len(inputs))
    carried = tuple(used[place] for place in attrs.places("func_var_locs"))
    num_out = attrs.number("num_out_data")
    if len(inside[0]) != 1 or len(inside[1]) != num_out + len(carried):
        raise IndexError
    unlimited = not num_out and attrs.is_none("max_iterations")
    limit = None if unlimited else max(attrs.number("max_iterations"), 1)
    call, numbers = open_while(condition, body, carried, num_out, limit)
    return call, inputs, numbers


def _read_cond(attrs: _Attributes, inputs: list[Edge], inside: Sequence[Outputs]) -> Any:
    if len(inside[0]) != 1 or len(inside[1]) != len(inside[2]):
        raise IndexError
    # The condition is computed before: as a part of the graph around the node.
    own, places = _variables(inside[0]), attrs.places("cond_input_locs")
    if len(own) != len(places):
        raise IndexError
    moves = Moves({Edge(node, 0): inputs[i] for node, i in zip(own, places, strict=True)})
    for node in topological(inside[0]):
        if node.call is not None:
            made = moves.moved(node)
            moves.note(node, made.inputs if node.call.name == "_copy" else made)
    pred = moves.edge(inside[0][0])
    used = [attrs.places(key) for key in ("then_input_locs", "else_input_locs")]
    every = list(dict.fromkeys(place for places in used for place in places))
    graphs = [
        _with_inputs(outputs, [every.index(place) for place in places], len(every))
        for outputs, places in zip(inside[1:], used, strict=True)
    ]
    call, numbers = open_cond(*graphs)
    return call, [pred, *(inputs[i] for i in every)], numbers
