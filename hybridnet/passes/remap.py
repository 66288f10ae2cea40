"""Remap: what operators stand beside is done by one of them.

Biases go into the operators that take one, transposes into products that read either way, and a
batch normalization outside training into the weight and bias in front of it. All of it is computed
in the graph, of the parameters as they are at each run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Final

from hybridnet.base.dtype import FLOAT32, FLOAT64
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall

from . import siblings
from .context import TOLERANCE, PassContext
from .pattern import FAMILIES, compiled
from .rewrite import Replacement, Rewriter, RewriteStep, indexed, op_name
from .rule import Rule

# Scaling a weight at each run costs more than is saved, unless the data are so many times larger.
_SMALL_RATIO: Final = 32
# XLA sums a product in another order where it reads a matrix the other way.
_ORDER: Final = 1e-6

_PRODUCTS: Final = (
    Rule(
        "dot_of_transposed_left",
        "dot(transpose(x, axes=p), y, transpose_a=a, transpose_b=b)",
        "dot(x, y, transpose_a=not a, transpose_b=b)",
        exact=False,
        tolerance=_ORDER,
        where="order(p, x.rank) == (1, 0)",
    ),
    Rule(
        "dot_of_transposed_right",
        "dot(x, transpose(y, axes=p), transpose_a=a, transpose_b=b)",
        "dot(x, y, transpose_a=a, transpose_b=not b)",
        exact=False,
        tolerance=_ORDER,
        where="order(p, y.rank) == (1, 0)",
    ),
    Rule(
        "batch_dot_of_transposed_left",
        "batch_dot(transpose(x, axes=p), y, transpose_a=a, transpose_b=b)",
        "batch_dot(x, y, transpose_a=not a, transpose_b=b)",
        exact=False,
        tolerance=_ORDER,
        where="swaps_last(order(p, x.rank))",
    ),
    Rule(
        "batch_dot_of_transposed_right",
        "batch_dot(x, transpose(y, axes=p), transpose_a=a, transpose_b=b)",
        "batch_dot(x, y, transpose_a=a, transpose_b=not b)",
        exact=False,
        tolerance=_ORDER,
        where="swaps_last(order(p, y.rank))",
    ),
)
_BIASED: Final = Rule(
    "bias_of_sum",
    "add(Convolution(x, w, no_bias=True), b)",
    "Convolution(x, w, b)",
    where="b has one number for each filter; the convolution is used here only; also of "
    "Deconvolution and FullyConnected",
    written=True,
)
_NORMALIZED: Final = Rule(
    "fold_batch_norm",
    "BatchNorm(Convolution(x, w, b), gamma, beta, mean, var)",
    "Convolution(x, w * s, b * s + t), t, s the BatchNorm of zeros and its gamma / sqrt(var + eps)",
    exact=False,
    tolerance=TOLERANCE,
    where="outside a training pass, or use_global_stats; float32 or float64; the convolution is "
    "used here only; the result has more than 32 times the elements of w; also of Deconvolution "
    "with num_group=1 and of FullyConnected",
    written=True,
)
RULES: Final = (*_PRODUCTS, *siblings.RULES, _BIASED, _NORMALIZED)

#: What takes data, a weight, and perhaps a bias.
_FILTERS: Final = ("Convolution", "Deconvolution", "FullyConnected")


def run(graph: Graph, context: PassContext) -> Graph:
    """Applies the rules."""
    return siblings.merged(Rewriter(graph, context, _steps()).run(), context)


def _absorbed(rewriter: Rewriter, edge: Edge, into: Node) -> OpCall | None:
    """Returns the call that computes a value with a weight, for one reader; None for others."""
    node = edge.node
    if op_name(node) not in _FILTERS or not rewriter.is_absorbed(edge, into):
        return None
    assert type(node.call) is OpCall
    return node.call


def _channel_axis(rewriter: Rewriter, edge: Edge) -> int:
    """Returns the axis along which a value has a place for each filter."""
    call = edge.node.call
    assert type(call) is OpCall
    last = op_name(edge.node) == "FullyConnected" or str(call.attrs["layout"]).endswith("C")
    return len(rewriter.type(edge).shape) - 1 if last else 1


def _biased(rewriter: Rewriter, node: Node) -> Edge | None:
    """Lets an operator add the bias that is added to its result."""
    for before, bias in (node.inputs, node.inputs[::-1]):
        call = _absorbed(rewriter, before, node)
        if call is None or not call.attrs["no_bias"]:
            continue
        axis, kind = _channel_axis(rewriter, before), rewriter.type(before)
        line = (kind.shape[axis], *(1,) * (len(kind.shape) - 1 - axis))
        given = rewriter.type(bias)
        ones = len(given.shape) - len(line)
        if given.dtype != kind.dtype or given.shape != (*(1,) * ones, *line):
            continue
        inputs = (*before.node.inputs, _flat(rewriter, bias, node))
        attrs = {**call.attrs, "no_bias": False}
        return rewriter.make(op_name(before.node), inputs, attrs, of=node, whole=True)
    return None


def _flat(rewriter: Rewriter, edge: Edge, of: Node) -> Edge:
    """Returns a value without its axes of length 1, or what it was made of."""
    shape = rewriter.type(edge).shape
    if op_name(edge.node) in ("Reshape", "expand_dims"):
        source = edge.node.inputs[0]
        if len(rewriter.type(source).shape) == 1 and rewriter.may_absorb(edge.node, of):
            return source
    if len(shape) == 1:
        return edge
    return rewriter.make("Reshape", [edge], {"shape": (math.prod(shape),)}, of=of)


def _normalized(rewriter: Rewriter, node: Node) -> Replacement | None:
    """Scales the weight that makes what a batch-norm normalizes, and not the data."""
    norm, before = node.call, node.inputs[0]
    assert type(norm) is OpCall
    call = _absorbed(rewriter, before, node)
    if call is None or not (norm.train is False or norm.attrs["use_global_stats"]):
        return None
    made = rewriter.type(before)
    axis = _channel_axis(rewriter, before)
    if made.dtype not in (FLOAT32, FLOAT64) or norm.attrs["axis"] % len(made.shape) != axis:
        return None
    data, weight, *bias = before.node.inputs
    if rewriter.type(weight).size * _SMALL_RATIO >= made.size:
        return None
    place = 0
    if op_name(before.node) == "Deconvolution":
        place = axis
        if call.attrs["num_group"] != 1:
            return None
    small, scale, offset = _constants(rewriter, node, bias)
    shape = rewriter.type(weight).shape
    line = tuple(-1 if dim == place else 1 for dim in range(len(shape)))
    factor = rewriter.make("Reshape", [scale], {"shape": line}, of=node)
    factor = rewriter.make("broadcast_to", [factor], {"shape": shape}, of=node)
    # Of two equal shapes, so that the weight's can be told from the convolution's.
    scaled = rewriter.make("elemwise_mul", [weight, factor], of=node)
    attrs = {**call.attrs, "no_bias": False}
    inputs = [data, scaled, offset]
    whole = rewriter.make(op_name(before.node), inputs, attrs, of=node, whole=True)
    return (whole, *(Edge(small, output) for output in range(1, 5)))


def _constants(rewriter: Rewriter, node: Node, bias: list[Edge]) -> tuple[Node, Edge, Edge]:
    """Returns a batch-norm of zeros, by what one multiplies, and what it adds then.

    What becomes of zeros is the offset. The normalization so remains the reader of the moving
    statistics: they stay auxiliary states, and without a gradient.
    """
    norm = node.call
    assert type(norm) is OpCall
    kind = rewriter.type(node.inputs[1])
    nothing = {"shape": (1, *kind.shape), "dtype": kind.dtype.name}
    zeros = rewriter.make("_zeros", [], nothing, of=node)
    attrs = {**norm.attrs, "axis": 1, "use_global_stats": True, "output_mean_var": True}
    small = rewriter.make("BatchNorm", [zeros, *node.inputs[1:]], attrs, of=node).node
    scale = Edge(small, 2)
    offset = rewriter.make("Reshape", [Edge(small, 0)], {"shape": kind.shape}, of=node)
    if not norm.attrs["fix_gamma"]:
        scale = rewriter.make("elemwise_mul", [scale, node.inputs[1]], of=node)
    if bias:
        scaled = rewriter.make("elemwise_mul", [bias[0], scale], of=node)
        offset = rewriter.make("elemwise_add", [scaled, offset], of=node)
    return small, scale, offset


@cache
def _steps() -> Mapping[str, tuple[RewriteStep, ...]]:
    filters = frozenset(_FILTERS)
    return indexed(
        [
            *map(compiled, _PRODUCTS),
            RewriteStep(_BIASED, FAMILIES["add"], _biased, filters),
            RewriteStep(_NORMALIZED, ("BatchNorm",), _normalized, filters),
        ]
    )
