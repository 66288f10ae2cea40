"""The backward pass: from the heads back over the tape to the variables.

If the tape is on one device, and the gradient rules depend only on the types of their inputs, the
pass is done by a `Replay`, for which the rules run only once. Otherwise the rules run on arrays.
Either way the pass only records calls of operators, so that it joins the segment of the forward
pass, and both become one program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from operator import attrgetter
from typing import Any, Final

from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError
from hybridnet.base.origins import recorded_at
from hybridnet.runtime.recording import Value, in_place, recorder
from hybridnet.runtime.watching import without_collecting

from .array import TapeArray
from .averages import move_averages
from .nodes import Edge, Leaf, TapeNode, state
from .replay import accumulate, apply_rule, reached_edges, replay_of, taken

__all__ = ["backward", "reachable"]

_NOT_RECORDED: Final = (
    "backward: this array was not computed inside `with autograd.record():` from an array with "
    "attach_grad(), so nothing has a gradient"
)
_WHOLE: Final = (
    "backward: requires an array of floats, got one of {}: gradients of whole numbers are whole "
    "numbers, without their fractions; compute it from x.astype('float32') inside "
    "`with autograd.record():`"
)
_BEFORE_TRACE: Final = (
    "backward: a traced function (hn.function or hybridize()) cannot take gradients back through "
    "what was recorded outside it; call backward() outside too, or let the function compute the "
    "whole loss"
)
_SPARSE_IN_TRACE: Final = (
    "backward: a traced function (hn.function or hybridize()) cannot make a row-sparse gradient, "
    "whose size no graph knows; call backward() outside, or attach a dense gradient"
)
# A backward pass over at least this many nodes is done with the garbage collector switched off. (It
# would run after each 700 new objects.)
_MANY_NODES: Final = 64
_USED_UP: Final = (
    "backward: what was recorded is used up by an earlier backward(); to differentiate it twice, "
    "pass retain_graph=True the first time"
)


def reachable(edges: Sequence[Edge]) -> list[TapeNode]:
    """Returns the tape nodes that the edges depend on, latest first."""
    stack = [edge.node for edge in edges if type(edge.node) is TapeNode]
    seen = set(stack)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                source = edge[0]
                if source not in seen and type(source) is TapeNode:
                    seen.add(source)
                    stack.append(source)
    return sorted(seen, key=_order, reverse=True)


_order: Final = attrgetter("order")
# Of nodes whose line nobody asked for.
_HERE: Final = nullcontext()


def _checked(head: Any, grad: Any) -> Any:
    """Returns the gradient of a head that a user gave, an array of `nd`."""
    if type(grad) is not type(head) and not isinstance(grad, TapeArray):
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
    # Gradient rules are written for arrays of `nd`, also if the heads are arrays of `np`.
    return grad.as_nd_ndarray()


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

    Warns:
        UserWarning: a head is of whole numbers or bool; its gradients are computed, as in MXNet.
    """
    if not heads:
        raise ParameterError("backward: needs at least one array to differentiate, got none")
    given = list(head_grads) if head_grads is not None else [None] * len(heads)
    if len(given) != len(heads):
        raise ParameterError(f"backward: needs {len(heads)} head gradients, got {len(given)}")
    was = state.recording, state.training
    state.recording, state.training = create_graph, train_mode
    try:
        ends = []
        for head in heads:
            end = head.edge
            if end is None or not end.node.wanted:
                used = end is not None and type(end.node) is TapeNode
                raise MXNetError(_USED_UP if used else _NOT_RECORDED)
            # (The tape has it of results: no call of Python's at each pass.)
            kind = head.type if type(end.node) is Leaf else end.node.types[end.index]
            if not kind.is_float:
                warnings.warn(_WHOLE.format(head.inferred_dtype), stacklevel=3)
            ends.append(end)
        seeds = [
            grad if grad is None else _checked(head, grad)
            for head, grad in zip(heads, given, strict=True)
        ]
        nodes = reachable(ends)
        for node in nodes:
            if node.inputs is None:
                raise MXNetError(_USED_UP)
        trace = recorder.thread.trace
        if trace is not None and nodes and nodes[-1].order < trace.began:
            raise MXNetError(_BEFORE_TRACE)
        found: list[Any] = []
        replayed = False
        if trace is None and train_mode and not (create_graph or targets):
            if len(nodes) < _MANY_NODES:
                replayed = _replayed(nodes, ends, seeds, heads[0])
            else:
                with without_collecting():
                    replayed = _replayed(nodes, ends, seeds, heads[0])
        if not replayed:
            seeds = [
                head.ones_like().as_nd_ndarray() if seed is None else seed
                for head, seed in zip(heads, seeds, strict=True)
            ]
            found = _run_rules(nodes, ends, seeds, targets, create_graph)
    finally:
        state.recording, state.training = was
    if not retain_graph:
        for node in nodes:  # so that a loss that is kept does not keep all results alive
            node.inputs = node.outputs = None
            node.edges = node.averages = ()
            node.wanted = node.flows = False
    return found


