"""The pass `attention`: attention that is written out becomes one operator.

Written out, its scores are there for all queries and keys at once, and are kept for the gradient;
the operator computes those of long sequences in blocks, and again. What is looked for is what
MXNet's networks and gluonnlp's cells are made of: products of batches of matrices, or MXNet's
operators on interleaved arrays, around a softmax.

It is run before gradients are derived, since afterwards the scores have readers.
"""

from __future__ import annotations

from collections import defaultdict
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
#: What makes scores of queries and keys.
_PRODUCTS: Final = ("batch_dot", f"{_PREFIX}selfatt_qk", f"{_PREFIX}encdec_qk")
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
        self._outputs = frozenset(graph.outputs)
        self._users: dict[Edge, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for edge in node.inputs:
                self._users[edge].append(node)

    def at(self, root: Node) -> _Attention | None:
        """Returns the attention whose result a node is; None: it is none."""
        place = _shares_of(root)
        if place is None:
            return None
        reader, edge = root, root.inputs[place]
        node = self._maker(edge, reader)
        dropout = mask = None
        if node is not None and op_name(node) == "Dropout":
            if not self._is_plain_dropout(node):
                return None
            dropout, reader, edge = node, node, node.inputs[0]
            node = self._maker(edge, reader)
        if node is not None and op_name(node) in FAMILIES["mul"]:
            reader, (edge, mask) = node, self._softmax_first(node)
            node = self._maker(edge, reader)
        if node is None or not self._is_plain_softmax(node):
            return None
        found = self._scores(node, mask)
        scores = self.type(Edge(node, 0))
        if found is None or self.type(root.inputs[place]).shape != scores.shape:
            return None
        if not _matches(found.product, root, scores):
            return None
        found.dropout = dropout
        if len(node.inputs) == 2:
            found.lengths = node.inputs[1]
        return found

    def type(self, edge: Edge) -> TensorType:
        """Returns the type of a value."""
        return self._types[edge.node][edge.index]

    def _scores(self, softmax: Node, mask: Edge | None) -> _Attention | None:
        """Follows the scores of a softmax back to the product of queries and keys."""
        factors: list[Node] = []
        bias: Edge | None = None
        reader, edge, is_masked = softmax, softmax.inputs[0], False
        besides: Sequence[Node] = ()
        while True:
            node = self._maker(edge, reader, besides)
            if node is None or self.type(Edge(node, 0)).shape != self.type(edge).shape:
                return None
            name, besides = op_name(node), ()
            if name in _PRODUCTS:
                # A mask hides scores before the softmax, and what it gives to rows without any.
                fits = mask is None or is_masked
                return _Attention(node, factors, bias, mask) if fits else None
            if name in ("_mul_scalar", "_div_scalar"):
                factors.append(node)
                edge = node.inputs[0]
            elif name in FAMILIES["add"] and bias is None and not factors and not is_masked:
                edge, bias = self._product_first(node)
                if not self._broadcasts(bias, edge):
                    return None
            elif name == "where" and not is_masked and not factors and bias is None:
                ones = self._hidden_by(node, mask)
                if ones is None:
                    return None
                is_masked, edge, besides = True, node.inputs[1], (ones,)
            else:
                return None
            reader = node

    # -- who reads what ------------------------------------------------------------------------

    def _maker(self, edge: Edge, reader: Node, besides: Sequence[Node] = ()) -> Node | None:
        """Returns what makes a value that one node reads, and nobody else; None: others do.

        Args:
            edge: the value; it may have got another shape on the way.
            reader: who reads it.
            besides: who may read its shape.
        """
        source = self._source(edge)
        node = source.node
        is_free = node.call is not None and node.name not in self._keep
        if source.index or not is_free or node.attrs != reader.attrs:
            return None
        return node if self._readers(source) <= {reader, *besides} else None

    def _readers(self, edge: Edge) -> set[Node | None]:
        """Returns who reads a value, whatever its shape; None among them: the graph gives it."""
        found: set[Node | None] = {None} if edge in self._outputs else set()
        for node in self._users[edge]:
            if self._reshapes(node):
                found |= self._readers(Edge(node, 0))
            else:
                found.add(node)
        return found

    def _source(self, edge: Edge) -> Edge:
        """Returns what a value is that has only got another shape."""
        while self._reshapes(edge.node):
            edge = edge.node.inputs[0]
        return edge

    def _reshapes(self, node: Node) -> bool:
        """Whether a node gives its input, in the order that it has."""
        name = op_name(node)
        if name in ("Reshape", "expand_dims", "_copy"):
            return True
        if name == "_view":
            whole = self.type(node.inputs[0]).size == self.type(Edge(node, 0)).size
            return whole and node.scalars[0] == 0.0
        # The gradient goes another way to the same place.
        is_rerouted = node.call is not None and node.call.name == "_rerouted"
        return is_rerouted and self._source(node.inputs[0]) == self._source(node.inputs[1])

    # -- what nodes are ------------------------------------------------------------------------

    def _is_plain_softmax(self, node: Node) -> bool:
        if op_name(node) != "softmax":
            return False
        assert type(node.call) is OpCall
        attrs, rank = node.call.attrs, len(self.type(Edge(node, 0)).shape)
        is_last = attrs["axis"] in (-1, rank - 1)
        return is_last and attrs["temperature"] in (None, 1.0) and attrs["dtype"] is None

    def _is_plain_dropout(self, node: Node) -> bool:
        """Whether a Dropout draws for each share, and nobody reads what it drew."""
        assert type(node.call) is OpCall
        attrs = node.call.attrs
        is_plain = not attrs["axes"] and attrs["mode"] == "training" and len(node.inputs) == 2
        is_fixed = node.call.train is not None
        return is_plain and is_fixed and not self._readers(Edge(node, 1))

    def _softmax_first(self, node: Node) -> tuple[Edge, Edge]:
        """Returns the softmax that a product multiplies, and what it multiplies it by."""
        left, right = node.inputs
        is_left = op_name(self._source(left).node) == "softmax"
        return (left, right) if is_left else (right, left)

    def _product_first(self, node: Node) -> tuple[Edge, Edge]:
        """Returns what leads back to the scores, and what is added to them."""
        left, right = node.inputs
        leads = (*_PRODUCTS, "_mul_scalar", "_div_scalar")
        return (left, right) if op_name(self._source(left).node) in leads else (right, left)

    def _broadcasts(self, edge: Edge, to: Edge) -> bool:
        small, whole = self.type(edge).shape, self.type(to).shape
        return len(small) == len(whole) == 3 and all(
            size in (1, full) for size, full in zip(small, whole, strict=True)
        )

    def _hidden_by(self, node: Node, mask: Edge | None) -> Node | None:
        """Returns who reads the shape of scores that a mask hides; None: it hides none.

        That is the node itself where nobody does.
        """
        condition, scores, hidden = node.inputs
        if mask is None or self._source(condition) != self._source(mask):
            return None
        same = self.type(condition).shape == self.type(mask).shape
        if not same or not self._broadcasts(mask, scores):
            return None
        if op_name(hidden.node) != "_mul_scalar" or type(hidden.node.scalars[0]) is not float:
            return None
        ones = hidden.node.inputs[0].node
        is_low = hidden.node.scalars[0] <= _HIDDEN and op_name(ones) == "ones_like"
        return ones if is_low else None


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
