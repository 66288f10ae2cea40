"""A launch as a list of operators: graphs are laid open, and each has the line that called it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.origins import CallSite
from hybridnet.graph import Graph, Node
from hybridnet.ops.core import Call

from ..segments.code import Code

__all__ = ["Opened", "OpenedCall", "opened"]


class OpenedCall(NamedTuple):
    """One operator of a launch.

    Attributes:
        call: the operator.
        operands: its inputs: the numbers of earlier results (>= 0), or ``~i`` for input ``i``.
        scalars: the numbers that it took.
        site: where it was called.
    """

    call: Call
    operands: tuple[int, ...]
    scalars: tuple[float, ...]
    site: CallSite


@final
@dataclass
class Opened:
    """A launch laid open.

    Attributes:
        calls: the operators in their order; their results are numbered in that order.
        outputs: the numbers of what the launch gives out, as operands.
        count: how many results there are.
    """

    calls: list[OpenedCall] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    count: int = 0

    def add(
        self, call: Call, operands: Sequence[int], scalars: Sequence[float], site: CallSite
    ) -> Sequence[int]:
        """Adds a call, or what is in its graph; returns the numbers of its results."""
        graph: Graph | None = getattr(call, "graph", None)
        if graph is not None:
            hosts: Sequence[HostScalar] = call.hosts  # type: ignore[attr-defined]
            return self._add_graph(graph, operands, dict(zip(hosts, scalars, strict=True)), site)
        self.calls.append(OpenedCall(call, tuple(operands), tuple(scalars), site))
        first = self.count
        self.count += call.num_outputs
        return range(first, self.count)

    def _add_graph(
        self,
        graph: Graph,
        operands: Sequence[int],
        numbers: Mapping[HostScalar, float],
        outer: CallSite,
    ) -> list[int]:
        known: dict[Node, Sequence[int]] = {
            node: (number,) for node, number in zip(graph.inputs, operands, strict=True)
        }
        called = outer.outer or outer.origin
        for node in graph.nodes:
            if node.call is None:
                continue
            inputs = [known[edge.node][edge.index] for edge in node.inputs]
            own = [float(numbers[x] if type(x) is HostScalar else x) for x in node.scalars]
            site = CallSite(node.origin or called, called, node.name, outer.turn)
            known[node] = self.add(node.call, inputs, own, site)
        return [known[edge.node][edge.index] for edge in graph.outputs]


def opened(
    code: Code, scalars: Sequence[float], lines: Mapping[int, engine.Origin | None]
) -> Opened:
    """Returns a launch as a list of operators.

    Args:
        code: its structure.
        scalars: the numbers that it was given.
        lines: where its instructions were recorded, by the numbers of their first results.
    """
    made = Opened()
    results: list[int] = []
    position = 0
    for call, given in code.instructions:
        numbers = [float(x) for x in scalars[position : position + call.num_scalars]]
        position += call.num_scalars
        operands: list[Any] = [results[i] if i >= 0 else i for i in given]
        results += made.add(call, operands, numbers, CallSite(lines.get(len(results))))
    made.outputs = [results[i] for i in code.outputs]
    return made
