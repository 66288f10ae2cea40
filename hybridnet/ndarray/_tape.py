"""The tape: what was computed while recording, and the walk back over it.

A tape node keeps Values, which never change, so an array that is overwritten after it was used
does not disturb the gradient. Running the rules back records ordinary instructions: the gradient
joins the segment of the forward pass, and both become one program.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hybridnet.base.context import Context
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError
from hybridnet.ops.call import Backward, Call
from hybridnet.runtime import recorder
from hybridnet.runtime.segment import Value
from hybridnet.runtime.storage import in_place

__all__ = ["Edge", "Leaf", "TapeNode", "backward", "order", "record_call", "state"]


class _State(threading.local):
    """Whether this thread records, and whether it is in a training pass."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False


state: Final = _State()
#: Numbers tape nodes in order of time.
order: Final = itertools.count()

_NOT_RECORDED: Final = (
    "backward: this array was not computed inside `with autograd.record():` from an array with "
    "attach_grad(), so nothing has a gradient"
)
_BEFORE_TRACE: Final = (
    "backward: a traced function (hn.function or hybridize()) cannot take gradients back through "
    "what was recorded outside it; call backward() outside too, or let the function compute the "
    "whole loss"
)
_USED_UP: Final = (
    "backward: what was recorded is used up by an earlier backward(); to differentiate it twice, "
    "pass retain_graph=True the first time"
)


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
        summed: whether its gradient will be summed over devices, and so is wanted as soon as it is
            complete, while the rest of the backward pass still runs.
    """

    __slots__ = ("flows", "grad", "req", "summed", "wanted")

    def __init__(self, grad: Any, req: str) -> None:
        self.grad = grad
        self.req = req
        self.wanted = self.flows = req != "null"
        self.summed = False


class TapeNode:
    """One recorded call.

    Attributes:
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
        "wanted",
    )

    def __init__(
        self,
        call: Call,
        edges: tuple[Edge | None, ...],
        scalars: tuple[Any, ...],
        inputs: tuple[Value, ...],
        outputs: Sequence[Value],
        ctx: Context,
        input_ctx: Context,
    ) -> None:
        self.call = call
        self.edges = edges
        self.scalars = scalars
        self.inputs: tuple[Value, ...] | None = inputs
        self.outputs: Sequence[Value | None] | None = outputs
        self.flows = any(e.node.flows for e in edges if e is not None)
        if call.no_gradient:
            self.flows = False
            self.inputs, self.outputs = (), (None,) * len(outputs)
        self.ctx = ctx
        self.input_ctx = input_ctx
        self.order = next(order)
        self.wanted = True

    def use_up(self) -> None:
        """Lets go of all it holds, so that a loss that is kept does not keep its network."""
        self.inputs = self.outputs = None
        self.edges = ()
        self.wanted = self.flows = False


def record_call(
    call: Call,
    edges: tuple[Edge | None, ...],
    scalars: tuple[Any, ...],
    inputs: tuple[Value, ...],
    outputs: Sequence[Value],
    ctx: Context,
    input_ctx: Context | None = None,
) -> TapeNode | None:
    """Puts a call on the tape, if it depends on something that wants a gradient."""
    edges = tuple([e if e is not None and e.node.wanted else None for e in edges])
    if not any(edges):
        return None
    return TapeNode(call, edges, scalars, inputs, outputs, ctx, input_ctx or ctx)


def _reachable(edges: Sequence[Edge]) -> list[TapeNode]:
    """Returns the tape nodes that the edges depend on, latest first."""
    seen: set[TapeNode] = set()
    stack = [edge.node for edge in edges if type(edge.node) is TapeNode]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(
            edge.node for edge in node.edges if edge is not None and type(edge.node) is TapeNode
        )
    return sorted(seen, key=_latest_first)


def _latest_first(node: TapeNode) -> int:
    return -node.order


def _seed(head: Any, grad: Any) -> Any:
    if grad is None:
        return head.ones_like()
    if type(grad) is not type(head):
        raise ParameterError(
            f"backward: the gradient of an output must be an NDArray, got {type(grad).__name__}"
        )
    if grad.shape != head.shape:
        raise ShapeError(
            f"backward: the gradient of an output must have its shape {head.shape}, "
            f"got {grad.shape}"
        )
    if grad.type is not head.type:
        raise DTypeError(
            f"backward: the gradient of an output must have its dtype, {head.type}, "
            f"got {grad.type}; use astype"
        )
    return grad


