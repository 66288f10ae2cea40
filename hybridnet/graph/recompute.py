"""Having backward compute values of the forward pass again, in place of keeping them.

The forward graph is cut into segments (`hybridnet.passes.mirror` chooses them). What one segment
hands on to others is kept; what it uses itself is computed again when the backward pass comes to
it (Chen et al. 2016, "Training deep nets with sublinear memory cost", arXiv:1604.06174). A gate
holds each segment back until the gradients that it meets are there, so at no time is more than one
of them in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hybridnet.ops.core import Types

from .gate import gate
from .node import Edge, Graph, Node, variable
from .split import GradientGraph, narrowed

#: Node of the forward graph -> the number of its segment. Segments are numbered as they begin along
#: the order of the graph's nodes; nodes that are not there are not computed again.
Segments = Mapping[Node, int]

# Above every segment: what depends on none.
_NO_SEGMENT: Final = 1 << 62


def needed_again(
    graph: Graph, segments: Segments, residuals: Iterable[Edge], free: frozenset[Edge]
) -> tuple[list[Node], list[Edge]]:
    """Returns what has to be computed again, and what has to be kept for that.

    Args:
        graph: the forward graph.
        segments: see `Segments`.
        residuals: what the backward graph reads.
        free: what is there anyway: the outputs.

    Returns:
        Nodes, in the order of the graph; and edges of computed nodes, each once.
    """
    kept: dict[Edge, None] = {}
    again: set[Node] = set()

    def need(edge: Edge, reader: int | None) -> None:
        number = segments.get(edge.node)
        if number is None or edge in free or (reader is not None and reader != number):
            kept[edge] = None
        else:
            again.add(edge.node)

    for edge in residuals:
        need(edge, None)
    for node in reversed(graph.nodes):
        if node in again:
            for edge in node.inputs:
                if not edge.node.is_variable:
                    need(edge, segments[node])
    return [node for node in graph.nodes if node in again], list(kept)


def recomputed(
    split: GradientGraph, segments: Segments, kept: Sequence[Edge] | None = None
) -> GradientGraph | None:
    """Returns the split whose backward graph computes segments of the forward graph again.

    Args:
        split: what `differentiate` returned.
        segments: see `Segments`.
        kept: what forward keeps; default what is needed.

    Returns:
        The split, which remembers `split`; None where `kept` lacks something.
    """
    heads, residuals = split.heads, split.residuals
    forward = Graph(split.forward.inputs, heads)
    again, needed = needed_again(forward, segments, residuals, frozenset(heads))
    if kept is None:
        kept = needed
    elif not set(needed) <= set(kept):
        return None
    writer = _Writer(split, segments, kept, residuals)
    writer.write(again)
    variables = writer.kept
    uses = tuple(i for i, node in enumerate(forward.inputs) if node in writer.used)
    inputs = (*variables.values(), *(forward.inputs[i] for i in uses), *writer.head_grads)
    outputs = tuple(writer.place.get(edge, edge) for edge in split.backward.outputs)
    return replace(
        split,
        forward=Graph(forward.inputs, (*heads, *variables)),
        backward=Graph(inputs, outputs),
        num_residuals=len(variables),
        uses=uses,
        whole=split,
        segments=segments,
    )


def renarrowed(
    split: GradientGraph, given: Sequence[int], types: dict[Node, Types] | None = None
) -> GradientGraph | None:
    """Returns `narrowed`, of a split that may have been made by `recomputed`."""
    if split.whole is None:
        return narrowed(split, given, types)
    found = narrowed(split.whole, given, types)
    return None if found is None else recomputed(found, split.segments, split.residuals)


class _Writer:
    """Writes the backward graph anew, segment by segment, from the last.

    Attributes:
        kept: forward edge -> the variable of the backward graph that stands for it.
        place: edge of the old backward graph -> edge of the new one.
        used: the forward graph's inputs that are read.
        head_grads: the backward graph's inputs for the gradients of outputs.
    """

    def __init__(
        self,
        split: GradientGraph,
        segments: Segments,
        kept: Sequence[Edge],
        residuals: Sequence[Edge],
    ) -> None:
        self.kept = {edge: variable(f"{edge.node.name}_output{edge.index}") for edge in kept}
        self.place: dict[Edge, Edge] = {}
        self._segments = segments
        self._old = split.backward
        self._old_variables = dict(zip(residuals, split.backward.inputs, strict=False))
        self.used = {split.forward.inputs[i] for i in split.uses}
        self.head_grads = self._old.inputs[split.num_residuals + len(split.uses) :]
        self._gradient_variables = frozenset(self.head_grads)
        self._level = self._levels()

    def _levels(self) -> dict[Node, int]:
        """Returns the lowest segment that each node of the backward graph depends on."""
        level: dict[Node, int] = {}
        for edge, node in self._old_variables.items():
            kept = edge in self.kept
            level[node] = _NO_SEGMENT if kept else self._segments[edge.node]
        for node in self._old.nodes:
            if node not in level:
                level[node] = min((level[edge.node] for edge in node.inputs), default=_NO_SEGMENT)
        return level

    def write(self, again: Sequence[Node]) -> None:
        """Writes all nodes of the backward graph, and those that are computed again.

        A gate waits for edges of higher levels only, and these are written before it.
        """
        for edge, node in self._old_variables.items():
            if edge in self.kept:
                self.place[Edge(node, 0)] = Edge(self.kept[edge], 0)
        by_level: dict[int, list[Node]] = {}
        for node in self._old.nodes:
            if not node.is_variable:
                by_level.setdefault(self._level[node], []).append(node)
        by_segment: dict[int, list[Node]] = {}
        for node in again:
            by_segment.setdefault(self._segments[node], []).append(node)
        for number in sorted({*by_level, *by_segment}, reverse=True):
            readers = by_level.get(number, [])
            self._write_segment(by_segment.get(number, []), self._met(number, readers))
            for node in readers:
                self._put(node, tuple(self.place.get(edge, edge) for edge in node.inputs))

    def _met(self, number: int, readers: Sequence[Node]) -> list[Edge]:
        """Returns the gradients that come to a segment from above it, in the new graph."""
        met = dict.fromkeys(
            self.place.get(edge, edge)
            for node in readers
            for edge in node.inputs
            if self._level[edge.node] > number
            and (not edge.node.is_variable or edge.node in self._gradient_variables)
        )
        return list(met) or [Edge(node, 0) for node in self.head_grads]

    def _put(self, node: Node, inputs: tuple[Edge, ...]) -> None:
        made = node.with_inputs(inputs)
        for index in range(node.num_outputs):
            self.place[Edge(node, index)] = Edge(made, index)

    def _write_segment(self, nodes: Sequence[Node], met: Sequence[Edge]) -> None:
        """Writes copies of a segment's nodes, which read what is kept through a gate."""
        if not nodes:
            return
        copies: dict[Edge, Edge] = {}
        read = dict.fromkeys(edge for node in nodes for edge in node.inputs if edge in self.kept)
        # A node that reads nothing but inputs of the graph would be merged with the first one.
        for node in nodes:
            if node.inputs and all(edge.node.is_variable for edge in node.inputs):
                read[node.inputs[0]] = None
        if read and met:
            source = [Edge(self.kept[e], 0) if e in self.kept else e for e in read]
            held = Node(gate(len(source)), (*source, *met), "gate")
            copies.update((edge, Edge(held, index)) for index, edge in enumerate(read))
        for node in nodes:
            inputs = []
            for edge in node.inputs:
                if edge.node.is_variable:
                    self.used.add(edge.node)
                elif edge in self.kept and edge not in copies:
                    copies[edge] = Edge(self.kept[edge], 0)
                inputs.append(copies.get(edge, edge))
            made = replace(node, inputs=tuple(inputs))
            for index in range(node.num_outputs):
                edge = Edge(node, index)
                copies[edge] = Edge(made, index)
                if edge in self._old_variables and edge not in self.kept:
                    self.place[Edge(self._old_variables[edge], 0)] = copies[edge]
