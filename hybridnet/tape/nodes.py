"""The tape: a node for each call inside `autograd.record()` that a gradient may flow through.

A node keeps the Values of its inputs and outputs. A Value never changes, so that the gradient is
right even if an array was overwritten in place after it had been used.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hybridnet import engine
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.origins import noted_origin
from hybridnet.ops.core import Averages, Call, Types
from hybridnet.runtime.recording import Value
from hybridnet.runtime.watching import asked

__all__ = ["Edge", "Leaf", "TapeNode", "order", "record_call", "state"]

_new: Final = object.__new__


class _State(threading.local):
    """Of each thread: whether it records, and whether operators behave as in training."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False


state: Final = _State()
#: Gives each new tape node the next number.
order: Final = itertools.count()


class Edge(NamedTuple):
    """A place on the tape: one output of a `TapeNode`, or a variable (a `Leaf`, with index 0)."""

    node: Any
    index: int  # type: ignore[assignment]  # shadows tuple.index, which nobody needs here


class Leaf:
    """A variable: an array that was marked by `attach_grad`, at which gradients arrive.

    Attributes:
        grad: the NDArray to which the gradient is written; None for a leaf that stands, in a trace,
            for an array that was recorded outside.
        req: how it is written: 'write', 'add' or 'null'.
        wanted: whether a gradient is to be computed for it (`req` is not 'null').
        flows: the same as `wanted`; `TapeNode` has both attributes, too.
        sparse: whether the gradient is stored as a sparse array.
        watched: whether `backward` writes no gradient here, but returns it if it is a target.
        fresh: whether `backward` has written the gradient since somebody set this to False.
    """

    __slots__ = ("flows", "fresh", "grad", "req", "sparse", "wanted", "watched")

    def __init__(self, grad: Any, req: str) -> None:
        self.grad = grad
        self.sparse = grad is not None and grad.stype != "default"
        self.req = req
        self.wanted = self.flows = req != "null"
        self.watched = self.fresh = False


class TapeNode:
    """One call on the tape.

    Attributes:
        call: the operator with its parameters.
        types: the types of the outputs.
        edges: for each input its place on the tape; None for an input that needs no gradient.
        flows: whether a gradient can reach a variable through this node. It cannot if all ways
            lead through operators without a gradient (sign, comparisons, BlockGrad); then the
            gradient of the variable is 0.
        inputs, outputs: the Values. None once `backward` has used the tape up; operators without a
            gradient keep none.
        scalars: the numbers that the call took beside its inputs.
        ctx: the context of the outputs.
        input_ctx: the context of the inputs; it differs only for a copy between devices.
        averages: the running averages that the backward pass moves when it comes through here,
            latest first.
        origin: where it was recorded; None where nobody asks who is to blame for what.
        order: numbers the nodes in the order of recording; in descending order each node comes
            before those that it depends on.
        wanted: whether something recorded later may depend on it. False once it is used up: then
            what it computed counts as a constant, as in MXNet.
    """

    __slots__ = (
        "averages",
        "call",
        "ctx",
        "edges",
        "flows",
        "input_ctx",
        "inputs",
        "order",
        "origin",
        "outputs",
        "scalars",
        "types",
        "wanted",
    )

    averages: Sequence[Averages]
    call: Call
    ctx: Context
    edges: Sequence[Edge | None]
    flows: bool
    input_ctx: Context
    inputs: Sequence[Value] | None
    order: int
    origin: engine.Origin | None
    outputs: Sequence[Value | None] | None
    scalars: tuple[Number, ...]
    types: Types
    wanted: bool


def record_call(
    call: Call,
    edges: Sequence[Edge | None],
    scalars: tuple[Number, ...],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    types: Types,
    ctx: Context,
    input_ctx: Context | None = None,
) -> TapeNode | None:
    """Puts a call on the tape if it depends on a variable; returns its node, else None.

    Args:
        call: the operator with its parameters.
        edges: for each input its place on the tape, or None.
        scalars: the numbers it took beside its inputs.
        inputs: the Values of the inputs.
        outputs: the Values of the outputs.
        types: the types of the outputs.
        ctx: the context of the outputs.
        input_ctx: the context of the inputs, if it is another.
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
    node.averages = ()
    node.order = next(order)
    node.origin = noted_origin(1) if asked.mode else None
    node.wanted = True
    return node