def backward(
    heads: Sequence[Any],
    head_grads: Sequence[Any] | None = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    train_mode: bool = True,
    targets: Sequence[Any] = (),
) -> list[Any]:
    """Propagates gradients from `heads` to the marked variables.

    Args:
        heads: NDArrays computed while recording.
        head_grads: their gradients; None (for all or for one) means ones.
        retain_graph: keep the tape, to walk it again.
        create_graph: record the walk itself, for higher orders.
        train_mode: whether operators on the way behave as in training.
        targets: NDArrays on the tape, whose gradients are returned instead of being written to
            `grad` arrays.

    Returns:
        The gradients of the targets, None where no head depends on one.

    Raises:
        MXNetError: a head was not computed while recording, or its tape is used up.
        ShapeError, DTypeError: a head's gradient has another shape or dtype.
    """
    if not heads:
        raise ParameterError("backward: needs at least one array to differentiate, got none")
    wrap = type(heads[0]).from_value
    grads: dict[Edge, Any] = {}
    given = list(head_grads) if head_grads is not None else [None] * len(heads)
    if len(given) != len(heads):
        raise ParameterError(f"backward: needs {len(heads)} head gradients, got {len(given)}")
    was = state.recording, state.training
    state.recording, state.training = create_graph, train_mode
    try:
        for head, grad in zip(heads, given, strict=True):
            if head.edge is None or not head.edge.node.wanted:
                used = head.edge is not None and type(head.edge.node) is TapeNode
                raise MXNetError(_USED_UP if used else _NOT_RECORDED)
            _accumulate(grads, head.edge, _seed(head, grad))
        nodes = _reachable([head.edge for head in heads])
        trace = recorder.current_trace()
        if trace is not None and nodes and nodes[-1].order < trace.began:
            raise MXNetError(_BEFORE_TRACE)
        wanted = frozenset([one.edge for one in targets])
        kept: dict[Edge, Any] = {}
        complete = {} if targets or create_graph else _summed_leaves(nodes)
        for number, node in enumerate(nodes):
            _step(node, grads, wrap, wanted, kept, create_graph)
            if number in complete:
                done = {edge: grads.pop(edge, None) for edge in complete[number]}
                _write_leaves(done, {})
                recorder.mark()
        for edge in wanted & grads.keys():
            kept[edge] = grads[edge]
        # In order, so that each step of a training loop records the same.
        reached = dict.fromkeys(edge for node in nodes for edge in node.edges if edge is not None)
        for edges in complete.values():
            for edge in edges:
                del reached[edge]
        if targets:
            for one in targets:
                if kept.get(one.edge) is None and one.edge in reached:
                    kept[one.edge] = one.zeros_like()
        else:
            _write_leaves(grads, reached)
    finally:
        state.recording, state.training = was
    if not retain_graph:
        for node in nodes:
            node.use_up()
    return [kept.get(one.edge) for one in targets]


def _step(
    node: TapeNode,
    grads: dict[Edge, Any],
    wrap: Callable[..., Any],
    wanted: frozenset[Edge],
    kept: dict[Edge, Any],
    create_graph: bool,
) -> None:
    """Runs one node's rule and adds the results to the gradients of its inputs."""
    if node.inputs is None or node.outputs is None:
        raise MXNetError(_USED_UP)
    outs = []
    for index in range(len(node.outputs)):
        edge = Edge(node, index)
        grad = grads.pop(edge, None)
        if edge in wanted:
            kept[edge] = grad
        outs.append(grad)
    if node.call.no_gradient or all(one is None for one in outs):
        return
    inputs = [
        wrap(value, node.input_ctx, edge if create_graph else None)
        for value, edge in zip(node.inputs, node.edges, strict=True)
    ]
    outputs = [
        wrap(value, node.ctx, Edge(node, index) if create_graph else None)
        for index, value in enumerate(node.outputs)
    ]
    back = Backward(
        node.call, inputs, outputs, outs, node.scalars, [edge is not None for edge in node.edges]
    )
    found = node.call.gradient(back)
    for source, grad, x in zip(node.edges, found, inputs, strict=False):
        if source is not None and grad is not None:
            _accumulate(grads, source, _fitted(node.call, grad, x))


def _fitted(call: Call, grad: Any, x: Any) -> Any:
    """Returns a gradient in the dtype of what it is the gradient of; the shape must be right."""
    if grad.type is x.type:
        return grad
    if grad.shape != x.shape:
        raise ShapeError(
            f"backward: the gradient rule of {call.name} must return a gradient of shape "
            f"{x.shape} for an input of this shape, got {grad.shape}"
        )
    return grad.astype(x.inferred_dtype)


def _accumulate(grads: dict[Edge, Any], edge: Edge, grad: Any) -> None:
    before = grads.get(edge)
    grads[edge] = grad if before is None else before + grad


def _summed_leaves(nodes: Sequence[TapeNode]) -> dict[int, list[Edge]]:
    """Returns the leaves whose gradients are summed over devices, by the step that completes each.

    Launching them there, and not with the whole pass, lets a sum overlap the layers below.
    """
    last: dict[Edge, int] = {}
    for number, node in enumerate(nodes):
        for edge in node.edges:
            if edge is not None and type(edge.node) is Leaf and edge.node.summed:
                last[edge] = number
    complete: dict[int, list[Edge]] = {}
    for edge, number in last.items():
        complete.setdefault(number, []).append(edge)
    return complete


def _write_leaves(grads: dict[Edge, Any], reached: dict[Edge, None]) -> None:
    """Gives the variables their gradients: zeros where none came, although a head depends on it."""
    for edge in {**grads, **reached}:
        leaf = edge.node
        if type(leaf) is not Leaf or not leaf.wanted:
            continue
        target, grad = leaf.grad, grads.get(edge)
        if target is None:
            raise MXNetError(_BEFORE_TRACE)
        if leaf.req == "write":
            target.assign(target.zeros_like() if grad is None else grad)
        elif grad is not None:
            grad = grad.as_in_context(target.context)  # may wait, and not while the lock is held
            with in_place:
                target.assign(target + grad)
