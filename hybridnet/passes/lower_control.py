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
from typing import Any, Final, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.graph.cond import CondCall
from hybridnet.graph.foreach import ForeachCall
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.graph.subgraph import ControlCall, Part
from hybridnet.graph.text import to_text
from hybridnet.graph.while_loop import WhileCall
from hybridnet.ops.call import Types

from .flow import PIVOT, Scopes
from .flow_writer import Choice, Loop, LoopVariable, Outermost, Reader, Scope, Writer
from .loop_rows import (
    COUNTER,
    goes_on,
    joined_turns,
    next_count,
    put_row,
    take_row,
    turns_type,
    with_turn,
)

__all__ = ["PARALLEL_ITERATIONS", "Lowered", "is_spread", "lower_control"]

#: The attribute of a loop's node that says how many of its iterations may be under way at a time,
PARALLEL_ITERATIONS: Final = "__parallel_iterations__"
#: and how many may where it says nothing, as in TensorFlow.
_PARALLEL: Final = 10

#: Returns the device that a node names in full, or else the one given.
Resolve = Callable[[Node, str], str]


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
        graph: of calls whose mode is settled.
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
@dataclass(frozen=True, slots=True)
class _Written:
    """A graph that was written in a scope.

    Attributes:
        outputs: of it.
        effects: what of it must run though nothing reads it.
    """

    outputs: list[Reader]
    effects: tuple[Node, ...]


@final
@dataclass(frozen=True, slots=True)
class _Site:
    """A control call that is being lowered.

    Attributes:
        node: which.
        device: where it is.
        scope: in which scope.
        inputs: what it reads.
        scalars: the numbers it takes.
        controls: what runs before all that is in it.
        counts: whether the turns of its loops are to be counted.
    """

    node: Node
    device: str
    scope: Scope
    inputs: Sequence[Reader]
    scalars: tuple[Any, ...]
    controls: tuple[Node, ...]
    counts: bool

    @property
    def floor(self) -> int:
        """The level of its first nodes."""
        return 1 + max((one.level for one in self.inputs), default=0)


