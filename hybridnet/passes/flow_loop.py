"""Writing loops: Enter, Merge, Switch, NextIteration and Exit for each variable, and a LoopCond.

Each of them is made where it is asked for; who asks is `hybridnet.passes.loop_wiring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Node
from hybridnet.ops.core import Call

from .flow import (
    PIVOT,
    SWITCH,
    EnterCall,
    ExitCall,
    Frame,
    LoopCondCall,
    MergeCall,
    NextIterationCall,
)
from .flow_writer import Reader, Scope
from .loop_rows import COUNTER, zeros


@dataclass(eq=False, slots=True)
class LoopVariable:
    """A value that goes from iteration to iteration of a loop.

    Attributes:
        name: for the names of its nodes.
        device: where it is kept.
        number: which of the loop's variables.
        first: its value before the loop.
        entered: the same, inside; None until that is there.
        merged: its value when an iteration begins; None until that is there.
        switch: the same, after the condition; None until that is there.
    """

    name: str
    device: str
    number: int
    first: Edge
    entered: Node | None = None
    merged: Node | None = None
    switch: Node | None = None

    @property
    def merge(self) -> Node:
        """Its value when an iteration begins."""
        assert self.merged is not None
        return self.merged

    @property
    def inside(self) -> Edge:
        """Its value for the body."""
        assert self.switch is not None
        return Edge(self.switch, 1)


@final
class _Test(Scope):
    """The condition, computed in every iteration."""

    def __init__(self, loop: LoopWriter) -> None:
        super().__init__(loop.writer, loop.frame)
        self._loop = loop

    def pivot(self, device: str) -> Node:
        """Returns what begins an iteration on a device."""
        return self._loop.driver(device).merge


@final
class _Body(Scope):
    """The body, computed in each iteration but the last."""

    def __init__(self, loop: LoopWriter) -> None:
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
class LoopWriter:
    """A loop: its variables, its constants, its test and its body.

    Each device that has a part in it has a variable of its own, if only one to count its
    iterations by: from it the device learns that there is another one, and when to end.

    Args:
        scope: where it is.
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
        #: those of them that only count iterations.
        self._drivers: list[LoopVariable] = []
        self._enters: dict[tuple[Edge, str], Node] = {}
        self._switches: dict[Node, Node] = {}
        self._holds: Node | None = None
        self.test = _Test(self)
        self.body = _Body(self)

    def variable(self, first: Edge, device: str, name: str) -> LoopVariable:
        """Adds a variable; nothing is written for it yet.

        Args:
            first: its first value.
            device: where it is kept.
            name: for the names of its nodes.
        """
        made = LoopVariable(f"{self.frame}/{name}", device, len(self._variables), first)
        self._variables.append(made)
        return made

    def counter(self, kind: TensorType, device: str, name: str) -> LoopVariable:
        """Adds a variable that begins with zeros."""
        call = zeros(kind)
        node = self.writer.add(
            self.scope, call, (), f"{self.frame}/{name}/zeros", device, of=self.node
        )
        return self.variable(Edge(node, 0), device, name)

    def enter(self, variable: LoopVariable) -> None:
        """Adds the Enter node through which the first value of a variable comes in."""
        variable.entered = self._enter(variable.first, variable.device, variable.name, False)

    def merge(self, variable: LoopVariable) -> None:
        """Joins what has entered and what comes from the iteration before."""
        assert variable.entered is not None
        call, edges = MergeCall(self.frame, variable.number), (Edge(variable.entered, 0),)
        variable.merged = self._add(
            self.test, call, edges, f"{variable.name}/merge", variable.device
        )

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

    def compute(
        self, call: Call, inputs: tuple[Edge, ...], name: str, device: str, *, test: bool = False
    ) -> Edge:
        """Adds a node of one output to the body, or to the test; returns that output."""
        scope = self.test if test else self.body
        return Edge(self.writer.add(scope, call, inputs, name, device, of=self.node), 0)

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
        for variable in self._drivers:
            self.switch(variable)

    def switch(self, variable: LoopVariable) -> None:
        """Parts what a variable is in the body from what it is after the loop."""
        assert self._holds is not None
        edges = (Edge(variable.merge, 0), Edge(self._holds, 0))
        variable.switch = self._add(
            self.body, SWITCH, edges, f"{variable.name}/switch", variable.device
        )

    def next(self, variable: LoopVariable, value: Edge, controls: tuple[Node, ...]) -> None:
        """Says what a variable is in the next iteration.

        Args:
            value: what the body made of it.
            controls: what must have run before the next iteration.
        """
        call = NextIterationCall(self.frame, variable.number)
        name = f"{variable.name}/next_iteration"
        self.writer.ends.append(
            self._add(self.body, call, (value,), name, variable.device, controls)
        )

    def exit(self, variable: LoopVariable) -> Edge:
        """Returns what a variable is after the loop."""
        assert variable.switch is not None
        call, edge = ExitCall(self.frame), Edge(variable.switch, 0)
        made = self._add(self.body, call, (edge,), f"{variable.name}/exit", variable.device)
        self.writer.scopes.frames[made] = self.scope.frame
        self.writer.scopes.regions[made] = self.scope.region
        return Edge(made, 0)

    def driver(self, device: str) -> LoopVariable:
        """Returns a variable that is kept on a device; if there is none it is made."""
        for variable in self._variables:
            if variable.device == device:
                return variable
        made = self.counter(COUNTER, device, "control")
        self._drivers.append(made)
        self.enter(made)
        self.merge(made)
        if self._holds is not None:
            self.switch(made)
        return made

    def close(self) -> None:
        """Gives every device in the loop what is still missing."""
        for device in list(self.writer.members[self.frame]):
            self.driver(device)
        for variable in self._drivers:
            self.next(variable, variable.inside, ())
        for variable in self._variables:
            # It may be by this one alone, which nothing reads, that its device counts.
            self.writer.ends.append(variable.merge)

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
