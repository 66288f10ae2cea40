"""Operators on strings: those that only move elements, or compare them, run on numbers for them.

XLA has no strings. A tensor of strings is an array of bytes on the host, which only Python can
take. An operator that moves elements is such Python here: each string becomes its place among all
that are given, in their order, the operator runs on these numbers, and they become strings again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from hybridnet.base import DTypeError
from hybridnet.graph import Edge, Graph, Node
from hybridnet.passes import computed_now

from .by_value import Unresolved
from .host_call import HostCall
from .infer import Kind, infer_kinds

__all__ = ["STRINGS", "coded"]

Array = np.ndarray[Any, Any]

#: The element type of strings.
STRINGS: Final = np.dtype(np.object_)
#: That of the numbers that stand for them: nothing else that moves elements takes it.
_CODES: Final = np.dtype(np.uint32)
#: Operators that move elements, or compare them, whatever they are.
_MOVING: Final = frozenset(
    [
        "BlockGrad", "Cast", "Concat", "SliceChannel", "_copy", "_dynamic_slice", "_gather_tuples",
        "_np_moveaxis", "_np_reshape", "_np_roll", "_np_squeeze", "_npi_broadcast_to", "_npi_equal",
        "_npi_expand_dims", "_npi_not_equal", "_npi_where", "broadcast_to", "concat",
        "expand_dims", "repeat", "reverse", "shape_array", "size_array", "slice", "slice_axis",
        "stack", "take", "tile", "transpose",
    ]
)  # fmt: skip


def coded(title: str, inputs: Sequence[Kind], graph: Graph) -> tuple[HostCall, list[Kind]]:
    """Returns what runs operators on strings, and what is known of its outputs.

    Args:
        title: the type of the Operation.
        inputs: what is known of the graph's inputs.
        graph: the operators.

    Raises:
        DTypeError: one of them does more than to move elements.
    """
    for node in graph.nodes:
        if node.call is not None and node.call.name not in _MOVING:
            raise DTypeError(
                f"strings are on the host, and can only be moved and compared; "
                f"{node.call.name} needs numbers (tf.string_to_number, tf.decode_raw)"
            )
    known = {
        Edge(node, 0): Kind(_CODES if one.dtype == STRINGS else one.dtype, one.dims)
        for node, one in zip(graph.inputs, inputs, strict=True)
    }
    for node in graph.nodes:
        if node.call is not None:
            found = infer_kinds(node.call, [known[edge] for edge in node.inputs])
            known.update((Edge(node, index), one) for index, one in enumerate(found))
    made = [known[edge] for edge in graph.outputs]
    kinds = [Kind(STRINGS, one.dims) if one.dtype == _CODES else one for one in made]
    run = partial(_run, graph)
    call = HostCall(title, run, [one.dtype for one in kinds], [one.dims for one in kinds])
    return call, kinds


def _run(graph: Graph, *arrays: Array) -> list[Array]:
    texts = [one.reshape(-1) for one in arrays if one.dtype == STRINGS]
    table, codes = np.unique(np.concatenate(texts), return_inverse=True)
    numbers = iter(np.split(codes.astype(_CODES), np.cumsum([len(one) for one in texts])))
    values: dict[Edge, Array] = {}
    for node, one in zip(graph.inputs, arrays, strict=True):
        values[Edge(node, 0)] = next(numbers).reshape(one.shape) if one.dtype == STRINGS else one
    for node in graph.nodes:
        if node.call is not None:
            values.update(_results(node, values))
    made = [values[edge] for edge in graph.outputs]
    return [_decoded(table, one) if one.dtype == _CODES else one for one in made]


def _results(node: Node, values: dict[Edge, Array]) -> dict[Edge, Array]:
    call, scalars = node.call, node.scalars
    assert call is not None
    operands = [values[edge] for edge in node.inputs]
    if isinstance(call, Unresolved):
        at = call.at
        call, scalars = call.resolved([operands[number] for number in at])
        operands = [one for number, one in enumerate(operands) if number not in at]
    made = computed_now(call, operands, scalars)
    return {Edge(node, index): one for index, one in enumerate(made)}


def _decoded(table: Array, codes: Array) -> Array:
    made = np.empty(codes.shape, STRINGS)
    if codes.size:
        made[...] = table[codes]
    return made
