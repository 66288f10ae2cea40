"""The pass `dead`: removes outputs that nothing uses.

(Nodes that nothing uses need no pass: a graph consists of what its outputs depend on.)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall

from .context import PassContext
from .rewrite import Replacement, Rewriter, RewriteStep, indexed
from .rule import Rule

_SPLIT: Final = Rule(
    "part_of_split",
    "SliceChannel(x, num_outputs=n, axis=d)[i]",
    "slice_axis(x, axis=d, begin=i*m, end=(i+1)*m)",
    where="it is the only output that is used; m = x.shape[d] / n",
    written=True,
)
RULES: Final = (_SPLIT,)


def run(graph: Graph, context: PassContext) -> Graph:
    """Makes operators compute fewer outputs where only some of them are used."""
    return Rewriter(graph, context, _steps()).run()


def _part_of_split(rewriter: Rewriter, node: Node) -> Replacement | None:
    used = [index for index in range(node.num_outputs) if rewriter.is_used(index)]
    if len(used) != 1 or node.num_outputs == 1:
        return None
    call = node.call
    assert type(call) is OpCall
    axis = call.attrs["axis"]
    size = rewriter.type(node.inputs[0]).shape[axis] // node.num_outputs
    params = {"axis": axis, "begin": used[0] * size, "end": (used[0] + 1) * size}
    part = rewriter.make("slice_axis", node.inputs, params, of=node)
    if call.attrs["squeeze_axis"]:
        part = rewriter.make("squeeze", [part], {"axis": axis}, of=node)
    outputs: list[Edge | None] = [None] * node.num_outputs
    outputs[used[0]] = part
    return tuple(outputs)


@cache
def _steps() -> Mapping[str, tuple[RewriteStep, ...]]:
    return indexed([RewriteStep(_SPLIT, ("SliceChannel",), _part_of_split)])