def _replayed(
    nodes: Sequence[TapeNode], ends: Sequence[Edge], seeds: Sequence[Any], head: TapeArray
) -> bool:
    """Does the backward pass by a `Replay`; returns whether there can be one.

    Args:
        nodes: the nodes of the tape, latest first.
        ends: the places of the heads.
        seeds: their gradients; None for ones.
        head: one of the heads.
    """
    given = tuple([seed is not None for seed in seeds])
    replay = replay_of(nodes, ends, given)
    if replay is None:
        return False
    found = replay.run(nodes, [seed.read() for seed in seeds if seed is not None])
    if replay.moving:
        move_averages([nodes[number] for number in replay.moving])
    rest: dict[Edge, Value | None] = {}
    edges, targets, values = [], [], []
    for edge, value in found:
        leaf = edge[0]
        if value is None or leaf.req != "write" or leaf.sparse or leaf.watched or leaf.grad is None:
            rest[edge] = value
        else:
            leaf.fresh = True
            edges.append(edge)
            targets.append(leaf.grad)
            values.append(value)
    ctx = nodes[0].ctx
    if recorder.several:
        recorder.launch_others(targets)
    for number in head.assign_values(targets, values, ctx):
        rest[edges[number]] = values[number]
    if rest:
        kind = type(head.as_nd_ndarray())
        known = {edge: kind.from_value(x, ctx) for edge, x in rest.items() if x is not None}
        _write_leaves(known, dict.fromkeys(rest))
    return True


def _run_rules(
    nodes: Sequence[TapeNode],
    ends: Sequence[Edge],
    seeds: Sequence[Any],
    targets: Sequence[Any],
    create_graph: bool,
) -> list[Any]:
    """Does the backward pass by running the rules on arrays; returns the targets' gradients."""
    wrap = type(seeds[0]).from_value
    grads: dict[Edge, Any] = {}
    for end, seed in zip(ends, seeds, strict=True):
        accumulate(grads, end, seed)
    wanted = frozenset([target.edge for target in targets])
    kept: dict[Edge, Any] = {}
    own = reached_edges(nodes, ends)
    for node in nodes:
        kept.update((edge, grads.get(edge)) for edge in wanted if edge.node is node)
        _step(node, grads, own, wrap, create_graph)
    for edge in wanted & grads.keys():
        kept[edge] = grads[edge]
    # A dict and not a set, whose order varies: each turn of a loop has to record the same calls.
    reached = dict.fromkeys(edge for node in nodes for edge in node.edges if edge is not None)
    if not targets:
        _write_leaves(grads, reached)
    for target in targets:
        if kept.get(target.edge) is None and target.edge in reached:
            kept[target.edge] = target.zeros_like()
    results = [(target, kept.get(target.edge)) for target in targets]
    return [None if grad is None else grad.as_kind(type(target)) for target, grad in results]


def _step(
    node: TapeNode,
    grads: dict[Edge, Any],
    reached: Collection[Edge],
    wrap: Callable[..., Any],
    create_graph: bool,
) -> None:
    """Runs the rule of one node on arrays."""
    outs = taken(node, grads, reached)
    if outs is None:
        return
    assert node.inputs is not None and node.outputs is not None
    if node.averages and state.training:
        move_averages((node,))
    inputs = [
        wrap(value, node.input_ctx, edge if create_graph else None)
        for value, edge in zip(node.inputs, node.edges, strict=True)
    ]
    outputs = [
        wrap(value, node.ctx, Edge(node, index) if create_graph else None)
        for index, value in enumerate(node.outputs)
    ]
    with _HERE if node.origin is None else recorded_at(node.origin):
        apply_rule(node, node.scalars, inputs, outputs, outs, grads, reached)


def _write_leaves(grads: dict[Edge, Any], reached: dict[Edge, None]) -> None:
    """Writes the gradients of variables to their arrays.

    Args:
        grads: the gradients by place on the tape.
        reached: the places that the heads depend on. A variable among them without a gradient gets
            zeros.
    """
    for edge in {**grads, **reached}:
        leaf = edge.node
        if type(leaf) is not Leaf or not leaf.wanted or leaf.watched:
            continue
        target, grad = leaf.grad, grads.get(edge)
        if target is None:
            raise MXNetError(_BEFORE_TRACE)
        if leaf.sparse and recorder.current_trace() is not None:
            raise MXNetError(_SPARSE_IN_TRACE)
        if type(grad) is not type(target) and grad is not None and grad.stype != target.stype:
            # Not under the lock below, as it may have to wait.
            grad = grad.tostype("default").tostype(target.stype)
        leaf.fresh = True
        if leaf.req == "write":
            target.assign(target.zeros_like() if grad is None else grad)
        elif grad is not None:
            grad = grad.as_in_context(target.context)  # likewise
            if recorder.several:
                recorder.launch_others((target, grad))
            with in_place:
                target.assign(target + grad)
