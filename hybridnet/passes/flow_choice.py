"""Writing branches: a Switch for what either side reads, a Merge for what both make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from hybridnet.graph import Edge, Node

from .flow import PIVOT, SWITCH, MergeCall
from .flow_writer import Reader, Scope


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
