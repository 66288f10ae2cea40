"""Lowering: structured control flow becomes the executor's primitives.

Where a loop or a branch runs on one device, it is one node that becomes `lax.while_loop` or
`lax.cond`. Where nodes inside it are on several devices, or run on the host, it is taken apart here
into Switch, Merge, Enter, Exit, NextIteration and LoopCond (`hybridnet.passes.flow`), so that each
device can be given its part of it. This is how TensorFlow's builders write the same loops (Yu et
al., "Dynamic Control Flow in Large-Scale Machine Learning", EuroSys 2018, section 4.2).

A loop variable is kept on the device that makes its next value; what a loop only reads enters once
on each device that reads it; the results of a branch are joined on the device of its node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.graph import (
    CondCall,
    ControlCall,
    Edge,
    ForeachCall,
    Graph,
    Node,
    Subgraph,
    WhileCall,
    to_text,
)
from hybridnet.ops.core import Types

from .flow import PIVOT, Scopes
from .flow_choice import Choice
from .flow_writer import Outermost, Reader, Scope, Writer
from .loop_rows import joined_turns
from .lower_loops import PARALLEL_ITERATIONS, Loops, LoweringSite, Resolve, Written

__all__ = ["PARALLEL_ITERATIONS", "Lowered", "is_spread", "lower_control"]


@final
@dataclass(frozen=True, eq=False)
class Lowered:
    """A graph whose control flow is in primitives.

    Attributes:
        graph: its targets are what must run though nothing reads it: NextIterations, and calls
            with effects.
        devices: where each node runs.
        types: of each node's outputs.
        scopes: where they are, other than on devices.
    """

    graph: Graph
    devices: Mapping[Node, str]
    types: Mapping[Node, Types]
    scopes: Scopes

    def __str__(self) -> str:
        """As text: types behind the nodes, and devices where there are several."""
        plain = self.graph.map(
            lambda node, inputs: replace(node, inputs=inputs, attrs=_shown(node.attrs))
        )
        pairs = list(zip(plain.nodes, self.graph.nodes, strict=True))
        devices = {self.devices[old] for _, old in pairs}
        short = {name: str(replace(DeviceName.parse(name), job=None, task=None, replica=None))
                 for name in devices}  # fmt: skip
        return to_text(
            plain,
            {new: self.types[old] for new, old in pairs},
            notes={new: short[self.devices[old]] for new, old in pairs} if len(devices) > 1 else {},
        )


def _shown(attrs: Mapping[str, str]) -> dict[str, str]:
    """Returns the attributes that readers of a lowered graph are shown: no marks of its making."""
    hidden = (DEVICE, PARALLEL_ITERATIONS, "__subgraph_name__")
    return {name: value for name, value in attrs.items() if name not in hidden}


def is_spread(node: Node, device: str, resolve: Resolve) -> bool:
    """Whether something inside a node is on another device, or runs on the host."""
    call = node.call
    if not isinstance(call, ControlCall):
        return False
    return any(
        inner.call.on_host
        or resolve(inner, device) != device
        or is_spread(inner, resolve(inner, device), resolve)
        for part in call.parts
        for inner in part.graph.nodes
        if inner.call is not None
    )


def lower_control(
    graph: Graph,
    devices: Mapping[Node, str],
    input_types: Types,
    resolve: Resolve,
    everything: bool = False,
) -> Lowered:
    """Lowers the control flow of a graph that must be.

    Args:
        graph: of calls whose mode is fixed.
        devices: of its nodes, variables included.
        input_types: of its inputs.
        resolve: gives the devices of nodes inside others.
        everything: whether all control flow is lowered.
    """
    lowering = _Lowering(resolve, everything)
    writer = lowering.writer
    for node, kind in zip(graph.inputs, input_types, strict=True):
        writer.add_input(node, devices[node], kind)
    readers = [writer.reader(Edge(node, 0)) for node in graph.inputs]
    found = lowering.write(graph, Outermost(writer), readers, {}, lambda node: devices[node])
    outputs = tuple(reader.at("") for reader in found.outputs)
    made = Graph(graph.inputs, outputs, tuple(dict.fromkeys((*found.effects, *writer.ends))))
    made.verify()
    return Lowered(made, writer.devices, writer.types, writer.scopes)


@final
class _Lowering:
    """Writes graphs, and the parts of the calls in them."""

    def __init__(self, resolve: Resolve, everything: bool) -> None:
        self.writer = Writer()
        self._resolve = resolve
        self._everything = everything
        self._loops = Loops(self.writer, resolve, self._part)

    def write(
        self,
        graph: Graph,
        scope: Scope,
        readers: Sequence[Reader],
        numbers: Mapping[HostScalar, Any],
        device_of: Callable[[Node], str],
    ) -> Written:
        """Writes a graph in a scope.

        Args:
            scope: where to.
            readers: its inputs.
            numbers: what stands for the numbers in it.
            device_of: gives the devices of its nodes.
        """
        place: dict[Edge, Reader] = {
            Edge(node, 0): reader for node, reader in zip(graph.inputs, readers, strict=True)
        }
        ran: dict[Node, tuple[Node, ...]] = {}
        read = {edge for node in graph.nodes for edge in node.inputs} | set(graph.outputs)
        for node in graph.nodes:
            call = node.call
            if call is None:
                continue
            device = device_of(node)
            scalars = tuple(numbers.get(scalar, scalar) for scalar in node.scalars)
            controls = tuple(control for before in node.controls for control in ran.get(before, ()))
            if isinstance(call, ControlCall) and self._takes_apart(node, device):
                inputs = [place[edge] for edge in node.inputs]
                counts = call.num_unbounded > 0 and Edge(node, call.num_visible) in read
                site = LoweringSite(node, device, scope, inputs, scalars, controls, counts)
                outputs = self._lower(site)
                if call.num_unbounded and not counts:  # nothing reads this one
                    outputs.insert(call.num_visible, outputs[0])
            else:
                edges = tuple(place[edge].at(device) for edge in node.inputs)
                made = self.writer.add(
                    scope, call, edges, node.name, device,
                    of=node, scalars=scalars, controls=controls,
                )  # fmt: skip
                outputs = [Edge(made, index) for index in range(node.num_outputs)]
                ran[node] = (made,)
            for index, edge in enumerate(outputs):
                place[Edge(node, index)] = self.writer.reader(edge)
            ran.setdefault(node, tuple(dict.fromkeys(edge.node for edge in outputs)))
        effects = tuple(dict.fromkeys(control for node in graph.targets for control in ran[node]))
        self.writer.ends += effects
        return Written([place[edge] for edge in graph.outputs], effects)

    def _takes_apart(self, node: Node, device: str) -> bool:
        return self._everything or is_spread(node, device, self._resolve)

    def _lower(self, site: LoweringSite) -> list[Edge]:
        call = site.node.call
        assert isinstance(call, ControlCall)
        call = call.with_train(False) if call.is_open else call
        if isinstance(call, CondCall):
            return self._lower_cond(site, call)
        if isinstance(call, WhileCall):
            return self._loops.lower_while(site, call)
        assert isinstance(call, ForeachCall)
        return self._loops.lower_foreach(site, call)

    def _part(
        self, part: Subgraph, site: LoweringSite, scope: Scope, readers: Sequence[Reader]
    ) -> Written:
        """Writes a part of a call; its last outputs are the counts of loops, if these are read."""
        part = part.with_counts if site.counts else part
        numbers = {scalar: site.scalars[place] for scalar, place in part.places.items()}
        return self.write(
            part.graph, scope, readers, numbers, lambda node: self._resolve(node, site.device)
        )

    def _lower_cond(self, site: LoweringSite, call: CondCall) -> list[Edge]:
        then, other = call.parts
        pred = site.inputs[0].at(site.device)
        choice = Choice(site.scope, site.node, pred, site.floor, site.controls)
        sides: list[list[Edge]] = []
        for side, part in enumerate((other, then)):
            scope = choice.sides[side]
            readers = [choice.reader(reader, side) for reader in site.inputs[1:]]
            made = self._part(part, site, scope, readers)
            count = len(part.graph.outputs)
            edges = [reader.at(site.device) for reader in made.outputs[:count]]
            if site.counts:
                turns = self._branch_turns(site, scope, made.outputs[count:], call, part is then)
                edges.insert(call.num_visible, turns)
            if made.effects:  # the branch has run when they have
                name = f"{site.node.name}/after{side}"
                device = self.writer.devices[edges[0].node]
                after = self.writer.add(
                    scope, PIVOT, (edges[0],), name, device, controls=made.effects
                )
                edges[0] = Edge(after, 0)
            sides.append(edges)
        pairs = enumerate(zip(*sides, strict=True))
        return [choice.merge(number, pair, site.device) for number, pair in pairs]

    def _branch_turns(
        self,
        site: LoweringSite,
        scope: Scope,
        counts: Sequence[Reader],
        call: CondCall,
        is_first: bool,
    ) -> Edge:
        """Returns how often the loops of a branch were run; those of the other were not."""
        first, second = (part.num_unbounded for part in call.parts)
        joining = joined_turns(0, second) if is_first else joined_turns(first, 0)
        edges = tuple(reader.at(site.device) for reader in counts)
        name = f"{site.node.name}/turns"
        return Edge(self.writer.add(scope, joining, edges, name, site.device, of=site.node), 0)
