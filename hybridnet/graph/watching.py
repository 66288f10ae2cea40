"""The values of a graph that monitors are shown: read and made by nodes, under MXNet's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .node import Edge, Node

# Operators of one input to whose input MXNet gives its name; that of others it calls "input0".
_NAMED: Final = frozenset(
    {
        *("Dropout", "LRN", "Pad", "Pooling", "_contrib_quadratic", "_contrib_index_array"),
        *("_histogram", "_ravel_multi_index", "_unravel_index", "_image_normalize"),
        *("_image_to_tensor", "col2im", "depth_to_space", "diag", "im2col", "log_softmax"),
        *("moments", "reshape", "softmax", "softmin", "space_to_depth", "_split_v2", "squeeze"),
    }
)


def read_values(node: Node) -> list[tuple[str, Edge]]:
    """Returns what a node reads, by MXNet's names: of variables first their own.

    Args:
        node: one with a call.
    """
    found: list[tuple[str, Edge]] = []
    for name, edge in zip(_names(node.call, len(node.inputs)), node.inputs, strict=False):
        if edge.node.is_variable:
            found.append((edge.node.name, edge))
        found.append((f"{node.name}_{name}", edge))
    return found


def _names(call: Any, count: int) -> Sequence[str]:
    operator = getattr(call, "operator", None)
    if operator is None or not hasattr(operator, "variadic"):
        return [f"input{number}" for number in range(count)]
    if operator.variadic:
        return call.input_names(0) or [f"arg{number}" for number in range(count)]
    names: Sequence[str] = call.input_names()
    alone = len(operator.inputs) == 1 and operator.name not in _NAMED
    return ["input0"] if alone else names
