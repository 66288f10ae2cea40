"""The pass `attention`: attention that is written out becomes one operator.

Written out, its scores are there for all queries and keys at once, and are kept for the gradient;
the operator computes those of long sequences in blocks, and again. What is looked for is what
MXNet's networks and gluonnlp's cells are made of: products of batches of matrices, or MXNet's
operators on interleaved arrays, around a softmax.

It is run before gradients are derived, since afterwards the scores have readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from hybridnet.base.dtype import FLOAT32, FLOAT64
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall
from hybridnet.ops.core.registry import get

from .context import TOLERANCE, PassContext
from .pattern import FAMILIES
from .rewrite import op_name
from .rule import Rule

_RULE: Final = Rule(
    "written_out_attention",
    "batch_dot(Dropout(softmax(batch_dot(q, k, transpose_b=True) * a + b)), v)",
    "_contrib_dot_product_attention(q, k, v, b, scale=a)",
    exact=False,
    tolerance=TOLERANCE,
    where="128 queries and keys or more, of float32 or float64; the scores are used here only; "
    "also with masks by `where`, lengths of softmax, and MXNet's interleaved_matmul operators",
    written=True,
)
RULES: Final = (_RULE,)

#: From how many queries and keys on the operator computes blocks of scores.
_MANY: Final = 128
# What stands for minus infinity in masks is this or less.
_HIDDEN: Final = -1e4
_PREFIX: Final = "_contrib_interleaved_matmul_"
#: Takes an edge of the old graph to that of the new one.
_Moved = Callable[[Edge], Edge]


@final
@dataclass
class _Attention:
    """Attention that is written out: nodes and edges of the graph as it was.

    Attributes:
        product: of queries and keys.
        factors: the nodes that multiply or divide the scores by a number, last first.
        bias: what is added to them; None: nothing.
        mask: where they are seen; None: everywhere.
        lengths: how many of a row are; None: all.
        dropout: of the shares; None: none.
    """

    product: Node
    factors: Sequence[Node] = ()
    bias: Edge | None = None
    mask: Edge | None = None
    lengths: Edge | None = None
    dropout: Node | None = None


def run(graph: Graph, context: PassContext) -> Graph:
    """Applies the rule."""
    if not context.allows(_RULE) or not any(op_name(node) == "softmax" for node in graph.nodes):
        return graph
    if any(node.controls for node in graph.nodes):
        return graph
    search = _Search(graph, context)
    found = {node: one for node in graph.nodes if (one := search.at(node)) is not None}
    if not found:
        return graph
    context.fired[_RULE.name] += len(found)
    return _replaced(graph, found)


# -- finding ---------------------------------------------------------------------------------------


@final
class _Search:
    """Looks for attention in a graph."""

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._types = context.types(graph)
        self._keep = context.keep
        self._uses = Counter(edge.node for node in graph.nodes for edge in node.inputs)
        self._uses.update(edge.node for edge in graph.outputs)

    def type(self, edge: Edge) -> TensorType:
        """Returns the type of a value."""
        return self._types[edge.node][edge.index]

    def at(self, node: Node) -> _Attention | None:
        """Returns the attention whose result a node is; None: it is none."""
        place = _shares_of(node)
        if place is None:
            return None
        edge, root = node.inputs[place], node
        dropout = mask = None
        if op_name(edge.node) == "_copy" and self._is_ours(edge, root):
            edge = edge.node.inputs[0]
        if op_name(edge.node) == "Dropout":
            dropout = edge.node
            if not self._is_plain_dropout(dropout, root):
                return None
            edge = dropout.inputs[0]
        if op_name(edge.node) in FAMILIES["mul"] and self._is_ours(edge, root):
            edge, mask = self._softmax_first(edge.node)
        softmax = edge.node
        if op_name(softmax) != "softmax" or not self._is_ours(edge, root):
            return None
        assert type(softmax.call) is OpCall
        attrs, kind = softmax.call.attrs, self.type(edge)
        is_last = attrs["axis"] in (-1, len(kind.shape) - 1)
        if not is_last or attrs["temperature"] not in (None, 1.0) or attrs["dtype"] is not None:
            return None
        found = self._scores(softmax.inputs[0], root, mask)
        if found is None or not _matches(found.product, root, kind):
            return None
        found.dropout = dropout
        if attrs["use_length"]:
            found.lengths = softmax.inputs[1]
        return found

    def _is_ours(self, edge: Edge, root: Node, uses: int = 1) -> bool:
        node = edge.node
        is_free = node.name not in self._keep and node.attrs == root.attrs
        return edge.index == 0 and is_free and self._uses[node] == uses

    def _is_plain_dropout(self, node: Node, root: Node) -> bool:
        """Whether a Dropout draws for each share, and nobody but the next draw needs the rest."""
        assert type(node.call) is OpCall
        attrs = node.call.attrs
        if attrs["axes"] or attrs["mode"] != "training" or node.call.train is None:
            return False
        is_free = node.name not in self._keep and node.attrs == root.attrs
        return is_free and self._uses[node] <= 2 and len(node.inputs) == 2

    def _softmax_first(self, node: Node) -> tuple[Edge, Edge]:
        """Returns the softmax that a product multiplies, and what it multiplies it by."""
        left, right = node.inputs
        return (left, right) if op_name(left.node) == "softmax" else (right, left)

    def _scores(self, edge: Edge, root: Node, mask: Edge | None) -> _Attention | None:
        """Follows the scores back to the product of queries and keys."""
        factors: list[Node] = []
        bias, uses, is_masked = None, 1, False
        while True:
            node, name = edge.node, op_name(edge.node)
            if not self._is_ours(edge, root, uses):
                return None
            uses = 1
            if name in ("batch_dot", f"{_PREFIX}selfatt_qk", f"{_PREFIX}encdec_qk"):
                # A mask hides scores before the softmax, and what it gives to rows without any.
                fits = mask is None or is_masked
                return _Attention(node, factors, bias, mask) if fits else None
            if name in ("_mul_scalar", "_div_scalar"):
                factors.append(node)
                edge = node.inputs[0]
            elif name in FAMILIES["add"] and bias is None and not factors and not is_masked:
                before, bias = self._product_first(node)
                if not self._broadcasts(bias, edge):
                    return None
                edge = before
            elif name == "where" and not is_masked and not factors and bias is None:
                if mask is None or node.inputs[0] != mask:
                    return None
                hidden = self._uses_of_hidden(node)
                if hidden is None or not self._broadcasts(mask, edge):
                    return None
                is_masked, edge, uses = True, node.inputs[1], 1 + hidden
            else:
                return None

    def _product_first(self, node: Node) -> tuple[Edge, Edge]:
        """Returns what leads back to the scores, and what is added to them."""
        left, right = node.inputs
        leads = ("batch_dot", "_mul_scalar", "_div_scalar", f"{_PREFIX}selfatt_qk")
        return (left, right) if op_name(left.node) in leads else (right, left)

    def _broadcasts(self, edge: Edge, to: Edge) -> bool:
        small, whole = self.type(edge).shape, self.type(to).shape
        return len(small) == len(whole) == 3 and all(
            size in (1, full) for size, full in zip(small, whole, strict=True)
        )

    def _uses_of_hidden(self, node: Node) -> int | None:
        """Returns how often what hides scores reads them, for their shape; None: it hides none."""
        _, scores, hidden = node.inputs
        if op_name(hidden.node) != "_mul_scalar" or type(hidden.node.scalars[0]) is not float:
            return None
        ones = hidden.node.inputs[0].node
        if hidden.node.scalars[0] > _HIDDEN or op_name(ones) != "ones_like":
            return None
        return int(ones.inputs[0] == scores)


def _shares_of(node: Node) -> int | None:
    """Returns which input of a node holds shares, if the node mixes values by them."""
    name = op_name(node)
    if name == "batch_dot":
        assert type(node.call) is OpCall
        attrs = node.call.attrs
        return None if attrs["transpose_a"] or attrs["transpose_b"] else 0
    return 1 if name in (f"{_PREFIX}selfatt_valatt", f"{_PREFIX}encdec_valatt") else None


def _matches(product: Node, root: Node, scores: TensorType) -> bool:
    """Whether a product of queries and keys and one of shares and values are a pair worth it."""
    if len(scores.shape) != 3 or min(scores.shape[1:]) < _MANY:
        return False
    if scores.dtype not in (FLOAT32, FLOAT64):
        return False
    assert type(product.call) is OpCall
    assert type(root.call) is OpCall
    first, last = op_name(product), op_name(root)
    if first == "batch_dot":
        attrs = product.call.attrs
        return last == "batch_dot" and attrs["transpose_b"] and not attrs["transpose_a"]
    return (
        last == first.replace("_qk", "_valatt")
        and root.call.attrs["heads"] == product.call.attrs["heads"]
    )


# -- replacing -------------------------------------------------------------------------------------


def _replaced(graph: Graph, found: dict[Node, _Attention]) -> Graph:
    moved: dict[Node, tuple[Edge, ...]] = {}

    def move(edge: Edge) -> Edge:
        return moved[edge.node][edge.index] if edge.node in moved else edge

    drawn = {one.dropout for one in found.values()}
    for node in graph.nodes:
        if node.call is None:
            continue
        if node in found:
            moved[node] = (_Joined(node, move).written(found[node]),)
            continue
        inputs = tuple(map(move, node.inputs))
        if node in drawn:  # what draws next gets the state that it would have got
            one = _Joined(node, move).add("_zeros", [], shape=(1,), dtype="float32")
            inputs = (one, *inputs[1:])
        if inputs != node.inputs:
            made = node.with_inputs(inputs)
            moved[node] = tuple(Edge(made, index) for index in range(made.num_outputs))
    return Graph(graph.inputs, tuple(map(move, graph.outputs)))


@final
class _Joined:
    """Writes the operator in the place of a node."""

    def __init__(self, of: Node, move: _Moved) -> None:
        self._of = of
        self._move = move

    def add(
        self, operator: str, inputs: Sequence[Edge], train: bool | None = None, **attrs: Any
    ) -> Edge:
        """Adds a node."""
        call, scalars = get(operator).bind(attrs, train)
        name = f"{self._of.name}_{call.name.lstrip('_')}"
        return Edge(
            replace(self._of, call=call, inputs=tuple(inputs), scalars=scalars, name=name), 0
        )

    def written(self, found: _Attention) -> Edge:
        """Returns what takes the place of the node's result."""
        root, product = self._of, found.product
        if op_name(root) == "batch_dot":
            parts = [*product.inputs, root.inputs[1]]
            rows = [self.add("expand_dims", [self._move(edge)], axis=2) for edge in parts]
            attended = self._attend(found, rows, 1.0)
            return self._as(root, "Reshape", attended, shape=(0, 0, -3))
        return self._interleaved(found)

    def _attend(self, found: _Attention, rows: Sequence[Edge], scale: float | None) -> Edge:
        """Adds the operator, of (batch, length, 1, units)."""
        queries = rows[0]
        for node in reversed(found.factors):
            queries = Edge(
                replace(
                    self._of,
                    call=node.call,
                    inputs=(queries,),
                    name=node.name,
                    scalars=node.scalars,
                ),
                0,
            )
        optional = {"mask": found.mask, "bias": found.bias, "lengths": found.lengths}
        given = {name: self._move(edge) for name, edge in optional.items() if edge is not None}
        inputs, p, train = [queries, *rows[1:], *given.values()], 0.0, False
        if found.dropout is not None:
            call = found.dropout.call
            assert type(call) is OpCall
            p, train = call.attrs["p"], bool(call.train)
            if p:
                inputs.append(self._move(found.dropout.inputs[1]))
        flags = {f"use_{name}": True for name in given}
        if "bias" in given:
            place = list(given).index("bias") + 3
            inputs[place] = self.add("expand_dims", [inputs[place]], axis=1)
        return self.add(
            "_contrib_dot_product_attention", inputs, train, scale=scale, dropout=p, **flags
        )

    def _interleaved(self, found: _Attention) -> Edge:
        """Takes interleaved arrays apart, (length, batch, heads * parts * units)."""
        root, product = self._of, found.product
        assert type(product.call) is OpCall
        heads: int = product.call.attrs["heads"]
        itself = op_name(root).endswith("selfatt_valatt")
        counts = ((3, 0), (3, 1), (3, 2)) if itself else ((1, 0), (2, 0), (2, 1))
        sources = [product.inputs[0], product.inputs[-1], root.inputs[0]]
        rows = []
        for (parts, part), source in zip(counts, sources, strict=True):
            edge = self.add("Reshape", [self._move(source)], shape=(0, 0, -4, heads, -1))
            edge = self.add("Reshape", [edge], shape=(0, 0, 0, -4, parts, -1))
            edge = self.add("slice_axis", [edge], axis=3, begin=part, end=part + 1)
            # (length, batch, heads, 1, units) to (batch * heads, length, 1, units)
            edge = self.add("transpose", [edge], axes=(1, 2, 0, 3, 4))
            rows.append(self.add("Reshape", [edge], shape=(-3, 0, 0, 0)))
        attended = self._attend(found, rows, None)
        edge = self.add("Reshape", [attended], shape=(-4, -1, heads, 0, -3))
        edge = self.add("transpose", [edge], axes=(2, 0, 1, 3))
        return self._as(root, "Reshape", edge, shape=(0, 0, -3))

    def _as(self, node: Node, operator: str, edge: Edge, **attrs: Any) -> Edge:
        """Adds the node that has another one's name."""
        made = self.add(operator, [edge], **attrs)
        return Edge(replace(made.node, name=node.name), 0)
