"""Graphs that take a csr matrix as its three arrays: stored values, columns, and ends of rows.

Programs take dense arrays only, and a csr matrix of a million columns may not fit into memory as a
dense one. But if a graph uses the matrix only on the left of a `dot` (perhaps after functions that
map 0 to 0), it can be rewritten: it takes the stored values in the place of the matrix, and the
columns and ends of rows as further inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Moves, Node, infer_types, variable
from hybridnet.ops.core import registry
from hybridnet.ops.sparse import KEEPS_ZERO


def with_csr_parts(
    graph: Graph, numbers: Iterable[int], types: Sequence[TensorType]
) -> tuple[Graph, tuple[int, ...]]:
    """Rewrites a graph such that it takes csr matrices as their arrays.

    Args:
        graph: the graph, which takes matrices.
        numbers: the numbers of the inputs that are csr matrices and need no gradient.
        types: the types of all inputs, as matrices.

    Returns:
        The new graph; and those of `numbers` that it takes as arrays: for each the values (n,) in
        the matrix's place, and after all other inputs the columns (n,) and the ends of rows
        (rows + 1,), as `_csr_dot` takes them. Matrices that are used in other ways stay as they
        are.
    """
    stored = _uses(graph, set(numbers), types)
    taken = tuple(sorted(set(stored.values())))
    if not taken:
        return graph, ()
    place: dict[Edge, Edge] = {}
    positions: dict[int, tuple[Edge, Edge]] = {}
    for number in taken:
        name = graph.inputs[number].name
        place[Edge(graph.inputs[number], 0)] = Edge(variable(name), 0)
        indices, indptr = (Edge(variable(f"{name}_{part}"), 0) for part in ("indices", "indptr"))
        positions[number] = indices, indptr
    moves = Moves(place)
    for node in graph.nodes:
        if node.is_variable:
            continue
        made = moves.moved(node)
        if node.inputs and node.inputs[0] in stored and _name(node) == "dot":
            number = stored[node.inputs[0]]
            made = _product(made, positions[number], types[number].shape[1])
        moves.note(node, made)
    inputs = [moves.edge(Edge(node, 0)).node for node in graph.inputs]
    extra = [edge.node for number in taken for edge in positions[number]]
    whole = (*inputs, *extra)
    return Graph(whole, moves.edges(graph.outputs), moves.nodes(graph.targets)), taken


def _uses(graph: Graph, usable: set[int], types: Sequence[TensorType]) -> dict[Edge, int]:
    """Finds the values in a graph that have their zeros where an input has them.

    These are the inputs themselves, and what functions that map 0 to 0 make of them. Inputs that
    are used in another way than on the left of a `dot` are left out.

    Returns:
        The edge of such a value -> the number of the input that it comes from.
    """
    kinds = infer_types(graph, types) if usable else {}
    while True:
        stored = {Edge(graph.inputs[number], 0): number for number in usable}
        other: set[int] = set()
        for node in graph.nodes:
            at = [place for place, edge in enumerate(node.inputs) if edge in stored]
            if not at:
                continue
            if len(node.inputs) == 1 and _name(node) in _keeping_zeros():
                stored[Edge(node, 0)] = stored[node.inputs[0]]
            elif at != [0] or _name(node) != "dot" or not _is_matrix(node.inputs[1], kinds):
                other.update(stored[node.inputs[place]] for place in at)
        other.update(stored[edge] for edge in graph.outputs if edge in stored)
        if not other:
            return stored
        usable = usable - other


@cache
def _keeping_zeros() -> frozenset[str]:
    return frozenset(registry.get(name).name for name in KEEPS_ZERO)


def _name(node: Node) -> str:
    return "" if node.call is None else node.call.name


def _is_matrix(edge: Edge, kinds: Any) -> bool:
    return len(kinds[edge.node][edge.index].shape) == 2


def _product(node: Node, positions: tuple[Edge, Edge], columns: int) -> Node:
    """Returns the `_csr_dot` that replaces a `dot` whose left operand is now the stored values.

    Args:
        node: the `dot`.
        positions: the edges of the columns and of the ends of rows.
        columns: how many columns the matrix has.
    """
    call: Any = node.call
    data, rhs = node.inputs
    if call.attrs["transpose_b"]:
        flip, scalars = registry.get("transpose").bind({})
        rhs = Edge(Node(flip, (rhs,), f"{node.name}_rhs", scalars), 0)
    transposed = call.attrs["transpose_a"]
    made, scalars = registry.get("_csr_dot").bind({"columns": columns, "transpose_a": transposed})
    return replace(node, call=made, inputs=(data, *positions, rhs), scalars=scalars)
