"""Lowering loops: `while_loop` and `foreach`, with a counter and stacks where they need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from hybridnet.base.attrs import Number
from hybridnet.graph import ControlCall, Edge, ForeachCall, Node, Subgraph, WhileCall
from hybridnet.ops.core import Call, Types

from .flow_loop import LoopVariable, LoopWriter
from .flow_writer import Reader, Scope, Writer
from .loop_rows import (
    COUNTER,
    goes_on,
    next_count,
    put_row,
    take_row,
    turns_type,
    with_turn,
)

#: The attribute of a loop's node that says how many of its iterations may be under way at a time,
PARALLEL_ITERATIONS: Final = "__parallel_iterations__"
#: and how many may where it says nothing, as in TensorFlow.
_PARALLEL: Final = 10

#: Returns the device that a node names in full, or else the one given.
Resolve = Callable[[Node, str], str]


@final
@dataclass(frozen=True, slots=True)
class Written:
    """A graph that was written in a scope.

    Attributes:
        outputs: of it.
        effects: what of it must run though nothing reads it.
    """

    outputs: list[Reader]
    effects: tuple[Node, ...]


@final
@dataclass(frozen=True, slots=True)
class LoweringSite:
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
    scalars: tuple[Number, ...]
    controls: tuple[Node, ...]
    counts: bool

    @property
    def types(self) -> Types:
        """The types of its inputs."""
        return tuple(reader.type for reader in self.inputs)

    @property
    def floor(self) -> int:
        """The level of its first nodes."""
        return 1 + max((reader.level for reader in self.inputs), default=0)


@final
class Loops:
    """Writes loops.

    Args:
        writer: where to.
        resolve: gives the devices of the nodes in their bodies.
        write: writes a part of a call in a scope, with what stands for its inputs.
    """

    def __init__(
        self,
        writer: Writer,
        resolve: Resolve,
        write: Callable[[Subgraph, LoweringSite, Scope, Sequence[Reader]], Written],
    ) -> None:
        self.writer = writer
        self._resolve = resolve
        self._write = write

    def _loop(self, site: LoweringSite) -> LoopWriter:
        parallel = int(site.node.attrs.get(PARALLEL_ITERATIONS, _PARALLEL))
        return LoopWriter(site.scope, site.node, max(parallel, 1), site.floor, site.controls)

    def _home(self, edge: Edge, site: LoweringSite) -> str:
        """Returns where a loop variable is kept, whose next value is an edge of the body."""
        return site.device if edge.node.is_variable else self._resolve(edge.node, site.device)

    def _states(
        self,
        site: LoweringSite,
        loop: LoopWriter,
        part: Subgraph,
        carried: Sequence[int],
        num_out: int,
    ) -> list[LoopVariable]:
        """Adds the variables of the places of a call that are carried."""
        made = []
        for place, edge in zip(carried, part.graph.outputs[num_out:], strict=True):
            device = self._home(edge, site)
            first = site.inputs[place].at(device)
            made.append(loop.variable(first, device, part.graph.inputs[place].name))
        return made

    def lower_while(self, site: LoweringSite, call: WhileCall) -> list[Edge]:
        """Writes a loop over a condition; returns its results."""
        loop, writer = self._loop(site), self.writer
        test, body = call.parts
        types = call.infer(site.types)
        states = self._states(site, loop, body, call.carried, call.num_out)
        limit = call.max_iterations
        count = None if limit is None else loop.counter(COUNTER, site.device, "count")
        stacks = [
            loop.counter(types[i], self._home(body.graph.outputs[i], site), f"rows{i}")
            for i in range(call.num_out)
        ]
        by_place = dict(zip(call.carried, states, strict=True))
        constants = {
            i: loop.constant(reader) for i, reader in enumerate(site.inputs) if i not in by_place
        }
        found = self._write(
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
            holds = loop.compute(goes_on(limit), edges, name, device, test=True)
        loop.goes_on(holds, found.effects)
        readers = [
            writer.reader(by_place[i].inside) if i in by_place else constants[i][1]
            for i in range(len(site.inputs))
        ]
        turns = self._finish(site, loop, body, readers, count, stacks, states, (limit or 0, False))
        made = [loop.exit(variable) for variable in (*stacks, *states)]
        made[call.num_visible : call.num_visible] = turns
        return made

    def lower_foreach(self, site: LoweringSite, call: ForeachCall) -> list[Edge]:
        """Writes a loop over rows; returns its results."""
        loop, writer, spec = self._loop(site), self.writer, call.loop
        (body,) = call.parts
        given = site.types
        types, length = call.infer(given), call.rows(given)
        shown = spec.num_out - spec.kept
        order = [*range(shown), *range(len(types) - spec.kept, len(types))]
        states = self._states(site, loop, body, spec.carried, spec.num_out)
        count = loop.counter(COUNTER, site.device, "count")
        stacks = [
            loop.counter(types[place], self._home(body.graph.outputs[i], site), f"rows{i}")
            for i, place in enumerate(order)
        ]
        by_place = dict(zip(spec.carried, states, strict=True))
        constants = {
            i: loop.constant(each)[1] for i, each in enumerate(site.inputs) if i not in by_place
        }
        edges, name = (Edge(count.merge, 0),), f"{loop.frame}/goes_on"
        loop.goes_on(loop.compute(goes_on(length), edges, name, site.device, test=True), ())
        taking = take_row(length, spec.reverse, spec.flat)
        readers = [
            writer.reader(by_place[i].inside)
            if i in by_place
            else self._rows(loop, taking, constants[i], count)
            if i < spec.num_data
            else constants[i]
            for i in range(len(site.inputs))
        ]
        turns = self._finish(
            site, loop, body, readers, count, stacks, states, (length, spec.reverse)
        )
        made = [loop.exit(each) for each in (*stacks, *states)]
        outs, last = made[: spec.num_out], made[spec.num_out :]
        last[spec.num_states : spec.num_states] = turns
        return [*outs[:shown], *last, *outs[shown:]]

    def _rows(self, loop: LoopWriter, taking: Call, rows: Reader, count: LoopVariable) -> Reader:
        """Returns the row of an array that an iteration reads, for each device that does."""
        made: dict[str, Edge] = {}

        def at(device: str) -> Edge:
            if device not in made:
                edges = (rows.at(device), count.inside)
                made[device] = loop.compute(taking, edges, f"{loop.frame}/row", device)
            return made[device]

        row = taking.infer((rows.type, COUNTER))[0]
        return Reader(at, rows.level, row)

    def _finish(
        self,
        site: LoweringSite,
        loop: LoopWriter,
        body: Subgraph,
        readers: Sequence[Reader],
        count: LoopVariable | None,
        stacks: Sequence[LoopVariable],
        states: Sequence[LoopVariable],
        rows: tuple[int, bool],
    ) -> list[Edge]:
        """Writes the body of a loop, and what its variables are in the next iteration.

        Args:
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
        written = self._write(body, site, loop.body, readers)
        effects = written.effects
        for variable, made in zip(stacks, written.outputs, strict=False):
            assert count is not None
            edges = (variable.inside, made.at(variable.device), count.inside)
            name = f"{variable.name}/put_row"
            put = loop.compute(put_row(*rows), edges, name, variable.device)
            loop.next(variable, put, effects)
        for variable, made in zip(states, written.outputs[len(stacks) :], strict=False):
            loop.next(variable, made.at(variable.device), effects)
        for variable in turns:
            call = site.node.call
            assert isinstance(call, ControlCall)
            inner = written.outputs[len(stacks) + len(states) :]
            operands = (variable.inside, *(each.at(variable.device) for each in inner))
            name, counting = f"{variable.name}/with_turn", with_turn(call.is_endless)
            added = loop.compute(counting, operands, name, variable.device)
            loop.next(variable, added, effects)
        if count is not None:
            name = f"{loop.frame}/next_count"
            added = loop.compute(next_count(), (count.inside,), name, count.device)
            loop.next(count, added, effects)
        loop.close()
        return [loop.exit(variable) for variable in turns]

    def _turns(self, site: LoweringSite, loop: LoopWriter) -> list[LoopVariable]:
        """Adds the variable that counts the turns of loops, if somebody wants to know."""
        if not site.counts:
            return []
        call = site.node.call
        assert isinstance(call, ControlCall)
        return [loop.counter(turns_type(call.num_unbounded), site.device, "turns")]
