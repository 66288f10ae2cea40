"""Showing what the executor makes of loops and branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridnet.base.context import current_context
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import STATE, prepare
from hybridnet.passes import Lowered
from hybridnet.runtime.calls import GraphCall
from hybridnet.runtime.placing import PartitionedCall

from ._bind import all_types

if TYPE_CHECKING:
    from .symbol import Symbol


def lower_control(symbol: Symbol, *, everything: bool = True, **shapes: object) -> Lowered:
    """Returns a symbol's graph with its loops and branches taken apart; printing it shows it.

    To run a symbol there is no need for this: what must be taken apart is, when it is bound.

    Args:
        symbol: what is taken apart.
        everything: whether all loops and branches are; otherwise only those whose nodes are on
            several devices, or run on the host.
        **shapes: of the arguments, as for `Symbol.simple_bind`.

    Raises:
        MXNetError: a shape cannot be told.
        GraphError: a node names a device that is not there.
    """
    types = all_types("lower_control", symbol, shapes, {})
    ready = prepare(symbol.graph, False)
    kinds = [tensor_type(*types[node.name]) for node in symbol.graph.inputs]
    kinds += [STATE] * ready.draws
    call = GraphCall(ready.graph, tuple(kinds), symbol.name or "group")
    here = current_context()
    wanted = [None] * len(ready.graph.outputs)
    return PartitionedCall(call, [here] * len(kinds), wanted, here, everything).lowered
