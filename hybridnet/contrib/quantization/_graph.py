"""A symbol of floats as one whose large layers compute with 8-bit whole numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeGuard

from hybridnet.base.errors import ParameterError
from hybridnet.graph import Edge, Node, variable
from hybridnet.ops.core import OpCall
from hybridnet.ops.core.registry import get
from hybridnet.symbol import Symbol

_QUANTIZE: Final = "_contrib_quantize_v2"
_REQUANTIZE: Final = "_contrib_requantize"
_PREFIX: Final = "quantized_"


class _Kind(NamedTuple):
    """The quantization of a layer.

    Attributes:
        operator: what computes it.
        sums: whether that returns int32 sums.
        weights: whether its inputs are data, a weight and a bias; else all are data.
    """

    operator: str
    sums: bool = False
    weights: bool = False


_KINDS: Final = {
    "Convolution": _Kind("_contrib_quantized_conv", sums=True, weights=True),
    "FullyConnected": _Kind("_contrib_quantized_fully_connected", sums=True, weights=True),
    "Pooling": _Kind("_contrib_quantized_pooling"),
    "Flatten": _Kind("_contrib_quantized_flatten"),
    "Activation": _Kind("_contrib_quantized_act"),
    "Concat": _Kind("_contrib_quantized_concat"),
    "elemwise_add": _Kind("_contrib_quantized_elemwise_add", sums=True),
}


def _can_be(call: Any) -> bool:
    """Whether an operator of 8-bit whole numbers computes what a call does."""
    if not isinstance(call, OpCall) or call.name not in _KINDS:
        return False
    attrs = call.attrs
    if call.name == "Convolution":
        return attrs["num_group"] == 1 and not (attrs["layout"] or "NCHW").endswith("C")
    if call.name == "Pooling":
        return attrs["pool_type"] in ("avg", "max")
    return call.name != "Activation" or attrs["act_type"] == "relu"


def _chosen(
    nodes: Collection[Node], names: Collection[str], operators: Collection[str], mode: str
) -> set[Node]:
    """Returns the nodes that are quantized.

    Args:
        nodes: all, in order.
        names: of nodes that are not.
        operators: of which no node is.
        mode: 'full' for all that can be; 'smart' for layers with weights and what lies between
            two of them, which spares the conversions in between and no others.
    """
    if mode not in ("full", "smart"):
        raise ParameterError(f"quantize_mode: must be 'full' or 'smart', got {mode!r}")
    can = [
        node
        for node in nodes
        if _can_be(node.call)
        and node.name not in names
        and isinstance(node.call, OpCall)
        and node.call.name not in operators
    ]
    large = {node for node in can if isinstance(node.call, OpCall) and _kind(node.call).weights}
    if mode == "full":
        return set(can)
    others = set(can) - large
    after, before = set(large), set(large)
    for node in can:
        if node in others and any(edge.node in after for edge in node.inputs):
            after.add(node)
    for node in reversed(can):
        if node in before:
            before.update(edge.node for edge in node.inputs if edge.node in others)
    return large | (others & after & before)


def _kind(call: OpCall) -> _Kind:
    return _KINDS[call.name]


def quantized(
    sym: Symbol,
    parameters: Mapping[str, tuple[int, ...]],
    *,
    channel_wise: bool = False,
    excluded_names: Collection[str] = (),
    excluded_operators: Collection[str] = (),
    dtype: str = "int8",
    mode: str = "smart",
) -> Symbol:
    """Returns the quantized symbol.

    Args:
        sym: the symbol of floats.
        parameters: the variables that are given as whole numbers, and not quantized at each call,
            and their shapes: of ``x`` the new symbol has ``x_quantize``, ``x_quantize_min`` and
            ``x_quantize_max``.
        channel_wise: weights have a range for each output channel, and biases for each number;
            what is read as floats behind a layer is not rounded to 8 bits before.
        excluded_names: nodes that stay as they are.
        excluded_operators: operators whose nodes stay as they are.
        dtype: of data: 'int8', 'uint8', or 'auto' for uint8 of what is found not to be negative.
        mode: see `_chosen`.
    """
    graph = sym.graph
    operators = {get(name).name for name in excluded_operators}
    chosen = _chosen(graph.nodes, excluded_names, operators, mode)
    writer = _Writer(parameters, dtype, _by_channel(chosen) if channel_wise else None)
    for node in graph.nodes:
        if node in chosen:
            writer.quantize(node)
        else:
            writer.copy(node)
    return Symbol([writer.floats(edge) for edge in graph.outputs])


def _by_channel(chosen: Collection[Node]) -> set[str]:
    """Returns the names of what layers with weights read as such, and no other layer as data."""
    weights: set[str] = set()
    data: set[str] = set()
    for node in chosen:
        assert isinstance(node.call, OpCall)
        for place, edge in enumerate(node.inputs):
            (weights if _kind(node.call).weights and place else data).add(edge.node.name)
    return weights - data


def measured(sym: Symbol) -> list[str]:
    """Returns the names of the float outputs whose ranges a quantized symbol can be told."""
    nodes = [node for node in sym.graph.nodes if _has_range(node.call)]
    return list(dict.fromkeys(_measured(node) for node in nodes))


def _has_range(call: Any) -> TypeGuard[OpCall]:
    return isinstance(call, OpCall) and call.name in (_QUANTIZE, _REQUANTIZE)


def _measured(node: Node) -> str:
    return _name(node.inputs[0]).removeprefix(_PREFIX)


def _name(edge: Edge) -> str:
    (name,) = Symbol([edge]).list_outputs()
    return name


def calibrated(sym: Symbol, ranges: Mapping[str, tuple[float, float]]) -> Symbol:
    """Returns a quantized symbol that knows the ranges of float outputs, by their names."""

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        call = node.call
        if _has_range(call):
            found = ranges.get(_measured(node))
            if found is not None:
                low, high = (float(end) for end in found)
                call = call.with_attrs(min_calib_range=low, max_calib_range=high)
        return replace(node, call=call, inputs=inputs)

    return Symbol(sym.graph.map(change).outputs)


class _Writer:
    """Writes the new graph, node by node.

    Args:
        parameters, dtype: see `quantized`.
        by_channel: the parameters that have a range for each channel; None: there is one for each.
    """

    def __init__(
        self,
        parameters: Mapping[str, tuple[int, ...]],
        dtype: str,
        by_channel: Collection[str] | None,
    ) -> None:
        self._parameters = parameters
        self._dtype = dtype
        self._by_channel = by_channel
        # The sums that became the whole numbers of an edge.
        self._sums: dict[Edge, tuple[Edge, ...]] = {}
        # By the edges of the old graph: what has the same floats, and what stands for them: the
        # whole numbers and the two ends of their range.
        self._floats: dict[Edge, Edge] = {}
        self._wholes: dict[Edge, tuple[Edge, ...]] = {}

    def copy(self, node: Node) -> None:
        """Writes a node that computes with floats."""
        made = node.with_inputs(tuple(self.floats(edge) for edge in node.inputs))
        for index in range(node.num_outputs):
            self._floats[Edge(node, index)] = Edge(made, index)

    def quantize(self, node: Node) -> None:
        """Writes a node that computes with whole numbers."""
        assert isinstance(node.call, OpCall)
        kind = _kind(node.call)
        op = get(kind.operator)
        attrs = {name: x for name, x in node.call.attrs.items() if name in op.params}
        given = [
            self._whole(edge, kind.weights and place > 0) for place, edge in enumerate(node.inputs)
        ]
        inputs = (*(one[0] for one in given), *(end for one in given for end in one[1:]))
        made = Node(op.bind(attrs)[0], inputs, f"{_PREFIX}{node.name}", (), node.attrs)
        if kind.sums:
            self._sums[Edge(node, 0)] = tuple(Edge(made, index) for index in range(3))
            # Sums may be negative, which uint8 would cut off.
            dtype = "int8" if self._dtype == "int8" else "auto"
            call = get(_REQUANTIZE).bind({"out_type": dtype})[0]
            made = Node(call, tuple(Edge(made, i) for i in range(3)), f"requantize_{node.name}")
        self._wholes[Edge(node, 0)] = tuple(Edge(made, index) for index in range(3))

    def floats(self, edge: Edge) -> Edge:
        """Returns what has the floats of an edge of the old graph."""
        if edge not in self._floats:
            call = get("_contrib_dequantize").bind({})[0]
            wholes = self._wholes[edge]
            if self._by_channel is not None:
                wholes = self._sums.get(edge, wholes)
            node = Node(call, wholes, f"{edge.node.name}_dequantize")
            self._floats[edge] = Edge(node, 0)
        return self._floats[edge]

    def _whole(self, edge: Edge, is_weight: bool) -> tuple[Edge, ...]:
        """Returns what stands for an edge that a layer reads: as a weight or bias, or as data."""
        if edge not in self._wholes:
            name = f"{_name(edge)}_quantize"
            if edge.node.is_variable and edge.node.name in self._parameters:
                shape = self._parameters[edge.node.name]
                wide = self._by_channel is not None and edge.node.name in self._by_channel
                attrs = {"__shape__": str(shape[:1])} if wide else None
                ends = [variable(f"{name}{end}", attrs) for end in ("_min", "_max")]
                self._wholes[edge] = tuple(Edge(one, 0) for one in (variable(name), *ends))
            else:
                dtype = "int8" if is_weight else self._dtype
                call = get(_QUANTIZE).bind({"out_type": dtype})[0]
                node = Node(call, (self.floats(edge),), name)
                self._wholes[edge] = tuple(Edge(node, index) for index in range(3))
        return self._wholes[edge]
