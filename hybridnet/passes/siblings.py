"""Siblings: several products with one array as one product, where that was measured to pay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall, Types
from hybridnet.ops.core.registry import get

from .context import PassContext
from .rewrite import op_name
from .rule import Rule


@final
@dataclass(frozen=True, slots=True)
class _Gain:
    """The sizes at which one product is faster than several, as measured on a platform.

    Wide products fill the processor alone, and the joined ones must not be wide either: what is
    saved is reading the data again and again, what is added is the taking apart of results.

    Attributes:
        outputs: how many each of them has, at least and at most.
        together: how many all of them have, at most.
        rows: how many rows the data has, at least.
        features: how long these are, at least.
    """

    outputs: tuple[int, int]
    together: int
    rows: int
    features: int


_GAINS: Final = {"cpu": _Gain(outputs=(4, 12), together=96, rows=512, features=256)}

_SIBLINGS: Final = Rule(
    "sibling_products",
    "FullyConnected(x, v), FullyConnected(x, w)",
    "y = FullyConnected(x, Concat(v, w, dim=0)); slice_axis(y, ...), slice_axis(y, ...)",
    exact=False,
    tolerance=1e-6,
    where="weights and biases are variables; not train; on a CPU, "
    "{0.outputs[0]} to {0.outputs[1]} outputs each and at most {0.together} together, "
    "{0.rows} rows of {0.features} features or more".format(_GAINS["cpu"]),
    written=True,
)
RULES: Final = (_SIBLINGS,)


def merged(graph: Graph, context: PassContext) -> Graph:
    """Applies the rule where it pays."""
    gain = _GAINS.get(context.platform)
    if gain is None or context.train or not context.allows(_SIBLINGS):
        return graph
    groups = _siblings(graph)
    types = context.types(graph) if groups else {}
    place: dict[Node, tuple[Sequence[Node], int]] = {}
    for group in groups:
        if _pays(group, types, gain):
            context.fired[_SIBLINGS.name] += 1
            begin = 0
            for node in group:
                place[node] = group, begin
                begin += types[node][0].shape[-1]
    if not place:
        return graph
    wholes: dict[Node, Edge] = {}

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        if node not in place:
            return node.with_inputs(inputs)
        group, begin = place[node]
        if group[0] not in wholes:
            width = sum(types[sibling][0].shape[-1] for sibling in group)
            wholes[group[0]] = _whole(group, inputs[0], width)
        end = begin + types[node][0].shape[-1]
        attrs = {"axis": -1, "begin": begin, "end": end}
        call, _ = get("slice_axis").bind(attrs)
        return replace(node, call=call, inputs=(wholes[group[0]],))

    return graph.map(change)


def _siblings(graph: Graph) -> list[list[Node]]:
    """Returns the dense layers of one array, alike but for their weights.

    Only such whose weights are variables: others might be computed from one of the products.
    """
    groups: dict[object, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        call = node.call
        if op_name(node) != "FullyConnected" or type(call) is not OpCall:
            continue
        if all(edge.node.is_variable for edge in node.inputs[1:]):
            shared = call.attrs["no_bias"], call.attrs["flatten"], tuple(node.attrs.items())
            groups[node.inputs[0], shared].append(node)
    return [group for group in groups.values() if len(group) > 1]


def _pays(group: Sequence[Node], types: Mapping[Node, Types], gain: _Gain) -> bool:
    """Whether one product for all of a group is faster."""
    least, most = gain.outputs
    widths = [types[node][0].shape[-1] for node in group]
    weight = group[0].inputs[1]
    return (
        all(least <= width <= most for width in widths)
        and sum(widths) <= gain.together
        and types[group[0]][0].size // widths[0] >= gain.rows
        and types[weight.node][weight.index].shape[1] >= gain.features
    )


def _whole(group: Sequence[Node], data: Edge, width: int) -> Edge:
    """Returns the product of an array with all weights."""
    first = group[0]
    call = first.call
    assert type(call) is OpCall
    join, _ = get("Concat").bind({"dim": 0, "num_args": len(group)})
    joined = [
        Edge(replace(first, call=join, inputs=tuple(edges), name=f"{first.name}_{name}"), 0)
        for name, edges in zip(
            call.input_names()[1:],
            zip(*(node.inputs[1:] for node in group), strict=True),
            strict=True,
        )
    ]
    product, _ = get("FullyConnected").bind({**call.attrs, "num_hidden": width})
    name = f"{first.name}_siblings"
    return Edge(replace(first, call=product, inputs=(data, *joined), name=name), 0)
