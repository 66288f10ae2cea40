"""The executor's primitives for control flow, as calls, and frames.

They are those of TensorFlow (Yu et al., "Dynamic Control Flow in Large-Scale Machine Learning",
EuroSys 2018, section 4.1). A tensor belongs to an iteration of a frame, a frame to an iteration of
the one around it, and may be dead: on a branch that is not taken. What reads a dead tensor is dead.

- Switch(data, pred): hands data to its output 1 where pred holds, else to output 0; the other one
  is dead.
- Merge(data, ...): hands on the one input that is alive; it is dead if all are.
- Enter(data): from outside into the first iteration of a frame; a constant, into every one.
- Exit(data): from an iteration of a frame to outside of it, if it is alive.
- NextIteration(data): to the next iteration, if it is alive.
- LoopCond(pred): whether there is a next iteration.

In TensorFlow a loop's Merge has two inputs, an Enter and a NextIteration, so that the graph has a
cycle. Here it has only the Enter, and nothing reads the NextIteration; the executor finds
the Merge that it belongs to by its frame and number. So graphs have no cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hybridnet.base.errors import InternalError
from hybridnet.graph import Node
from hybridnet.ops.core import Backward, HostOnlyCall, Operand, Types


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """A loop.

    Attributes:
        name: which no other loop of the graph has.
        parent: the loop around it; None outside of all.
        parallel_iterations: how many iterations may be under way at a time.
    """

    name: str
    parent: Frame | None
    parallel_iterations: int

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, eq=False)
class Scopes:
    """The scopes of the nodes of a lowered graph.

    A scope is a stretch of nodes that are alive or dead together: the whole graph, a branch, the
    test of a loop, its body.

    Attributes:
        frames: the loop that a node's outputs belong to; None outside of loops.
        regions: for each node the number of its scope.
        levels: numbers that never fall along an edge, and that rise along those between devices,
            to and from primitives, and so between scopes. Nodes of one level, device and scope
            cannot wait for each other in a circle.
    """

    frames: dict[Node, Frame | None] = field(default_factory=dict)
    regions: dict[Node, int] = field(default_factory=dict)
    levels: dict[Node, int] = field(default_factory=dict)


class ExecutorCall(HostOnlyCall):
    """A call that the executor runs itself, between programs."""

    __slots__ = ()

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Graphs are differentiated before they are lowered and partitioned."""
        raise InternalError(f"the gradient of {self}")


class FlowCall(ExecutorCall):
    """Base of the primitives, which hand values on."""

    __slots__ = ()

    def infer(self, types: Types) -> Types:
        """The type of the first input."""
        return types[:1] * self.num_outputs

    def __repr__(self) -> str:
        return self.name


@final
class SwitchCall(FlowCall):
    """See the top of this module."""

    __slots__ = ()
    name = "_Switch"

    def __init__(self) -> None:
        super().__init__(2)


@final
class PivotCall(FlowCall):
    """Hands on what it is given: what runs in a branch but reads nothing of it waits for one."""

    __slots__ = ()
    name = "_Pivot"


@final
class MergeCall(FlowCall):
    """See the top of this module.

    Args:
        frame: of a loop variable, its loop; None joins branches.
        number: which of the loop's variables.
    """

    __slots__ = ("frame", "number")
    name = "_Merge"

    def __init__(self, frame: Frame | None = None, number: int = 0) -> None:
        super().__init__()
        self.frame = frame
        self.number = number


class _FrameCall(FlowCall):
    """A primitive of a loop."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame


@final
class EnterCall(_FrameCall):
    """See the top of this module.

    Args:
        frame: which is entered.
        is_constant: whether every iteration gets the value.
    """

    __slots__ = ("is_constant",)
    name = "_Enter"

    def __init__(self, frame: Frame, is_constant: bool) -> None:
        super().__init__(frame)
        self.is_constant = is_constant


@final
class ExitCall(_FrameCall):
    """See the top of this module."""

    __slots__ = ()
    name = "_Exit"


@final
class LoopCondCall(_FrameCall):
    """See the top of this module."""

    __slots__ = ()
    name = "_LoopCond"


@final
class NextIterationCall(_FrameCall):
    """See the top of this module.

    Args:
        number: which of the loop's variables.
    """

    __slots__ = ("number",)
    name = "_NextIteration"

    def __init__(self, frame: Frame, number: int) -> None:
        super().__init__(frame)
        self.number = number


SWITCH: Final = SwitchCall()
PIVOT: Final = PivotCall()
