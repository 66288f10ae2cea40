"""Writing a lowered graph: nodes with their devices, frames and levels; scopes; branches and loops.

What is here knows the primitives, and not the calls that are lowered to them (`lower_control`).

What a scope (`hybridnet.passes.flow.Scopes`) reads of the one around it comes in through a Switch
or an Enter, and what reads nothing waits for the scope's pivot. So whoever runs the graph may take
nodes of one scope and device together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from hybridnet.base.device_name import DEVICE
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph.node import Edge, Node
from hybridnet.ops.call import Call, Types

from .flow import (
    PIVOT,
    SWITCH,
    EnterCall,
    ExitCall,
    FlowCall,
    Frame,
    LoopCondCall,
    MergeCall,
    NextIterationCall,
    Scopes,
)
from .loop_rows import COUNTER, zeros

__all__ = ["Choice", "Loop", "LoopVariable", "Outermost", "Reader", "Scope", "Writer"]


class Reader(NamedTuple):
    """A value that a scope can read.

    Attributes:
        at: gives its edge, for a reader on a device; the edge may be on another one.
        level: see `Scopes`.
        type: of the value.
    """

    at: Callable[[str], Edge]
    level: int
    type: TensorType


@final
class Writer:
    """The nodes of a lowered graph while they are made.

    Attributes:
        devices: where each node runs.
        types: of the nodes' outputs.
        scopes: where they are, other than on devices.
        members: the devices that have nodes in a frame, in order.
        ends: what must run though nothing reads it.
    """

    def __init__(self) -> None:
        self.devices: dict[Node, str] = {}
        self.types: dict[Node, Types] = {}
        self.scopes = Scopes()
        self.members: dict[Frame, dict[str, None]] = {}
        self.ends: list[Node] = []
        self._names: dict[str, int] = {}
        self._regions = 0

    def add_input(self, node: Node, device: str, kind: TensorType) -> None:
        """Takes an input of the graph."""
        self.devices[node] = device
        self.types[node] = (kind,)
        self.scopes.frames[node] = None
        self.scopes.regions[node] = self.scopes.levels[node] = 0

    def add(
        self,
        scope: Scope,
        call: Call,
        inputs: tuple[Edge, ...],
        name: str,
        device: str,
        *,
        of: Node | None = None,
        scalars: tuple[Any, ...] = (),
        controls: tuple[Node, ...] = (),
        floor: int = 0,
    ) -> Node:
        """Makes a node.

        Args:
            scope: where it runs.
            call: what it does.
            inputs: to what.
            name: its name.
            device: where it runs.
            of: whose line and attributes it has.
            scalars: the numbers that the call takes.
            controls: what runs before it.
            floor: its level at the least.
        """
        if not inputs:
            pivot = scope.pivot(device)
            controls = (*controls, pivot) if pivot is not None else controls
        attrs: Mapping[str, str] = {} if of is None else of.attrs
        attrs = {**attrs, DEVICE: device}
        made = Node(call, inputs, name, scalars, attrs, of and of.origin, controls)
        self.devices[made] = device
        self.types[made] = call.infer(tuple(self.types[e.node][e.index] for e in inputs))
        self.scopes.regions[made] = scope.region
        sources = (*(edge.node for edge in inputs), *controls)
        self.scopes.levels[made] = max([floor, *(self._level_after(one, made) for one in sources)])
        self.scopes.frames[made] = scope.frame
        if scope.frame is not None:
            self.members.setdefault(scope.frame, {})[device] = None
        return made

    def _level_after(self, source: Node, reader: Node) -> int:
        apart = (
            isinstance(source.call, FlowCall)
            or isinstance(reader.call, FlowCall)
            or self.devices[source] != self.devices[reader]
        )
        return self.scopes.levels[source] + apart

    def reader(self, edge: Edge) -> Reader:
        """Returns the reader of a value that is in the scope itself."""
        return Reader(
            lambda device: edge, self.scopes.levels[edge.node], self.types[edge.node][edge.index]
        )

    def fresh_name(self, name: str) -> str:
        """Returns a name that was not returned before."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return f"{name}_{count}" if count else name

    def new_region(self) -> int:
        """Returns a number for a scope."""
        self._regions += 1
        return self._regions


class Scope(ABC):
    """A stretch of nodes that are alive or dead together.

    Attributes:
        frame: the loop it is in.
        region: its number.
    """

    def __init__(self, writer: Writer, frame: Frame | None) -> None:
        self.writer = writer
        self.frame = frame
        self.region = writer.new_region()

    @abstractmethod
    def pivot(self, device: str) -> Node | None:
        """Returns a node on a device that runs if the scope does; None where it always does."""


