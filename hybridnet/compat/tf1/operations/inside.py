"""The common parts of branches and loops: the block that marks Operations as inside, and the nodes.

A function of a branch or a loop is called once. The Operations that it makes are marked as being
inside; what it uses of the graph around it becomes an input of the node (see
`hybridnet.symbol.inside`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hybridnet.base import DTypeError
from hybridnet.graph import Edge, Node
from hybridnet.ops.core import Call, registry
from hybridnet.symbol import AttrScope, Inside, is_inside

from ..graph import Graph, HostCall, Kind, Tensor, get_default_graph
from ..graph.building import COPY, add_copy, apply_call, listed, nodes_between, tensor_of
from ..graph.coded import STRINGS

__all__ = ["at_depth", "depth", "example_outside", "inner", "marked", "outputs_of"]

#: Where a graph keeps the blocks that are open, the outermost first, each with the scope around it.
_OPEN: Final = "insides"


def inner(tensor: Tensor) -> Tensor:
    """Returns a tensor that is inside: it may be one from outside, that a function returned."""
    made: Tensor = apply_call("Identity", COPY, (tensor,), name="Identity")
    return made


@contextmanager
def marked(graph: Graph, inside: Inside) -> Iterator[None]:
    """A block of which all that is made is inside: its values are of a branch or turn, not a run.

    Args:
        graph: that it is made in.
        inside: inside of what.
    """
    before = graph.version
    opened = graph.extras.setdefault(_OPEN, [])
    opened.append((inside, AttrScope.current))
    try:
        with inside.scope, graph.control_dependencies(None):
            yield
    finally:
        opened.pop()
    for op in graph.get_operations()[before:]:
        if op.node is None or not is_inside(op.node):  # a variable
            continue
        graph.prevent_fetching(op)
        for one in op.outputs:
            graph.prevent_feeding(one)


def depth(graph: Graph) -> int:
    """Returns how many branches and loops are open, one inside the other."""
    return len(graph.extras.get(_OPEN, ()))


@contextmanager
def at_depth(graph: Graph, number: int) -> Iterator[None]:
    """A block of which what is made is inside only the first of the branches and loops."""
    opened = graph.extras.get(_OPEN, [])
    rest = opened[number:]
    before = AttrScope.current
    if rest:
        AttrScope.current = rest[0][1]
    del opened[number:]
    try:
        with graph.control_dependencies(None):
            yield
    finally:
        opened += rest
        AttrScope.current = before


def example_outside(tensor: Tensor, number: int) -> Tensor:
    """Returns a tensor of the dtype and shape of one inside, which is less deep inside.

    It is what is computed in the first turn of a loop, or if a branch is taken. Nothing computes
    it where only its shape is asked for.

    Args:
        tensor: inside of the branches and loops that are open.
        number: inside how many of them the other is to be.
    """
    graph = tensor.graph
    for level in range(depth(graph) - 1, number - 1, -1):
        inside = graph.extras[_OPEN][level][0]
        with at_depth(graph, level):
            tensor = _copied_out(inside, tensor)
    return tensor


def _copied_out(inside: Inside, tensor: Tensor) -> Tensor:
    graph = tensor.graph
    (made,), sources = inside.cut([[tensor.edge]])
    place = {Edge(node, 0): one for node, one in zip(made.inputs, sources, strict=True)}
    nodes: list[Node] = []
    for node in nodes_between(made.outputs, place):
        copies = _without_python(node)
        if copies is None:
            moved = tuple(place[edge] for edge in node.inputs)
            copy = node.with_inputs(moved).with_controls(())
            copies = [Edge(copy, index) for index in range(node.num_outputs)]
        place.update((Edge(node, index), copy) for index, copy in enumerate(copies))
        nodes += dict.fromkeys(edge.node for edge in copies)
    edge = place[made.outputs[0]]
    if not nodes:
        return tensor_of(graph, edge)
    new = set(nodes)
    read = dict.fromkeys(one for node in nodes for one in node.inputs if one.node not in new)
    return add_copy("Shape", tensor, nodes, edge, [tensor_of(graph, one) for one in read])


def _without_python(node: Node) -> list[Edge] | None:
    """Returns zeros in the place of what Python computes; None where it computes nothing."""
    if not isinstance(node.call, HostCall):
        return None
    found = []
    for kind in node.call.infer(()):
        call, _ = registry.get("_zeros").bind({"shape": kind.shape, "dtype": kind.dtype.name})
        found.append(Edge(Node(call, (), "zeros"), 0))
    return found


def outputs_of(
    kind: str,
    call: Call,
    inputs: Sequence[Edge],
    numbers: tuple[Any, ...],
    kinds: Sequence[Kind],
    name: str,
) -> list[Tensor]:
    """Adds the node, and for each of its outputs an Operation with TensorFlow's name for it.

    Raises:
        DTypeError: strings go in or come out.
    """
    graph = get_default_graph()
    tensors = [tensor_of(graph, edge) for edge in inputs]
    if STRINGS in (*(one.dtype.numpy for one in tensors), *(one.dtype for one in kinds)):
        raise DTypeError(
            f"{kind}: strings are on the host, and cannot go into a branch or a loop, nor come out "
            "of it; make numbers of them before (tf.decode_raw, tf.string_to_number, tf.equal)"
        )
    made = apply_call(kind, call, tensors, numbers, name=kind, kinds=kinds)
    return [apply_call(name, COPY, (one,), name=name) for one in listed(made)]
