"""Layout: chains of operators on images computed with the channels last.

Each value that a chain makes is known in the new order, and turned back only where something needs
it as it was: so no two transposes meet inside. Transposes that are in the graph already count: one
that turns a chain's value is that value, and one that turns back begins a chain.

It is no pass that runs by default: what was measured is in ``docs/passes.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall
from hybridnet.ops.core.registry import get

from .context import TOLERANCE, PassContext
from .pattern import FAMILIES
from .rewrite import op_name
from .rule import Rule

_FILTERED: Final = Rule(
    "filters_last",
    "Convolution(x, w)",
    "back(Convolution(last(x), last(w), layout='NHWC'))",
    exact=False,
    tolerance=TOLERANCE,
    where="channels are first; also of Deconvolution; with 1, 2 and 3 spatial axes; last is "
    "transpose(axes=(0, 2, 3, 1)), back undoes it",
    written=True,
)
_POOLED: Final = Rule(
    "pooling_last",
    "Pooling(back(x))",
    "back(Pooling(x, layout='NHWC'))",
    exact=False,
    tolerance=TOLERANCE,
    where="channels are first",
    written=True,
)
_NORMALIZED: Final = Rule(
    "norm_last",
    "BatchNorm(back(x), gamma, beta, mean, var)",
    "back(BatchNorm(x, gamma, beta, mean, var, axis=3))",
    exact=False,
    tolerance=TOLERANCE,
    where="axis=1",
    written=True,
)
_JOINED: Final = Rule(
    "join_last",
    "Concat(back(x), back(y), ...)",
    "back(Concat(x, y, ..., dim=3))",
    where="dim=1",
    written=True,
)
_ELEMENTWISE: Final = Rule(
    "elements_last",
    "f(back(x), back(y), ...)",
    "back(f(x, y, ...))",
    where="f works element by element; operands that are broadcast are turned",
    written=True,
)
_CANCELED: Final = Rule("last_of_back", "last(back(x))", "x", written=True)
RULES: Final = (_FILTERED, _POOLED, _NORMALIZED, _JOINED, _ELEMENTWISE, _CANCELED)

#: By the number of spatial axes.
_LAYOUTS: Final = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
#: Functions whose results do not depend on where an element stands.
_FUNCTIONS: Final = frozenset(
    {
        *(name for family in FAMILIES.values() for name in family),
        *("add_n", "_maximum", "_minimum", "broadcast_maximum", "broadcast_minimum"),
        *("Activation", "relu", "sigmoid", "tanh", "softsign", "hard_sigmoid", "erf", "clip"),
        *("exp", "log", "sqrt", "rsqrt", "square", "abs", "sign", "negative", "reciprocal"),
        *("_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar"),
        *("_rdiv_scalar", "_power_scalar", "_maximum_scalar", "_minimum_scalar"),
        *("Cast", "_copy", "BlockGrad"),
    }
)


def run(graph: Graph, context: PassContext) -> Graph:
    """Turns what follows from convolutions with the channels first."""
    if not context.allows(_FILTERED):
        return graph
    return _Turning(graph, context).run()


def _axes(rank: int) -> tuple[int, ...]:
    """Returns the axes of the transpose that brings channels last."""
    return (0, *range(2, rank), 1)


def _axes_back(rank: int) -> tuple[int, ...]:
    return (0, rank - 1, *range(1, rank - 1))


@final
class _Turning:
    """The pass over one graph.

    Values are called by their edges in the old graph; each is known in the new one as it was, with
    its channels last, or both ways.
    """

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._graph = graph
        self._context = context
        self._types = context.types(graph)
        self._first: dict[Edge, Edge] = {Edge(node, 0): Edge(node, 0) for node in graph.inputs}
        self._last: dict[Edge, Edge] = {}
        self._turns: dict[str, Callable[[Node], Node | None]] = {
            **dict.fromkeys(("Convolution", "Deconvolution"), self._filtered),
            **dict.fromkeys(_FUNCTIONS, self._elementwise),
            "Pooling": self._pooled,
            "BatchNorm": self._normalized,
            "Concat": self._joined,
        }

    def run(self) -> Graph:
        """Returns the graph with all chains turned; itself if there is none."""
        for node in self._graph.nodes:
            if node.call is not None:
                self._visit(node)
        if not self._context.fired:
            return self._graph
        outputs = tuple(map(self._as_it_was, self._graph.outputs))
        return Graph(self._graph.inputs, outputs)

    def _visit(self, node: Node) -> None:
        turn = self._turns.get(op_name(node))
        turned = None if turn is None else turn(node)
        if turned is None:
            if op_name(node) == "transpose" and self._is_transposed(node):
                return
            made = node.with_inputs(tuple(map(self._as_it_was, node.inputs)))
            self._first.update((Edge(node, i), Edge(made, i)) for i in range(node.num_outputs))
            return
        self._last[Edge(node, 0)] = Edge(turned, 0)
        self._first.update((Edge(node, i), Edge(turned, i)) for i in range(1, node.num_outputs))
        if node.name in self._context.keep:
            # The value as it was must be there, so what follows begins with that.
            self._as_it_was(Edge(node, 0))
            del self._last[Edge(node, 0)]

    def _rank(self, edge: Edge) -> int:
        return len(self._types[edge.node][edge.index].shape)

    def _as_it_was(self, edge: Edge) -> Edge:
        """Returns a value in the order of the old graph."""
        if edge not in self._first:
            # It has the value of the old node, and so its name.
            node = edge.node
            axes = _axes_back(self._rank(edge))
            self._first[edge] = _transposed(self._last[edge], axes, node, node.name)
        return self._first[edge]

    def _turned(self, edge: Edge, of: Node) -> Edge:
        """Returns a value with the channels last."""
        if edge not in self._last:
            axes = _axes(self._rank(edge))
            name = f"{edge.node.name}_last"
            self._last[edge] = _transposed(self._as_it_was(edge), axes, of, name)
        return self._last[edge]

    def _made(
        self, rule: Rule, node: Node, inputs: Sequence[Edge], attrs: Mapping[str, Any] | None = None
    ) -> Node:
        """Returns what a rule makes of a node: other inputs, and other parameters."""
        call = node.call
        assert type(call) is OpCall
        if attrs is not None:
            call, _ = get(op_name(node)).bind({**call.attrs, **attrs}, call.train)
        self._context.fired[rule.name] += 1
        return replace(node, call=call, inputs=tuple(inputs), name=f"{node.name}_last")

    def _layout(self, node: Node) -> Mapping[str, str] | None:
        """Returns the parameter that brings channels last; None where they are not first."""
        call = node.call
        assert type(call) is OpCall
        first, last = _LAYOUTS[self._rank(node.inputs[0]) - 2]
        return {"layout": last} if call.attrs["layout"] in (None, first) else None

    def _filtered(self, node: Node) -> Node | None:
        layout = self._layout(node)
        if layout is None:
            return None
        data, weight, *bias = node.inputs
        inputs = [self._turned(data, node), self._turned(weight, node)]
        return self._made(_FILTERED, node, [*inputs, *map(self._as_it_was, bias)], layout)

    def _pooled(self, node: Node) -> Node | None:
        layout = self._layout(node)
        if layout is None or node.inputs[0] not in self._last:
            return None
        return self._made(_POOLED, node, [self._last[node.inputs[0]]], layout)

    def _normalized(self, node: Node) -> Node | None:
        data, *rest = node.inputs
        call = node.call
        assert type(call) is OpCall
        rank = self._rank(data)
        if data not in self._last or call.attrs["axis"] % rank != 1:
            return None
        inputs = [self._last[data], *map(self._as_it_was, rest)]
        return self._made(_NORMALIZED, node, inputs, {"axis": rank - 1})

    def _joined(self, node: Node) -> Node | None:
        call = node.call
        assert type(call) is OpCall
        rank = self._rank(node.inputs[0])
        if call.attrs["dim"] % rank != 1 or any(edge not in self._last for edge in node.inputs):
            return None
        inputs = [self._last[edge] for edge in node.inputs]
        return self._made(_JOINED, node, inputs, {"dim": rank - 1})

    def _elementwise(self, node: Node) -> Node | None:
        (result,) = self._types[node]
        kinds = [self._types[edge.node][edge.index] for edge in node.inputs]
        whole = [kind.shape == result.shape for kind in kinds]
        ready = [edge in self._last for edge in node.inputs]
        if (
            not any(a and b for a, b in zip(whole, ready, strict=True))
            or any(a and not b for a, b in zip(whole, ready, strict=True))
            or any(len(kind.shape) != len(result.shape) for kind in kinds)
        ):
            return None
        return self._made(_ELEMENTWISE, node, [self._turned(edge, node) for edge in node.inputs])

    def _is_transposed(self, node: Node) -> bool:
        """Notes a transpose between the two orders as the value that it is, if it is one."""
        call = node.call
        assert type(call) is OpCall
        (source,), rank = node.inputs, self._rank(node.inputs[0])
        axes = tuple(axis % rank for axis in call.attrs["axes"])
        if rank < 3 or rank - 2 not in _LAYOUTS or node.name in self._context.keep:
            return False
        if axes == _axes(rank) and source in self._last:
            self._context.fired[_CANCELED.name] += 1
            self._first[Edge(node, 0)] = self._last[source]
            return True
        if axes == _axes_back(rank):
            self._last[Edge(node, 0)] = self._as_it_was(source)
        return False


def _transposed(edge: Edge, axes: Sequence[int], of: Node, name: str) -> Edge:
    call, _ = get("transpose").bind({"axes": tuple(axes)})
    return Edge(replace(of, call=call, inputs=(edge,), name=name, scalars=()), 0)