@final
class Outermost(Scope):
    """The whole graph."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer, None)
        self.region = 0

    def pivot(self, device: str) -> None:
        """It always runs."""
        return


@final
class _Branch(Scope):
    """One side of a choice."""

    def __init__(self, choice: Choice, side: int) -> None:
        super().__init__(choice.writer, choice.scope.frame)
        self._choice = choice
        self._side = side
        self._pivots: dict[str, Node] = {}

    def pivot(self, device: str) -> Node:
        """Returns a node that waits for the condition."""
        if device not in self._pivots:
            choice = self._choice
            switch = choice.switch(choice.pred, device)
            name = f"{choice.node.name}/pivot{self._side}"
            edge = Edge(switch, self._side)
            self._pivots[device] = choice.writer.add(self, PIVOT, (edge,), name, device)
        return self._pivots[device]


@final
class Choice:
    """Branches, of which a condition chooses one.

    Args:
        scope: where it is.
        node: what is lowered.
        pred: the condition.
        floor: the level of its Switches at the least.
        controls: what runs before all that is in it.

    Attributes:
        sides: the scopes for a condition that does not hold, and one that does.
    """

    def __init__(
        self, scope: Scope, node: Node, pred: Edge, floor: int, controls: tuple[Node, ...]
    ) -> None:
        self.writer = scope.writer
        self.scope = scope
        self.node = node
        self.pred = pred
        self._floor = floor
        self._controls = controls
        self._switches: dict[tuple[Edge, str], Node] = {}
        self.sides = (_Branch(self, 0), _Branch(self, 1))

    def switch(self, data: Edge, device: str) -> Node:
        """Returns the Switch of a value, which both sides share."""
        found = self._switches.get((data, device))
        if found is None:
            name = f"{self.node.name}/{data.node.name}/switch"
            found = self._switches[data, device] = self.writer.add(
                self.scope,
                SWITCH,
                (data, self.pred),
                name,
                device,
                of=self.node,
                controls=self._controls,
                floor=self._floor,
            )
        return found

    def reader(self, source: Reader, side: int) -> Reader:
        """Returns a value of the scope around, for one side; the Switch is where the value is."""

        def at(device: str) -> Edge:
            data = source.at(device)
            return Edge(self.switch(data, self.writer.devices[data.node]), side)

        return Reader(at, max(source.level, self._floor) + 1, source.type)

    def merge(self, number: int, made: Sequence[Edge], device: str) -> Edge:
        """Joins what the sides made, in the order of `sides`."""
        name = f"{self.node.name}/merge{number}"
        call = MergeCall()
        return Edge(self.writer.add(self.scope, call, tuple(made), name, device, of=self.node), 0)


@dataclass(eq=False, slots=True)
class LoopVariable:
    """What goes from iteration to iteration of a loop.

    Attributes:
        name: for the names of its nodes.
        device: where it is kept.
        number: which of the loop's variables.
        merge: its value when an iteration begins.
        switch: the same, after the condition; None until that is there.
        is_closed: whether it has its NextIteration.
    """

    name: str
    device: str
    number: int
    merge: Node
    switch: Node | None = None
    is_closed: bool = False

    @property
    def inside(self) -> Edge:
        """Its value for the body."""
        assert self.switch is not None
        return Edge(self.switch, 1)


@final
class _Test(Scope):
    """What a loop computes in each iteration to know whether it goes on."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop.writer, loop.frame)
        self._loop = loop

    def pivot(self, device: str) -> Node:
        """Returns what begins an iteration on a device."""
        return self._loop.driver(device).merge


