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
from .loop_wiring import LoopWiring, WriteTest, wire_loop

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
@dataclass(frozen=True, slots=True)
class _Results:
    """The variables of a loop after it; see `_Held`."""

    stacks: list[Edge]
    states: list[Edge]
    turns: list[Edge]


@final
@dataclass(frozen=True, slots=True)
class _Held:
    """The variables of a loop.

    Attributes:
        stacks: the arrays that the body's first outputs are put in.
        states: the variables that are its other outputs.
        turns: counts how often loops were run, where somebody wants to know.
        count: counts the iterations; None where nothing is counted.
        length: how many rows the arrays have.
        reverse: whether the last one comes first.
    """

    stacks: list[LoopVariable]
    states: list[LoopVariable]
    turns: list[LoopVariable]
    count: LoopVariable | None
    length: int
    reverse: bool

    @property
    def all(self) -> list[LoopVariable]:
        """All of them."""
        counts = [] if self.count is None else [self.count]
        return [*self.states, *counts, *self.stacks, *self.turns]

    def parted(self, values: Sequence[Edge]) -> _Results:
        """Returns values of `all`, by what they are of."""
        by_variable = dict(zip(self.all, values, strict=True))
        groups = (self.stacks, self.states, self.turns)
        return _Results(*([by_variable[one] for one in group] for group in groups))


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
        others = [i for i in range(len(site.inputs)) if i not in by_place]

        def write_test(constants: Sequence[Reader]) -> tuple[Edge, tuple[Node, ...]]:
            known = dict(zip(others, constants, strict=True))
            readers = [
                writer.reader(Edge(by_place[i].merge, 0)) if i in by_place else known[i]
                for i in range(len(site.inputs))
            ]
            found = self._write(test, replace(site, counts=False), loop.test, readers)
            holds = found.outputs[0].at(site.device)
            if count is not None:
                assert limit is not None
                device = writer.devices[holds.node]
                edges, name = (Edge(count.merge, 0), holds), f"{loop.frame}/goes_on"
                holds = loop.compute(goes_on(limit), edges, name, device, test=True)
            return holds, found.effects

        def readers(constants: Sequence[Reader]) -> list[Reader]:
            known = dict(zip(others, constants, strict=True))
            return [
                writer.reader(by_place[i].inside) if i in by_place else known[i]
                for i in range(len(site.inputs))
            ]

        held = _Held(stacks, states, self._turns(site, loop), count, limit or 0, False)
        constants = [site.inputs[i] for i in others]
        made = self._wired(site, loop, held, constants, write_test, body, readers)
        return [
            *made.stacks,
            *made.states[: call.num_states],
            *made.turns,
            *made.states[call.num_states :],
        ]

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
        others = [i for i in range(len(site.inputs)) if i not in by_place]
        taking = take_row(length, spec.reverse, spec.flat)

        def write_test(constants: Sequence[Reader]) -> tuple[Edge, tuple[Node, ...]]:
            edges, name = (Edge(count.merge, 0),), f"{loop.frame}/goes_on"
            return loop.compute(goes_on(length), edges, name, site.device, test=True), ()

        def readers(constants: Sequence[Reader]) -> list[Reader]:
            known = dict(zip(others, constants, strict=True))
            return [
                writer.reader(by_place[i].inside)
                if i in by_place
                else self._rows(loop, taking, known[i], count)
                if i < spec.num_data
                else known[i]
                for i in range(len(site.inputs))
            ]

        held = _Held(stacks, states, self._turns(site, loop), count, length, spec.reverse)
        constants = [site.inputs[i] for i in others]
        made = self._wired(site, loop, held, constants, write_test, body, readers)
        stacked, last = made.stacks, list(made.states)
        last[spec.num_states : spec.num_states] = made.turns
        return [*stacked[:shown], *last, *stacked[shown:]]

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

    def _wired(
        self,
        site: LoweringSite,
        loop: LoopWriter,
        held: _Held,
        constants: Sequence[Reader],
        test: WriteTest,
        body: Subgraph,
        readers: Callable[[Sequence[Reader]], Sequence[Reader]],
    ) -> _Results:
        """Wires a loop; returns its variables after it.

        Args:
            held: its variables.
            constants: what it only reads.
            test: writes its condition.
            body: what each iteration computes.
            readers: gives the body's inputs, of readers of the constants.
        """

        def write_body(inside: Sequence[Reader]) -> tuple[Sequence[Edge], tuple[Node, ...]]:
            written = self._write(body, site, loop.body, readers(inside))
            return self._next(site, loop, held, written), written.effects

        wiring = LoopWiring(loop, held.all, constants, test, write_body)
        made = wiring.finished(wire_loop(wiring, wiring.variables, wiring.constants))
        return held.parted(made)

    def _next(
        self, site: LoweringSite, loop: LoopWriter, held: _Held, written: Written
    ) -> list[Edge]:
        """Writes what a loop's variables are in the next iteration, of what its body gives."""
        found: dict[LoopVariable, Edge] = {}
        count, outputs = held.count, written.outputs
        for variable, made in zip(held.stacks, outputs, strict=False):
            assert count is not None
            edges = (variable.inside, made.at(variable.device), count.inside)
            name, putting = f"{variable.name}/put_row", put_row(held.length, held.reverse)
            found[variable] = loop.compute(putting, edges, name, variable.device)
        for variable, made in zip(held.states, outputs[len(held.stacks) :], strict=False):
            found[variable] = made.at(variable.device)
        for variable in held.turns:
            call = site.node.call
            assert isinstance(call, ControlCall)
            inner = outputs[len(held.stacks) + len(held.states) :]
            operands = (variable.inside, *(each.at(variable.device) for each in inner))
            name, counting = f"{variable.name}/with_turn", with_turn(call.is_endless)
            found[variable] = loop.compute(counting, operands, name, variable.device)
        if count is not None:
            name = f"{loop.frame}/next_count"
            found[count] = loop.compute(next_count(), (count.inside,), name, count.device)
        return [found[variable] for variable in held.all]

    def _turns(self, site: LoweringSite, loop: LoopWriter) -> list[LoopVariable]:
        """Adds the variable that counts the turns of loops, if somebody wants to know."""
        if not site.counts:
            return []
        call = site.node.call
        assert isinstance(call, ControlCall)
        return [loop.counter(turns_type(call.num_unbounded), site.device, "turns")]
