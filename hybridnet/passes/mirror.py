"""Recomputation for training ("mirroring"): less memory for some more work.

Backward reads what forward has computed, so all of it stays in memory until then. Here the forward
graph is cut into segments of about the same weight; only what passes from one to another is kept,
and backward computes the inside of each segment again when it comes to it. For n layers this needs
memory for about ``2 * sqrt(n)`` of them, and one more forward pass (Chen et al. 2016, "Training
deep nets with sublinear memory cost", arXiv:1604.06174).

Users have MXNet's names: MXNET_BACKWARD_DO_MIRROR=1 asks for it everywhere. The attribute
``force_mirroring`` of a node asks for it at this node ('True', whatever the setting) or forbids it
('False'). Where nodes have ``mirror_stage='True'``, segments end at these only; nodes with another
``mirror_stage``, a name, are one segment with all of that name, where they are computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from hybridnet.graph import (
    MIRRORING,
    Edge,
    GradientGraph,
    Graph,
    Node,
    Segments,
    infer_types,
    needed_again,
    recomputed,
)
from hybridnet.ops.core import Types

# Sizes of segments that are tried: these fractions of all that backward reads.
_SHARES: Final = tuple(2.0 ** (-half / 2) for half in range(2, 24))
_TRUE: Final = ("true", "1")
_FALSE: Final = ("false", "0", "")


def mirror(split: GradientGraph, input_types: Types, everywhere: bool = True) -> GradientGraph:
    """Returns a split whose backward graph computes parts of the forward graph again.

    Args:
        split: what `hybridnet.graph.split.differentiate` returned.
        input_types: of the forward graph's inputs.
        everywhere: whether the whole graph is cut; otherwise only nodes that ask for it are
            computed again.

    Returns:
        `split` itself, where that would not save memory.
    """
    if not everywhere and not any(_mark(node, "force_mirroring") for node in split.forward.nodes):
        return split
    plan = _Plan(
        Graph(split.forward.inputs, split.heads),
        split.residuals,
        infer_types(split.forward, input_types),
    )
    segments = plan.best() if everywhere else plan.segments(())
    return (recomputed(split, segments) or split) if segments else split


def mirror_marks(graph: Graph) -> tuple[tuple[int, str, str], ...]:
    """Returns the attributes about recomputation: (number of the node, name, value)."""
    return tuple(
        (number, name, node.attrs[name])
        for number, node in enumerate(graph.nodes)
        if node.attrs
        for name in sorted(MIRRORING)
        if name in node.attrs
    )


def _mark(node: Node, name: str) -> bool | None:
    """Returns what an attribute says, None where it is not there."""
    text = node.attrs.get(f"__{name}__") if node.attrs else None
    return None if text is None else text.strip().lower() in _TRUE


def _stage(node: Node) -> str | None:
    """Returns the name of the segment that a node asks to be in."""
    text = node.attrs.get("__mirror_stage__") if node.attrs else None
    return None if text is None or text.strip().lower() in _TRUE + _FALSE else text


class _Plan:
    """The forward graph with what decides where to cut it.

    Args:
        graph: the forward graph.
        residuals: what the backward graph reads.
        types: of the graph's nodes.
    """

    def __init__(
        self, graph: Graph, residuals: Sequence[Edge], types: Mapping[Node, Types]
    ) -> None:
        self._graph = graph
        self._residuals = residuals
        self._types = types
        self._free = frozenset(graph.outputs)
        self._nodes = [node for node in graph.nodes if not node.is_variable]
        held = dict.fromkeys(self._nodes, 0)
        for edge in residuals:
            if edge not in self._free:
                held[edge.node] += self._bytes(edge)
        #: Bytes that backward reads of the nodes before each one.
        self._before = [0, *accumulate(held.values())]
        self._crossing = self._crossings()
        stages = [bool(_mark(node, "mirror_stage")) for node in self._nodes]
        self._allowed = stages if any(stages) else [True] * len(stages)

    def _bytes(self, edge: Edge) -> int:
        return self._types[edge.node][edge.index].nbytes

    def _crossings(self) -> list[int]:
        """Returns for each node the bytes that nodes up to it hand on to nodes after it."""
        number = {node: i for i, node in enumerate(self._nodes)}
        last: dict[Edge, int] = {}
        for i, node in enumerate(self._nodes):
            for edge in node.inputs:
                if not edge.node.is_variable:
                    last[edge] = i
        change = [0] * (len(self._nodes) + 1)
        for edge, end in last.items():
            size = self._bytes(edge)
            change[number[edge.node]] += size
            change[end] -= size
        return list(accumulate(change))

    def best(self) -> Segments:
        """Returns the segments with which the least is in memory; empty: better not cut at all."""
        total = self._before[-1]
        best: Segments = {}
        least = self.cost(best)
        for share in _SHARES:
            segments = self.segments(self._cuts(share * total))
            cost = self.cost(segments)
            if cost < least:
                best, least = segments, cost
        return best

    def cost(self, segments: Segments) -> int:
        """Returns the bytes that are kept, and those of the segment with most to compute again."""
        again, kept = needed_again(self._graph, segments, self._residuals, self._free)
        inside: dict[int, int] = {}
        held = set(kept)
        computed = set(again)
        for edge in self._residuals:
            if edge not in held and edge.node in computed:
                number = segments[edge.node]
                inside[number] = inside.get(number, 0) + self._bytes(edge)
        return sum(self._bytes(edge) for edge in kept) + max(inside.values(), default=0)

    def _cuts(self, budget: float) -> list[int]:
        """Returns after which nodes to cut so that segments hold about `budget` bytes.

        Of the places where a segment holds between half of that and all of it, the one is taken
        where the least crosses, and of equal ones the last.
        """
        cuts: list[int] = []
        start = i = 0
        found: int | None = None
        while i < len(self._nodes):
            inside = self._before[i + 1] - self._before[start]
            if inside > budget and found is not None:
                cuts.append(found)
                start = i = found + 1
                found = None
                continue
            if (
                self._allowed[i]
                and 2 * inside >= budget
                and (found is None or self._crossing[i] <= self._crossing[found])
            ):
                found = i
            i += 1
        return cuts

    def segments(self, cuts: Iterable[int]) -> Segments:
        """Returns the segments that end after these nodes.

        The last one is kept: backward begins with it. There, only nodes are computed again that
        ask for it, each run of them being a segment. Nodes that name theirs are in that.
        """
        ends = list(cuts)
        last = ends[-1] + 1 if ends else 0
        ending = set(ends)
        found: dict[Node, int] = {}
        named: dict[str, int] = {}
        number = 0
        for i, node in enumerate(self._nodes):
            assert node.call is not None
            asked = _mark(node, "force_mirroring")
            again = i < last if asked is None else asked
            if again and not node.call.on_host:
                stage = _stage(node)
                if stage is not None and stage not in named:
                    named[stage] = number + 1
                    number += 2
                found[node] = number if stage is None else named[stage]
            elif i >= last:
                number += 1
            number += i in ending
        return found