@final
class _Body(Scope):
    """What a loop computes in each iteration but the last."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop.writer, loop.frame)
        self._loop = loop
        self._pivots: dict[str, Node] = {}

    def pivot(self, device: str) -> Node:
        """Returns a node that waits for the condition."""
        if device not in self._pivots:
            edge = self._loop.driver(device).inside
            name = f"{self._loop.frame}/pivot"
            self._pivots[device] = self.writer.add(self, PIVOT, (edge,), name, device)
        return self._pivots[device]


@final
class Loop:
    """A loop: its variables, its constants, its test and its body.

    Each device that has a part in it has a variable of its own, if only one to count its
    iterations by: from it the device learns that there is another one, and when to end.

    Args:
        scope: where it is.
        node: what is lowered.
        parallel_iterations: see `Frame`.
        floor: the level of its first nodes at the least.
        controls: what runs before all that is in it.
    """

    def __init__(
        self,
        scope: Scope,
        node: Node,
        parallel_iterations: int,
        floor: int,
        controls: tuple[Node, ...],
    ) -> None:
        self.writer = scope.writer
        self.scope = scope
        self.node = node
        around = "" if scope.frame is None else f"{scope.frame}/"
        name = self.writer.fresh_name(f"{around}{node.name}")
        self.frame = Frame(name, scope.frame, parallel_iterations)
        self._floor = floor
        self._controls = controls
        self._variables: list[LoopVariable] = []
        self._enters: dict[tuple[Edge, str], Node] = {}
        self._switches: dict[Node, Node] = {}
        self._holds: Node | None = None
        self.test = _Test(self)
        self.body = _Body(self)

    def variable(self, first: Edge, device: str, name: str) -> LoopVariable:
        """Adds a variable.

        Args:
            first: its first value.
            device: where it is kept.
            name: for the names of its nodes.
        """
        number = len(self._variables)
        name = f"{self.frame}/{name}"
        enter = self._enter(first, device, name, False)
        call = MergeCall(self.frame, number)
        merge = self._add(self.test, call, (Edge(enter, 0),), f"{name}/merge", device)
        made = LoopVariable(name, device, number, merge)
        self._variables.append(made)
        if self._holds is not None:
            self._decide(made)
        return made

    def counter(self, kind: TensorType, device: str, name: str) -> LoopVariable:
        """Adds a variable that begins with zeros."""
        call = zeros(kind)
        node = self.writer.add(
            self.scope, call, (), f"{self.frame}/{name}/zeros", device, of=self.node
        )
        return self.variable(Edge(node, 0), device, name)

    def constant(self, source: Reader) -> tuple[Reader, Reader]:
        """Returns a value of the scope around, for the test and for the body."""

        def enter(device: str) -> Node:
            data = source.at(device)
            found = self._enters.get((data, device))
            if found is None:
                name = f"{self.frame}/{data.node.name}"
                found = self._enters[data, device] = self._enter(data, device, name, True)
            return found

        def inside(device: str) -> Edge:
            entered = enter(device)
            if entered not in self._switches:
                assert self._holds is not None
                edges = (Edge(entered, 0), Edge(self._holds, 0))
                name = f"{entered.name.removesuffix('/enter')}/switch"
                self._switches[entered] = self._add(self.body, SWITCH, edges, name, device)
            return Edge(self._switches[entered], 1)

        level = max(source.level, self._floor) + 1
        return (
            Reader(lambda device: Edge(enter(device), 0), level, source.type),
            Reader(inside, level + 2, source.type),
        )

    def goes_on(self, pred: Edge, controls: tuple[Node, ...]) -> None:
        """Takes the condition; from then on the body can be written.

        Args:
            pred: whether there is another iteration.
            controls: what must have run before that is decided.
        """
        device = self.writer.devices[pred.node]
        self._holds = self._add(
            self.test, LoopCondCall(self.frame), (pred,), f"{self.frame}/loop_cond", device,
            controls,
        )  # fmt: skip
        for one in self._variables:
            self._decide(one)

    def next(self, one: LoopVariable, value: Edge, controls: tuple[Node, ...]) -> None:
        """Says what a variable is in the next iteration.

        Args:
            one: which.
            value: what the body made of it.
            controls: what must have run before the next iteration.
        """
        call = NextIterationCall(self.frame, one.number)
        name = f"{one.name}/next_iteration"
        self.writer.ends.append(self._add(self.body, call, (value,), name, one.device, controls))
        one.is_closed = True

    def exit(self, one: LoopVariable) -> Edge:
        """Returns what a variable is after the loop."""
        assert one.switch is not None
        call, edge = ExitCall(self.frame), Edge(one.switch, 0)
        made = self._add(self.body, call, (edge,), f"{one.name}/exit", one.device)
        self.writer.scopes.frames[made] = self.scope.frame
        self.writer.scopes.regions[made] = self.scope.region
        return Edge(made, 0)

    def driver(self, device: str) -> LoopVariable:
        """Returns a variable that is kept on a device; if there is none it is made."""
        for one in self._variables:
            if one.device == device:
                return one
        return self.counter(COUNTER, device, "control")

    def close(self) -> None:
        """Gives every device in the loop, and every variable, what is still missing."""
        for device in list(self.writer.members[self.frame]):
            self.driver(device)
        for one in self._variables:
            if not one.is_closed:
                self.next(one, one.inside, ())
            # It may be by this one alone, which nothing reads, that its device counts.
            self.writer.ends.append(one.merge)

    def _decide(self, one: LoopVariable) -> None:
        assert self._holds is not None
        edges = (Edge(one.merge, 0), Edge(self._holds, 0))
        one.switch = self._add(self.body, SWITCH, edges, f"{one.name}/switch", one.device)

    def _enter(self, data: Edge, device: str, name: str, is_constant: bool) -> Node:
        call = EnterCall(self.frame, is_constant)
        made = self.writer.add(
            self.scope, call, (data,), f"{name}/enter", device,
            of=self.node, controls=self._controls, floor=self._floor,
        )  # fmt: skip
        self.writer.scopes.frames[made] = self.frame
        self.writer.members.setdefault(self.frame, {})[device] = None
        return made

    def _add(
        self,
        scope: Scope,
        call: Call,
        inputs: tuple[Edge, ...],
        name: str,
        device: str,
        controls: tuple[Node, ...] = (),
    ) -> Node:
        return self.writer.add(
            scope, call, inputs, name, device, of=self.node, controls=controls, floor=self._floor
        )