@final
class _Lowering:
    """Writes graphs, and the parts of the calls in them."""

    def __init__(self, resolve: Resolve, everything: bool) -> None:
        self.writer = Writer()
        self._resolve = resolve
        self._everything = everything

    def write(
        self,
        graph: Graph,
        scope: Scope,
        readers: Sequence[Reader],
        numbers: Mapping[HostScalar, Any],
        device_of: Callable[[Node], str],
    ) -> _Written:
        """Writes a graph in a scope.

        Args:
            graph: what is written.
            scope: where to.
            readers: its inputs.
            numbers: what stands for the numbers in it.
            device_of: gives the devices of its nodes.
        """
        place: dict[Edge, Reader] = {
            Edge(node, 0): one for node, one in zip(graph.inputs, readers, strict=True)
        }
        ran: dict[Node, tuple[Node, ...]] = {}
        read = {edge for node in graph.nodes for edge in node.inputs} | set(graph.outputs)
        for node in graph.nodes:
            call = node.call
            if call is None:
                continue
            device = device_of(node)
            scalars = tuple(numbers.get(one, one) for one in node.scalars)
            controls = tuple(one for before in node.controls for one in ran.get(before, ()))
            if isinstance(call, ControlCall) and self._takes_apart(node, device):
                inputs = [place[edge] for edge in node.inputs]
                counts = call.num_unbounded > 0 and Edge(node, call.num_visible) in read
                site = _Site(node, device, scope, inputs, scalars, controls, counts)
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
        effects = tuple(dict.fromkeys(one for node in graph.targets for one in ran[node]))
        self.writer.ends += effects
        return _Written([place[edge] for edge in graph.outputs], effects)

    def _takes_apart(self, node: Node, device: str) -> bool:
        return self._everything or is_spread(node, device, self._resolve)

    def _lower(self, site: _Site) -> list[Edge]:
        call = site.node.call
        assert isinstance(call, ControlCall)
        call = call.with_train(False) if call.is_open else call
        if isinstance(call, CondCall):
            return self._lower_cond(site, call)
        if isinstance(call, WhileCall):
            return self._lower_while(site, call)
        assert isinstance(call, ForeachCall)
        return self._lower_foreach(site, call)

    def _part(self, part: Part, site: _Site, scope: Scope, readers: Sequence[Reader]) -> _Written:
        """Writes a part of a call; its last outputs are the counts of loops, if these are read."""
        part = part.with_counts if site.counts else part
        numbers = {one: site.scalars[place] for one, place in part.places.items()}
        return self.write(
            part.graph, scope, readers, numbers, lambda node: self._resolve(node, site.device)
        )

    # -- branches ----------------------------------------------------------------------------

    def _lower_cond(self, site: _Site, call: CondCall) -> list[Edge]:
        then, other = call.parts
        pred = site.inputs[0].at(site.device)
        choice = Choice(site.scope, site.node, pred, site.floor, site.controls)
        sides: list[list[Edge]] = []
        for side, part in enumerate((other, then)):
            scope = choice.sides[side]
            readers = [choice.reader(one, side) for one in site.inputs[1:]]
            made = self._part(part, site, scope, readers)
            count = len(part.graph.outputs)
            edges = [one.at(site.device) for one in made.outputs[:count]]
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
        site: _Site,
        scope: Scope,
        counts: Sequence[Reader],
        call: CondCall,
        is_first: bool,
    ) -> Edge:
        """Returns how often the loops of a branch were run; those of the other were not."""
        first, second = (part.num_unbounded for part in call.parts)
        joining = joined_turns(0, second) if is_first else joined_turns(first, 0)
        edges = tuple(one.at(site.device) for one in counts)
        name = f"{site.node.name}/turns"
        return Edge(self.writer.add(scope, joining, edges, name, site.device, of=site.node), 0)

    # -- loops -------------------------------------------------------------------------------

    def _loop(self, site: _Site) -> Loop:
        parallel = int(site.node.attrs.get(PARALLEL_ITERATIONS, _PARALLEL))
        return Loop(site.scope, site.node, max(parallel, 1), site.floor, site.controls)

    def _home(self, edge: Edge, site: _Site) -> str:
        """Returns where a loop variable is kept, whose next value is an edge of the body."""
        return site.device if edge.node.is_variable else self._resolve(edge.node, site.device)

    def _states(
        self, site: _Site, loop: Loop, part: Part, carried: Sequence[int], num_out: int
    ) -> list[LoopVariable]:
        """Adds the variables of the places of a call that are carried."""
        made = []
        for place, edge in zip(carried, part.graph.outputs[num_out:], strict=True):
            device = self._home(edge, site)
            first = site.inputs[place].at(device)
            made.append(loop.variable(first, device, part.graph.inputs[place].name))
        return made

    def _lower_while(self, site: _Site, call: WhileCall) -> list[Edge]:
        loop, writer = self._loop(site), self.writer
        test, body = call.parts
        types = call.infer(self._types(site))
        states = self._states(site, loop, body, call.carried, call.num_out)
        limit = call.max_iterations
        count = None if limit is None else loop.counter(COUNTER, site.device, "count")
        stacks = [
            loop.counter(types[i], self._home(body.graph.outputs[i], site), f"rows{i}")
            for i in range(call.num_out)
        ]
        by_place = dict(zip(call.carried, states, strict=True))
        constants = {
            i: loop.constant(one) for i, one in enumerate(site.inputs) if i not in by_place
        }
        found = self._part(
            test,
            replace(site, counts=False),
            loop.test,
            [
                writer.reader(Edge(by_place[i].merge, 0)) if i in by_place else constants[i][0]
                for i in range(len(site.inputs))
            ],
        )
        holds = found.outputs[0].at(site.device)
        if count is not None:
            assert limit is not None
            device = writer.devices[holds.node]
            edges = (Edge(count.merge, 0), holds)
            name = f"{loop.frame}/goes_on"
            holds = Edge(
                writer.add(loop.test, goes_on(limit), edges, name, device, of=site.node), 0
            )
        loop.goes_on(holds, found.effects)
        readers = [
            writer.reader(by_place[i].inside) if i in by_place else constants[i][1]
            for i in range(len(site.inputs))
        ]
        turns = self._finish(site, loop, body, readers, count, stacks, states, (limit or 0, False))
        made = [loop.exit(one) for one in (*stacks, *states)]
        made[call.num_visible : call.num_visible] = turns
        return made

    def _lower_foreach(self, site: _Site, call: ForeachCall) -> list[Edge]:
        loop, writer, one = self._loop(site), self.writer, call.loop
        (body,) = call.parts
        given = self._types(site)
        types, length = call.infer(given), call.rows(given)
        shown = one.num_out - one.kept
        order = [*range(shown), *range(len(types) - one.kept, len(types))]
        states = self._states(site, loop, body, one.carried, one.num_out)
        count = loop.counter(COUNTER, site.device, "count")
        stacks = [
            loop.counter(types[place], self._home(body.graph.outputs[i], site), f"rows{i}")
            for i, place in enumerate(order)
        ]
        by_place = dict(zip(one.carried, states, strict=True))
        constants = {
            i: loop.constant(each)[1] for i, each in enumerate(site.inputs) if i not in by_place
        }
        edges = (Edge(count.merge, 0),)
        holds = writer.add(
            loop.test, goes_on(length), edges, f"{loop.frame}/goes_on", site.device, of=site.node
        )
        loop.goes_on(Edge(holds, 0), ())
        taking = take_row(length, one.reverse, one.flat)
        readers = [
            writer.reader(by_place[i].inside)
            if i in by_place
            else self._rows(site, loop, taking, constants[i], count)
            if i < one.num_data
            else constants[i]
            for i in range(len(site.inputs))
        ]
        turns = self._finish(
            site, loop, body, readers, count, stacks, states, (length, one.reverse)
        )
        made = [loop.exit(each) for each in (*stacks, *states)]
        outs, last = made[: one.num_out], made[one.num_out :]
        last[one.num_states : one.num_states] = turns
        return [*outs[:shown], *last, *outs[shown:]]

    def _rows(
        self, site: _Site, loop: Loop, taking: Any, rows: Reader, count: LoopVariable
    ) -> Reader:
        """Returns the row of an array that an iteration reads, for each device that does."""
        made: dict[str, Edge] = {}

        def at(device: str) -> Edge:
            if device not in made:
                edges = (rows.at(device), count.inside)
                name = f"{loop.frame}/row"
                node = self.writer.add(loop.body, taking, edges, name, device, of=site.node)
                made[device] = Edge(node, 0)
            return made[device]

        row = taking.infer((rows.type, COUNTER))[0]
        return Reader(at, rows.level, row)

    def _finish(
        self,
        site: _Site,
        loop: Loop,
        body: Part,
        readers: Sequence[Reader],
        count: LoopVariable | None,
        stacks: Sequence[LoopVariable],
        states: Sequence[LoopVariable],
        rows: tuple[int, bool],
    ) -> list[Edge]:
        """Writes the body of a loop, and what its variables are in the next iteration.

        Args:
            site: what is lowered.
            loop: the loop.
            body: what each iteration computes.
            readers: its inputs.
            count: counts the iterations; None where nothing is counted.
            stacks: the arrays that the body's first outputs are put in.
            states: the variables that are its other outputs.
            rows: how many rows the arrays have, and whether the last one comes first.

        Returns:
            How often loops were run, where that is counted.
        """
        turns = self._turns(site, loop)
        written = self._part(body, site, loop.body, readers)
        effects = written.effects
        for one, made in zip(stacks, written.outputs, strict=False):
            assert count is not None
            edges = (one.inside, made.at(one.device), count.inside)
            put = self.writer.add(
                loop.body, put_row(*rows), edges, f"{one.name}/put_row", one.device, of=site.node
            )
            loop.next(one, Edge(put, 0), effects)
        for one, made in zip(states, written.outputs[len(stacks) :], strict=False):
            loop.next(one, made.at(one.device), effects)
        for one in turns:
            call = site.node.call
            assert isinstance(call, ControlCall)
            inner = written.outputs[len(stacks) + len(states) :]
            operands = (one.inside, *(each.at(one.device) for each in inner))
            name, counting = f"{one.name}/with_turn", with_turn(call.is_endless)
            added = self.writer.add(loop.body, counting, operands, name, one.device, of=site.node)
            loop.next(one, Edge(added, 0), effects)
        if count is not None:
            added = self.writer.add(
                loop.body,
                next_count(),
                (count.inside,),
                f"{loop.frame}/next_count",
                count.device,
                of=site.node,
            )
            loop.next(count, Edge(added, 0), effects)
        loop.close()
        return [loop.exit(one) for one in turns]

    def _turns(self, site: _Site, loop: Loop) -> list[LoopVariable]:
        """Adds the variable that counts the turns of loops, if somebody wants to know."""
        if not site.counts:
            return []
        call = site.node.call
        assert isinstance(call, ControlCall)
        return [loop.counter(turns_type(call.num_unbounded), site.device, "turns")]

    def _types(self, site: _Site) -> Types:
        """Returns the types of a call's inputs."""
        return tuple(one.type for one in site.inputs)
