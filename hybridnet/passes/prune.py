"""Prune: what the requested outputs do not need, and nodes that hand a value on as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from hybridnet.base.errors import GraphError
from hybridnet.graph import Edge, Graph, Moves, Node, topological

from .context import PassContext
from .pattern import compiled
from .rewrite import Replacement, Rewriter, RewriteStep, indexed
from .rule import Rule

_EXPRESSIONS: Final = (
    Rule("copy", "_copy(x)", "x"),
    Rule("like_other", "_identity_with_attr_like_rhs(x, y)", "x"),
    Rule("sum_of_one", "add_n(x)", "x"),
    Rule("join_of_one", "Concat(x, dim=d)", "x"),
    Rule("cast_to_same", "Cast(x, dtype=t)", "x"),
    Rule("amp_cast_to_same", "amp_cast(x, dtype=t)", "x"),
    Rule("block_grad", "BlockGrad(x)", "x", where="not train"),
    Rule("make_loss", "make_loss(x)", "x", where="not train"),
    Rule(
        "make_loss_scaled",
        "MakeLoss(x, grad_scale=g, valid_thresh=v, normalization=n)",
        "x",
        where="not train",
    ),
)
_DROPOUT: Final = Rule(
    "dropout", "Dropout(x)", "x", where="outside a training pass, mode='training'", written=True
)
RULES: Final = (*_EXPRESSIONS, _DROPOUT)


def run(graph: Graph, context: PassContext) -> Graph:
    """Takes out the nodes that hand a value on as it is.

    Nodes that no output needs are in no graph: see `pruned`.
    """
    return Rewriter(graph, context, _steps()).run()


def pruned(
    graph: Graph,
    outputs: Sequence[Edge],
    feeds: Sequence[Edge] = (),
    targets: Sequence[Node] = (),
) -> Graph:
    """Returns the part of a graph that computes some values, given others.

    Args:
        outputs: values of it that are requested.
        feeds: values of it that will be given; what only they need is left out.
        targets: nodes of it that are to run, whether or not an output needs them.

    Returns:
        A graph whose inputs are those of `graph` that are still needed, and then a variable for
        each of `feeds`, of that node's name; a feed that is an input stays the one it is.

    Raises:
        GraphError: a value is none of the graph's.
    """
    known = {*graph.nodes, *graph.inputs}
    for node in (*(edge.node for edge in (*outputs, *feeds)), *targets):
        if node not in known:
            raise GraphError(f"prune: {node.title} must be a node of the graph")
    fed = [edge for edge in feeds if not edge.node.is_variable]
    moves = Moves({edge: Edge(Node(None, (), edge.node.name), 0) for edge in fed})
    for node in topological(outputs, targets):
        if not node.is_variable:
            moves.note(node, moves.moved(node))
    ends, runs = moves.edges(outputs), moves.nodes(targets)
    given = [edge.node for edge in moves.edges(feeds)]
    needed = {node for node in topological(ends, runs) if node.is_variable} - set(given)
    return Graph((*(node for node in graph.inputs if node in needed), *given), ends, runs)


def _dropout(rewriter: Rewriter, node: Node) -> Replacement | None:
    """Outside training the data goes through, and the state of the generator too."""
    call = node.call
    assert call is not None
    if getattr(call, "train", None) is not False or call.attrs["mode"] != "training":  # type: ignore[attr-defined]
        return None
    outputs: list[Edge | None] = [node.inputs[0], *[None] * (node.num_outputs - 1)]
    if call.takes_state and len(node.inputs) > len(call.input_names()):  # type: ignore[attr-defined]
        outputs[-1] = node.inputs[-1]
    return tuple(outputs)


@cache
def _steps() -> Mapping[str, tuple[RewriteStep, ...]]:
    return indexed([*map(compiled, _EXPRESSIONS), RewriteStep(_DROPOUT, ("Dropout",), _dropout)])
