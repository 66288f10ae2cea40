"""The pass `epilogue`: a convolution also computes the addition and the ReLU that follow it.

It does not run by default, since XLA fuses such operators by itself. It helps only where kernels
that XLA cannot see into (`hybridnet.native`) compute the convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall

from .context import PassContext
from .pattern import FAMILIES
from .rewrite import Rewriter, RewriteStep, indexed, op_name
from .rule import Rule

_FUSED: Final = "_fused_convolution"
_SUMMED: Final = Rule(
    "sum_into_convolution",
    "add(Convolution(x, w, b), y)",
    "_fused_convolution(x, w, b, y, with_addend=True)",
    where="both terms have one shape; the convolution has its channels last, and is used here only",
    written=True,
)
_RECTIFIED: Final = Rule(
    "relu_into_convolution",
    "relu(Convolution(x, w, b))",
    "_fused_convolution(x, w, b, relu=True)",
    where="the convolution has its channels last, and is used here only; also of Activation, and "
    "after a sum that the convolution computes",
    written=True,
)
RULES: Final = (_SUMMED, _RECTIFIED)

_CONVOLUTIONS: Final = ("Convolution", _FUSED)
# Parameters of Convolution that the fused operator has, too.
_SHARED: Final = ("kernel", "stride", "dilate", "pad", "num_filter", "num_group", "layout")


def run(graph: Graph, context: PassContext) -> Graph:
    """Applies the rules."""
    return Rewriter(graph, context, _steps()).run()


def _params(rewriter: Rewriter, edge: Edge, into: Node) -> dict[str, Any] | None:
    """Returns the parameters of a convolution that can compute a node after it, else None."""
    node, call = edge.node, edge.node.call
    if op_name(node) not in _CONVOLUTIONS or not rewriter.is_absorbed(edge, into):
        return None
    assert type(call) is OpCall
    attrs = call.attrs
    if not str(attrs["layout"]).endswith("C") or attrs.get("no_bias") or attrs.get("relu"):
        return None
    shared = {name: attrs[name] for name in _SHARED}
    return {**shared, "with_addend": attrs.get("with_addend", False)}


def _summed(rewriter: Rewriter, node: Node) -> Edge | None:
    """Fuses a convolution with the addition of an array to its result."""
    for before, addend in (node.inputs, node.inputs[::-1]):
        params = _params(rewriter, before, node)
        if (
            params is not None
            and not params["with_addend"]
            and rewriter.type(before) == rewriter.type(addend)
        ):
            inputs = (*before.node.inputs, addend)
            params["with_addend"] = True
            return rewriter.make(_FUSED, inputs, params, of=node, whole=True)
    return None


def _rectified(rewriter: Rewriter, node: Node) -> Edge | None:
    """Fuses a convolution with the ReLU of its result."""
    call, before = node.call, node.inputs[0]
    assert type(call) is OpCall
    if call.attrs.get("act_type", "relu") != "relu":
        return None
    params = _params(rewriter, before, node)
    if params is None:
        return None
    return rewriter.make(_FUSED, before.node.inputs, {**params, "relu": True}, of=node, whole=True)


@cache
def _steps() -> Mapping[str, tuple[RewriteStep, ...]]:
    convolutions = frozenset(_CONVOLUTIONS)
    return indexed(
        [
            RewriteStep(_SUMMED, FAMILIES["add"], _summed, convolutions),
            RewriteStep(_RECTIFIED, ("relu", "Activation"), _rectified, convolutions),
        ]
    )
