"""`Casts`: which casts a node of a graph needs before it, by the lists of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.graph import Edge, Node
from hybridnet.ops.core import OpCall
from hybridnet.ops.core.registry import get

from . import lists

__all__ = ["Casts"]


@final
class Casts:
    """The casts of mixed precision.

    Args:
        target_dtype: the dtype of half precision.
        target_dtype_ops: operators that are computed in it; None for `lists.list_lp16_ops`.
        fp32_ops: operators that are computed in float32; None for `lists.list_fp32_ops`.
        conditional_fp32_ops: those that are where a parameter has one of some values: name,
            parameter, values; None for `lists.list_conditional_fp32_ops`.
        excluded_sym_names: names of nodes that stay as they are.

    Raises:
        ParameterError: an operator is in two of these lists.
    """

    def __init__(
        self,
        target_dtype: DTypeLike,
        target_dtype_ops: Sequence[str] | None = None,
        fp32_ops: Sequence[str] | None = None,
        conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
        excluded_sym_names: Sequence[str] | None = None,
    ) -> None:
        self.half = lists.half_dtype(target_dtype)
        half_ops = lists.list_lp16_ops() if target_dtype_ops is None else target_dtype_ops
        single_ops = lists.list_fp32_ops() if fp32_ops is None else fp32_ops
        if conditional_fp32_ops is None:
            conditional_fp32_ops = lists.list_conditional_fp32_ops()
        self.half_ops = lists.canonical(half_ops)
        self.single_ops = lists.canonical(single_ops)
        self.conditions = {
            get(name).name: (parameter, tuple(values))
            for name, parameter, values in conditional_fp32_ops
        }
        if fp32_ops is None:  # what a user says of an operator wins over the lists
            self.single_ops -= self.half_ops
        if target_dtype_ops is None:
            self.half_ops -= self.single_ops
        both = self.half_ops & self.single_ops | self.conditions.keys() & (
            self.half_ops | self.single_ops
        )
        if both:
            raise ParameterError(f"amp: an operator must be in one list, got {sorted(both)} in two")
        self.widest_ops = lists.canonical(lists.list_widest_type_cast())
        self.excluded = frozenset(excluded_sym_names or ())

    def dtype_of(self, call: Any) -> np.dtype[np.generic] | None:
        """Returns the dtype that a call is to be computed in; None for that of its inputs."""
        if not isinstance(call, OpCall):
            return None
        if call.name in self.half_ops:
            return self.half
        condition = self.conditions.get(call.name)
        if condition is not None and str(call.attrs.get(condition[0])) not in condition[1]:
            return None
        return np.dtype(np.float32) if condition or call.name in self.single_ops else None

    def positions(self, call: OpCall, count: int) -> list[int]:
        """Returns which inputs of a call are cast: all but auxiliary states."""
        return [number for number in range(count) if number not in call.mutates]

    def apply(self, node: Node, inputs: Sequence[Edge], made: dict[tuple[Edge, str], Node]) -> Node:
        """Returns a node whose inputs are cast.

        Args:
            node: the node.
            inputs: what it is to read.
            made: the casts there are already, by what they cast and to what; new ones are added.
        """
        call = node.call
        edges = list(inputs)
        if isinstance(call, OpCall) and node.name not in self.excluded:
            dtype = self.dtype_of(call)
            if dtype is not None:
                for number in self.positions(call, len(edges)):
                    edges[number] = _cast(edges[number], dtype.name, made)
            elif call.name in self.widest_ops and len(edges) > 1:
                edges = _widest(node.name, edges)
        return node.with_inputs(tuple(edges))


def _cast(edge: Edge, dtype: str, made: dict[tuple[Edge, str], Node]) -> Edge:
    node = made.get((edge, dtype))
    if node is None:
        call = get("amp_cast").bind({"dtype": dtype})[0]
        number = f"_{edge.index}" if edge.index else ""
        node = Node(call, (edge,), f"{edge.node.name}{number}_amp_cast_{dtype}")
        made[edge, dtype] = node
    return Edge(node, 0)


def _widest(name: str, edges: Sequence[Edge]) -> list[Edge]:
    call = get("amp_multicast").bind({"num_outputs": len(edges)})[0]
    node = Node(call, tuple(edges), f"{name}_amp_multicast")
    return [Edge(node, number) for number in range(len(edges))]
