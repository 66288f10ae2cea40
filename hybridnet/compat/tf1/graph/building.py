"""Adding Operations to the graph: all names of `hybridnet.compat.tf1` come through here.

`apply` adds one node of an operator of our registry, `apply_call` one of any `Call`, `compose`
what a function makes of several operators. Names, devices, controls and gradients that the blocks
in force ask for are seen to here, and types are inferred, so that an error comes at the user's
line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hybridnet.base import DEVICE, MXNetError, noted_origin
from hybridnet.clusters import CONTAINER
from hybridnet.graph import NO_OP, READ, Edge, EdgeHandle, Node
from hybridnet.graph import Graph as OurGraph
from hybridnet.ops.core import Call, registry
from hybridnet.symbol import scope_attributes

from ..dtypes import DType, as_dtype
from .coded import STRINGS, coded
from .graph import Graph, get_default_graph
from .infer import Kind, infer_kinds
from .scopes import device_text
from .shapes import TensorShape
from .tensor import Operation, Tensor

__all__ = [
    "COPY", "add_copy", "add_node", "apply", "apply_call", "compose", "edge_kind", "fused",
    "graph_of", "kind_of", "listed", "nodes_between", "op", "tensor_of",
]  # fmt: skip

#: The call that hands its input on.
COPY: Final[Call] = registry.get("_copy").bind({})[0]


def apply(
    kind: str,
    operator: str,
    inputs: Sequence[Tensor],
    params: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    shape: Any = None,
    kinds: Sequence[Kind] | None = None,
) -> Any:
    """Adds an Operation that is one operator of our registry.

    Args:
        kind: the Operation's type, TensorFlow's name: 'MatMul'.
        operator: our operator: 'dot'.
        inputs: tensors, of dtypes that `require_same` or the caller has looked at.
        params: the operator's parameters.
        name: the Operation's name; default its type. The scopes in force come before it.
        shape: what is known of the shape of the output besides what follows from the inputs.
        kinds: what is known of the outputs, where the inputs do not tell; then nothing is inferred.

    Returns:
        The output; a tuple of them where there are several; the Operation where there is none.

    Raises:
        ShapeError, DTypeError: the inputs do not fit; the message names the Operation.
        ValueError: they are of several graphs.
    """
    call, scalars = registry.get(operator).bind(params or {})
    return apply_call(
        kind, call, inputs, scalars, name=name, shape=shape, kinds=kinds, params=params
    )


def apply_call(
    kind: str,
    call: Call,
    inputs: Sequence[Tensor],
    scalars: tuple[Any, ...] = (),
    *,
    name: str | None = None,
    shape: Any = None,
    kinds: Sequence[Kind] | None = None,
    dtypes: Sequence[DType] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """Adds an Operation that is one call; as `apply`, but for:

    Args:
        call: what it does.
        scalars: the numbers that the call takes beside the inputs.
        dtypes: of the outputs, where they are not NumPy's.
        params: what `Operation.get_attr` returns.
    """
    graph = graph_of(inputs)
    op = _begun(graph, kind, inputs, name, params)
    if not call.on_host and any(one.dtype.numpy == STRINGS for one in inputs):
        given = [Node(None, (), one.op.name) for one in inputs]
        moved = Node(call, tuple(Edge(one, 0) for one in given), op.name, scalars)
        outputs = tuple(Edge(moved, index) for index in range(call.num_visible))
        call, inferred = _coded(op, inputs, OurGraph(tuple(given), outputs))
        kinds = inferred if kinds is None else kinds
        scalars, dtypes = (), None
    node = Node(call, tuple(one.edge for one in inputs), op.name, scalars)
    if kinds is None:
        with _named(op):
            kinds = infer_kinds(call, [kind_of(one) for one in inputs])
    _finish(op, [node], [Edge(node, index) for index in range(call.num_visible)], kinds, dtypes)
    return _results(op, shape)


def compose(
    kind: str,
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    *,
    name: str | None = None,
    shape: Any = None,
    dtypes: Sequence[DType] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """Adds an Operation that is several of our nodes.

    Args:
        kind: the Operation's type.
        function: gets a handle (an `hybridnet.graph.gradient.EdgeHandle`, with the fluent methods
            of arrays and ``apply_operator``) for each input, and returns a handle, or several.
        inputs: tensors, at least one.
        name, shape: as for `apply`.
        dtypes: of the outputs, where they are not NumPy's.
        params: what `Operation.get_attr` returns.

    Returns:
        As `apply`.
    """
    graph = graph_of(inputs)
    op = _begun(graph, kind, inputs, name, params)
    if any(one.dtype.numpy == STRINGS for one in inputs):
        return _composed_of_strings(op, function, inputs, shape)
    with _named(op):
        made = function(*(EdgeHandle(one.edge, None) for one in inputs))
    given = {one.edge: kind_of(one) for one in inputs}
    edges = [
        Edge(Node(COPY, (one.edge,), "copy"), 0) if one.edge in given else one.edge
        for one in listed(made)
    ]
    nodes = nodes_between(edges, given)
    known: dict[Edge, Kind] = dict(given)
    for node in nodes:
        assert node.call is not None
        with _named(op):
            found = infer_kinds(node.call, [known[edge] for edge in node.inputs])
        known.update((Edge(node, index), one) for index, one in enumerate(found))
    _finish(op, nodes, edges, [known[edge] for edge in edges], dtypes, known)
    return _results(op, shape)


def op(
    kind: str, operator: str, inputs: Sequence[Tensor], *, name: str | None = None, **params: Any
) -> Tensor:
    """As `apply`, of an operator with one output; `params` are its parameters."""
    made: Tensor = apply(kind, operator, inputs, params, name=name)
    return made


def fused(
    kind: str,
    function: Callable[..., EdgeHandle],
    inputs: Sequence[Tensor],
    *,
    name: str | None = None,
    shape: Any = None,
    **params: Any,
) -> Tensor:
    """As `compose`, with one output; `params` are what `Operation.get_attr` returns."""
    made: Tensor = compose(kind, function, inputs, name=name, shape=shape, params=params)
    return made


def add_copy(
    kind: str, of: Tensor, nodes: Sequence[Node], edge: Edge, inputs: Sequence[Tensor]
) -> Tensor:
    """Adds an Operation for nodes that compute a tensor of the dtype and shape of another.

    Args:
        kind: the Operation's type.
        of: the other tensor.
        nodes: each after its inputs.
        edge: what they compute.
        inputs: what they compute it of.
    """
    op = _begun(graph_of(inputs), kind, inputs, None, None)
    _finish(op, nodes, [edge], [kind_of(of)], [of.dtype.base_dtype])
    return op.outputs[0]


def _composed_of_strings(
    op: Operation, function: Callable[..., Any], inputs: Sequence[Tensor], shape: Any
) -> Any:
    """Adds what `compose` does of strings: one node of Python."""
    given = [Node(None, (), one.op.name) for one in inputs]
    made = function(*(EdgeHandle(Edge(one, 0), None) for one in given))
    edges = tuple(one.edge for one in listed(made))
    call, kinds = _coded(op, inputs, OurGraph(tuple(given), edges))
    node = Node(call, tuple(one.edge for one in inputs), op.name)
    _finish(op, [node], [Edge(node, index) for index in range(len(kinds))], kinds, None)
    return _results(op, shape)


def _coded(op: Operation, inputs: Sequence[Tensor], graph: OurGraph) -> tuple[Call, Sequence[Kind]]:
    with _named(op):
        return coded(op.type, [kind_of(one) for one in inputs], graph)


def add_node(
    kind: str,
    node: Node,
    dtype: DType,
    shape: Any,
    *,
    name: str,
    inputs: Sequence[Tensor] = (),
    params: Mapping[str, Any] | None = None,
) -> Tensor:
    """Adds an Operation for a node that stands for a value from outside; returns its output.

    Args:
        kind: the Operation's type.
        node: a variable of our graph, whose name, attributes and line are set here.
        dtype: of the value.
        shape: of it, as far as it is known.
        name: the Operation's name, before which the scopes in force come.
        inputs: tensors; none for a variable.
        params: what `Operation.get_attr` returns.
    """
    op = _begun(graph_of(inputs), kind, inputs, name, params)
    _finish(op, [node], [Edge(node, 0)], [Kind(dtype.numpy, None)], [dtype])
    return _results(op, shape)  # type: ignore[no-any-return]


def listed(made: Any) -> list[Any]:
    """Returns what may be one or several, as `apply` returns it, as a list."""
    return list(made) if isinstance(made, (tuple, list)) else [made]


def graph_of(inputs: Sequence[Tensor]) -> Graph:
    """Returns the graph that an Operation with these inputs is added to.

    Raises:
        ValueError: they are of several graphs.
    """
    if not inputs:
        return get_default_graph()
    first = inputs[0]
    for one in inputs[1:]:
        if one.graph is not first.graph:
            raise ValueError(f"{one} must be from the same graph as {first}.")
    return first.graph


def kind_of(tensor: Tensor) -> Kind:
    """Returns what is known of a tensor."""
    return Kind(tensor.dtype.numpy, tensor.shape._dims)


def tensor_of(graph: Graph, edge: Edge, kind: Kind | None = None) -> Tensor:
    """Returns the tensor of an edge; for one inside an Operation one that nobody else knows.

    Args:
        graph: that it is in.
        edge: an output of one of our nodes.
        kind: what is known of it, if it belongs to no Operation.
    """
    op = graph.operation_of(edge.node)
    for one in () if op is None else op.outputs:
        if one.edge == edge:
            return one
    kind = kind or edge_kind(graph, edge)
    owner = op or Operation(graph, edge.node.name, "Hidden", ())
    return Tensor(owner, edge.index, edge, as_dtype(kind.dtype), TensorShape(kind.dims))


def edge_kind(graph: Graph, edge: Edge) -> Kind:
    """Returns the dtype and, as far as it is known, the shape of an edge; by default float32."""
    op = graph.operation_of(edge.node)
    if op is not None:
        for one in op.outputs:
            if one.edge == edge:
                return kind_of(one)
        if edge in op.inner:
            return op.inner[edge]
        if op.outputs:  # a hidden output, such as the state of a random generator
            return Kind(op.outputs[0].dtype.numpy, None)
    return Kind(np.dtype(np.float32), None)


def _begun(
    graph: Graph,
    kind: str,
    inputs: Sequence[Tensor],
    name: str | None,
    params: Mapping[str, Any] | None,
) -> Operation:
    """Returns an Operation without nodes, with all that the blocks in force ask for."""
    graph.check_open()
    scopes = graph.scopes
    with graph.lock:
        named, controls = scopes.op_name(name or kind), scopes.controls(inputs)
        op = Operation(graph, named, kind, tuple(inputs), controls)
        op.params = params or {}
        op.colocated = scopes.colocations
        op.device = _device(graph, op)
        op.override = scopes.overrides.get(kind)
    return op


def _device(graph: Graph, op: Operation) -> str:
    for name in op.colocated:
        found = graph.get_operation_by_name(name).device
        if found:
            return found
    return device_text(graph.scopes.device_of(op)) if graph.scopes.devices else ""


def _finish(
    op: Operation,
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    kinds: Sequence[Kind],
    dtypes: Sequence[DType] | None,
    known: Mapping[Edge, Kind] | None = None,
) -> None:
    """Gives an Operation its nodes, with names, devices and controls, and its outputs."""
    moved = _dressed(op, nodes)
    op.inner = {
        Edge(moved[edge.node], edge.index): kind
        for edge, kind in (known or {}).items()
        if edge.node in moved
    }
    op.nodes = tuple(moved.values())
    op.node = op.nodes[-1] if op.nodes else edges[0].node
    inner = {edge.node for node in op.nodes for edge in node.inputs}
    ends = tuple(node for node in op.nodes if node not in inner)
    if len(ends) > 1:  # what runs the Operation, or runs after it, means all of them
        op.node = replace(ends[-1], call=NO_OP, inputs=(), scalars=(), controls=ends)
        op.nodes = (*op.nodes, op.node)
    for index, (edge, kind) in enumerate(zip(edges, kinds, strict=False)):
        dtype = dtypes[index] if dtypes else as_dtype(kind.dtype)
        made = Edge(moved.get(edge.node, edge.node), edge.index)
        op.outputs.append(Tensor(op, index, made, dtype, TensorShape(kind.dims)))
    op.graph.add(op)


def _dressed(op: Operation, nodes: Sequence[Node]) -> dict[Node, Node]:
    """Returns for each node of an Operation the one that takes its place."""
    attrs = scope_attributes({})
    if op.device:
        attrs[DEVICE] = op.device.lower()
    if op.type == "VariableV2" and op.graph.container_name:
        attrs[CONTAINER] = op.graph.container_name
    origin = noted_origin(2)
    controls = tuple(one.node for one in op.control_inputs)
    # What an Operation reads of a variable, it reads when all its inputs are there.
    ready = tuple(one.edge.node for one in op.inputs if not one.edge.node.is_variable)
    place: dict[Edge, Edge] = {}
    moved: dict[Node, Node] = {}
    for number, node in enumerate(nodes, 1):
        last = number == len(nodes)
        moved[node] = made = replace(
            node,
            inputs=tuple(place.get(edge, edge) for edge in node.inputs),
            name=op.name if last else f"{op.name}/{node.name}_{number}",
            attrs=attrs,
            origin=origin,
            controls=(*controls, *ready) if node.call is READ else controls,
        )
        place.update((Edge(node, i), Edge(made, i)) for i in range(node.num_outputs))
    return moved


def nodes_between(edges: Sequence[Edge], given: Mapping[Edge, Any]) -> list[Node]:
    """Returns the nodes that compute some values from others, each after its inputs."""
    found: dict[Node, None] = {}

    def visit(edge: Edge) -> None:
        if edge in given or edge.node in found:
            return
        for one in edge.node.inputs:
            visit(one)
        found[edge.node] = None

    for edge in edges:
        visit(edge)
    return list(found)


@contextmanager
def _named(op: Operation) -> Iterator[None]:
    """A block whose errors name an Operation."""
    try:
        yield
    except MXNetError as error:
        raise type(error)(f"{op.type} {op.name!r}: {error}") from error


def _results(op: Operation, shape: Any) -> Any:
    if not op.outputs:
        return op
    if shape is not None:
        op.outputs[0].set_shape(shape)
    return op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)
