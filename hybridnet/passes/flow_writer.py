"""Writing a lowered graph: nodes with their devices, frames and levels; and scopes.

What a scope (`hybridnet.passes.flow.Scopes`) reads of the one around it comes in through a Switch
or an Enter, and what reads nothing waits for the scope's pivot. So whoever runs the graph may take
nodes of one scope and device together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple, final

from hybridnet.base.attrs import Number
from hybridnet.base.device_name import DEVICE
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Node
from hybridnet.ops.core import Call, Types

from .flow import FlowCall, Frame, Scopes


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
        scalars: tuple[Number, ...] = (),
        controls: tuple[Node, ...] = (),
        floor: int = 0,
    ) -> Node:
        """Makes a node.

        Args:
            scope: where it runs.
            call: what it does.
            inputs: to what.
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
        self.scopes.levels[made] = max(
            [floor, *(self._level_after(source, made) for source in sources)]
        )
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
        """Returns None: the whole graph always runs, and waits for no pivot."""
        return
