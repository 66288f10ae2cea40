"""Epilogue: a convolution computes the sum that follows it.

It is no pass that runs by default: XLA fuses such operators itself, and only kernels that XLA does
not know (`hybridnet.native`) gain by being told. ReLU is not among what they are told: oneDNN makes
0 of NaN, and nothing was gained.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.ops.operator import OpCall

from .context import PassContext
from .pattern import FAMILIES
from .rewrite import Rewriter, Step, indexed, op_name
from .rule import Rule

__all__ = ["RULES", "run"]

_FUSED: Final = "_fused_convolution"
_SUMMED: Final = Rule(
    "sum_into_convolution",
    "add(Convolution(x, w, b), y)",
    "_fused_convolution(x, w, b, y)",
    where="both terms have one shape; the convolution has its channels last, and is used here only",
    written=True,
)
RULES: Final = (_SUMMED,)

# Parameters of Convolution that the fused operator has, too.
_SHARED: Final = ("kernel", "stride", "dilate", "pad", "num_filter", "num_group", "layout")


def run(graph: Graph, context: PassContext) -> Graph:
    """Applies the rules."""
    return Rewriter(graph, context, _steps()).run()


def _params(rewriter: Rewriter, edge: Edge, into: Node) -> dict[str, Any] | None:
    """Returns the parameters of a convolution that may add something; None where it may not."""
    node, call = edge.node, edge.node.call
    if (
        op_name(node) != "Convolution"
        or rewriter.uses(edge) != 1
        or not rewriter.may_absorb(node, into)
    ):
        return None
    assert type(call) is OpCall
    attrs = call.attrs
    if not str(attrs["layout"]).endswith("C") or attrs["no_bias"]:
        return None
    return {name: attrs[name] for name in _SHARED}


def _summed(rewriter: Rewriter, node: Node) -> Edge | None:
    """Lets a convolution add what is added to its result."""
    for before, addend in (node.inputs, node.inputs[::-1]):
        params = _params(rewriter, before, node)
        if params is not None and rewriter.type(before) == rewriter.type(addend):
            inputs = (*before.node.inputs, addend)
            return rewriter.make(_FUSED, inputs, params, of=node, whole=True)
    return None


@cache
def _steps() -> Mapping[str, tuple[Step, ...]]:
    return indexed([Step(_SUMMED, FAMILIES["add"], _summed, frozenset({"Convolution"}))])
