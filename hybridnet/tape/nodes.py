"""The tape: what was computed while recording.

A tape node keeps Values, which never change, so an array that is overwritten after it was used
does not disturb the gradient.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hybridnet.base.context import Context
from hybridnet.ops.core.call import Call, Types
from hybridnet.runtime.segments.segment import Value

__all__ = ["Edge", "Leaf", "TapeNode", "order", "record_call", "state"]

_new: Final = object.__new__


class _State(threading.local):
    """Whether this thread records, and whether it is in a training pass."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False


state: Final = _State()
#: Numbers tape nodes in order of time.
order: Final = itertools.count()


class Edge(NamedTuple):
    """One output of a tape node, or a marked variable (index 0)."""

    node: Any
    index: int  # type: ignore[assignment]  # shadows tuple.index, which nobody needs here


class Leaf:
    """A variable whose gradient is wanted: where the gradient goes, and how.

    Attributes:
        grad: the NDArray that receives it; None for what stands, in a trace, for something that
            was recorded outside.
        req: 'write', 'add' or 'null'.
        wanted: whether anything is to be computed for it.
        flows: the same: whether a gradient that reaches it would be used.
        sparse: whether the gradient is stored sparsely.
        summed: whether its gradient will be summed over devices, and so is wanted as soon as it is
            complete, while the rest of the backward pass still runs.
        watched: whether only who asks for its gradient is given it, and `backward` writes none.
        fresh: whether `backward` has written the gradient since somebody set this to False.
    """

    __slots__ = ("flows", "fresh", "grad", "req", "sparse", "summed", "wanted", "watched")

    def __init__(self, grad: Any, req: str) -> None:
        self.grad = grad
        self.sparse = grad is not None and grad.stype != "default"
        self.req = req
        self.wanted = self.flows = req != "null"
        self.summed = self.watched = self.fresh = False


class TapeNode:
    """One recorded call.

    Attributes:
        types: of the outputs.
        edges: for each input where it came from; None for what needs no gradient.
        flows: whether a gradient can reach a variable through it. Where operators without a
            gradient (sign, comparisons, BlockGrad) are in the way, that of the variable is 0.
        inputs, outputs: the Values; None once the tape was used up. Operators without a gradient
            keep none.
        ctx: of the outputs.
        input_ctx: of the inputs; another one only for a copy between devices.
        order: ascending with time, so that descending is a reverse topological order.
        wanted: False once it is used up: what it computed is a constant for what is recorded
            later, as in MXNet.
    """

    __slots__ = (
        "call",
        "ctx",
        "edges",
        "flows",
        "input_ctx",
        "inputs",
        "order",
        "outputs",
        "scalars",
        "types",
        "wanted",
    )

    call: Call
    ctx: Context
    edges: Sequence[Edge | None]
    flows: bool
    input_ctx: Context
    inputs: Sequence[Value] | None
    order: int
    outputs: Sequence[Value | None] | None
    scalars: tuple[Any, ...]
    types: Types
    wanted: bool


def record_call(
    call: Call,
    edges: Sequence[Edge | None],
    scalars: tuple[Any, ...],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    types: Types,
    ctx: Context,
    input_ctx: Context | None = None,
) -> TapeNode | None:
    """Puts a call on the tape, if it depends on something that wants a gradient.

    Args:
        edges: where its inputs are on the tape.
        scalars: the numbers it took beside its inputs.
        types, ctx: of the outputs.
        input_ctx: of the inputs, if they are elsewhere.
    """
    wanted = flows = False
    for edge in edges:
        if edge is not None:
            source = edge[0]
            if not source.wanted:
                edges = [None if e is None or not e[0].wanted else e for e in edges]
            elif source.flows:
                wanted = flows = True
            else:
                wanted = True
    if not wanted:
        return None
    node = _new(TapeNode)
    node.call = call
    node.edges = edges
    node.scalars = scalars
    node.types = types
    if call.no_gradient:
        node.flows = False
        node.inputs, node.outputs = (), (None,) * len(outputs)
    else:
        node.flows = flows
        node.inputs, node.outputs = inputs, outputs
    node.ctx = ctx
    node.input_ctx = ctx if input_ctx is None else input_ctx
    node.order = next(order)
    node.wanted = True
    return node
