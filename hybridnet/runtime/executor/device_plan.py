"""The plan of one device for a partitioned graph: its programs, and what they wait for.

Each tensor of a part, whether it is fed, received or made by a program, has a number, its *slot*. A
program waits until all its slots are filled; so a run only has to count (Abadi et al., "TensorFlow:
Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, section 3.1). Between the
programs are the primitives of control flow (`hybridnet.passes.flow`), which hand tensors on and
compute nothing. The slots inside a loop (a frame) exist once for each iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, final

from hybridnet.base.attrs import Number
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node, infer_types
from hybridnet.ops.core import Types
from hybridnet.passes import (
    DeviceCost,
    DevicePart,
    EnterCall,
    ExitCall,
    FlowCall,
    Frame,
    MergeCall,
    Piece,
    RecvCall,
    SendCall,
    SwitchCall,
    TransferCall,
    operations,
    pieces_of,
)

from ..devices.device import Device
from ..graphs.graph_call import GraphCall, shared_call
from ..observe import events
from ..segments.code import Code
from ..tiers.prices import Prices
from .rendezvous import Key

# A program that takes no longer than it takes to hand XLA one of a few arrays (4 to 6 us) is light:
# once it is compiled, to run it takes no longer than to hand it to another thread.
_LIGHT: Final = 5e-6
# A piece that takes at least twice as long as another thread takes to have its results is heavy:
# other devices should not have to wait for all of it. If these are devices of other tasks, to which
# a message takes longer as well, ten times as much makes it heavy.
_HEAVY: Final = 2 * Prices.waiting
_OTHER_TASKS_FACTOR: Final = 10
# A part that takes at most four times as long as that: to wait for its end takes no longer, on a
# busy machine, than to have another thread wait.
_SHORT_SECONDS: Final = 4 * Prices.waiting
# How fast NumPy is.
_NUMPY: Final = DeviceCost()


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A program or a primitive: it waits for some slots, and fills others.

    Attributes:
        number: its number in the plan; primitives come after the programs.
        frame: the frame in which it runs; None outside of loops.
        reads: the slots whose tensors it takes; a program takes each once.
        after: further slots that it waits for. They hold no values but stand for control edges.
        makes: the slots it fills; those of an Enter or Exit are in another frame.
        ends: the slots, of control edges, that are filled when it has run.
    """

    number: int
    frame: FramePlan
    reads: tuple[int, ...]
    after: tuple[int, ...]
    makes: tuple[int, ...]
    ends: tuple[int, ...]


@final
@dataclass(frozen=True, eq=False, slots=True)
class DeviceProgram(Step):
    """A piece of a part that is run as one program.

    Attributes:
        call: the piece as a call.
        code: the structure of that call, by which its program is found.
        scalars: the numbers it takes; a `HostScalar` of the whole graph gets its value in each run.
        graph: the piece as a graph with the names of its own nodes. (Graphs of one structure share
            a call, which has the names of one of them.)
        urgency: the least time, in microseconds by the cost model, from its start to the end of the
            run.
        light: whether running it takes no longer than handing it to another thread.
    """

    call: GraphCall
    code: Code
    scalars: tuple[Number, ...]
    graph: Graph
    urgency: int
    light: bool

    @property
    def nodes(self) -> list[Node]:
        """The nodes that it computes."""
        return [node for node in self.graph.nodes if node.call is not None]

    @property
    def title(self) -> str:
        """Its name in traces: its device and some of its nodes."""
        return f"{self.code.ctx}: {_some([node.name for node in self.nodes])}"


@final
@dataclass(frozen=True, eq=False, slots=True)
class FlowStep(Step):
    """A primitive of control flow, `call`."""

    call: FlowCall


@final
@dataclass(eq=False, slots=True)
class FramePlan:
    """The plan of a device for one iteration of a loop, or for a run outside of all loops.

    Attributes:
        frame: the loop; None outside of loops.
        parent: the plan of the frame around it.
        waits: for each program and primitive, by number, how many slots it waits for.
        uses: for each slot, how many programs and primitives take its tensor.
        receives: the tensors to be received: (slot, key, as it is outside of loops).
        starts: the numbers of the programs that wait for nothing.
        merges: the Merges of the loop's variables, by number.
        exits: the slots that the loop's Exits fill; these are slots of the parent.
    """

    frame: Frame | None
    parent: FramePlan | None
    waits: dict[int, int] = field(default_factory=dict)
    uses: dict[int, int] = field(default_factory=dict)
    receives: list[tuple[int, Key]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    merges: dict[int, FlowStep] = field(default_factory=dict)
    exits: list[int] = field(default_factory=list)


@final
class DevicePlan:
    """The plan of one device for each run of a partitioned graph.

    Attributes:
        device: the device.
        programs: its programs, each after those that it reads from.
        steps: its primitives.
        frames: the plan of each frame; that of None, outside of loops, is always there.
        readers: for each slot the numbers of the programs and primitives that wait for it.
        predicates: the slots whose values decide which way a Switch goes.
        sends: a slot -> by what keys its tensor is sent, as they are outside of loops.
        feeds: the inputs: (the number of an input of the whole graph, slot).
        results: a slot -> the numbers of the outputs of the whole graph that it is.
        warm: the numbers of the programs that have run before.
        is_short: whether everything it computes takes at most a few milliseconds.
    """

    def __init__(
        self,
        part: DevicePart,
        device: Device,
        input_types: Types | Mapping[int, TensorType],
        ranks: Mapping[Node, float],
    ) -> None:
        self.device = device
        self._slots: dict[Edge | Node, int] = {}
        self.readers: list[list[int]] = []
        self.predicates: set[int] = set()
        self.sends: dict[int, list[Key]] = {}
        self.results: dict[int, list[int]] = {}
        self.warm: set[int] = set()
        self.frames: dict[Frame | None, FramePlan] = {None: FramePlan(None, None)}
        types = infer_types(part.graph, [input_types[number] for number in part.inputs])
        self.feeds = [
            (number, self._slot(Edge(node, 0)))
            for number, node in zip(part.inputs, part.graph.inputs, strict=True)
        ]
        for node in part.receives:
            assert isinstance(node.call, RecvCall)
            slot = self._slot(node if node.call.is_control else Edge(node, 0))
            self._frame(part.frames[node]).receives.append((slot, Key(*node.call.transfer)))
        heavy = _HEAVY * (_OTHER_TASKS_FACTOR if _meets_tasks(part) else 1)
        self.programs = [
            self._program(
                number, piece, types, max(ranks[part.originals[n]] for n in piece.nodes), part
            )
            for number, piece in enumerate(pieces_of(part, lambda n: _seconds(n, types) >= heavy))
        ]
        self.steps = self._steps_of(part)
        self.is_short = (
            not self.steps and _seconds(list(part.originals), types) <= _SHORT_SECONDS
            and not any(program.call.on_host for program in self.programs)
        )  # fmt: skip
        for step in (*self.programs, *self.steps):
            self._wait(step)
        for node in part.sends:
            assert isinstance(node.call, SendCall)
            source = node.inputs[0] if node.inputs else node.controls[0]
            self.sends.setdefault(self._slot(source), []).append(Key(*node.call.transfer))
        for number, edge in zip(part.results, part.graph.outputs, strict=False):
            self.results.setdefault(self._slot(edge), []).append(number)

    def is_quick(self, program: DeviceProgram) -> bool:
        """Whether starting a program takes no longer than handing it to another thread."""
        if program.call.on_host:
            return False
        # Under a profiler, tasks wait for the end of their program.
        if events.observer is None and self.device.hands_over(program.code):
            return True
        return program.light and program.number in self.warm

    def late_reads(
        self, inputs: Collection[int], outputs: Set[int]
    ) -> dict[DeviceProgram, list[tuple[int, int]]]:
        """Finds the programs that compute some outputs from some inputs and from received tensors.

        Args:
            inputs: the numbers of the inputs, in the whole graph.
            outputs: the numbers of the outputs, in the whole graph.

        Returns:
            For each such program, where these inputs are among what it reads, with their numbers.
            It is empty if a program that receives nothing reads these inputs for these outputs.
        """
        if self.steps:
            return {}
        fed = {slot: number for number, slot in self.feeds if number in inputs}
        came = {slot for slot, _ in self.frames[None].receives}
        for program in self.programs:
            if not came.isdisjoint(program.reads):
                came.update(program.makes)
        needed = {slot for slot, numbers in self.results.items() if not outputs.isdisjoint(numbers)}
        found = {}
        for program in reversed(self.programs):
            if needed.isdisjoint(program.makes):
                continue
            needed.update(program.reads)
            places = [(i, fed[slot]) for i, slot in enumerate(program.reads) if slot in fed]
            if places and came.isdisjoint(program.reads):
                return {}
            found[program] = places
        return found

    def _frame(self, frame: Frame | None) -> FramePlan:
        found = self.frames.get(frame)
        if found is None:
            assert frame is not None
            parent = self._frame(frame.parent)
            found = self.frames[frame] = FramePlan(frame, parent)
        return found

    def _slot(self, what: Edge | Node) -> int:
        """Returns the slot of a tensor; or, for a node, the slot that is filled when it has run."""
        found = self._slots.get(what)
        if found is None:
            found = self._slots[what] = len(self._slots)
            self.readers.append([])
        return found

    def _wait(self, step: Step) -> None:
        """Notes what a program or primitive waits for."""
        frame, slots = step.frame, (*step.reads, *step.after)
        frame.waits[step.number] = len(slots)
        if not slots:
            frame.starts.append(step.number)
        takes = not isinstance(step, FlowStep) or not isinstance(step.call, MergeCall)
        for slot in slots:
            self.readers[slot].append(step.number)
            if takes:
                frame.uses[slot] = frame.uses.get(slot, 0) + 1

    def _steps_of(self, part: DevicePart) -> list[FlowStep]:
        """Returns the primitives of a part."""
        awaited = {control for node in part.graph.nodes for control in node.controls}
        made: list[FlowStep] = []
        for node in part.graph.nodes:
            call = node.call
            if not isinstance(call, FlowCall):
                continue
            frame = self._frame(call.frame if isinstance(call, ExitCall) else part.frames[node])
            if isinstance(call, EnterCall):
                assert frame.parent is not None
                frame = frame.parent
            reads = tuple(self._slot(edge) for edge in node.inputs)
            makes = tuple(self._slot(Edge(node, index)) for index in range(node.num_outputs))
            if isinstance(call, SwitchCall):
                self.predicates.add(reads[1])
            elif isinstance(call, ExitCall):
                frame.exits += makes
            after = tuple(self._slot(control) for control in node.controls)
            ends = (self._slot(node),) if node in awaited else ()
            number = len(self.programs) + len(made)
            made.append(FlowStep(number, frame, reads, after, makes, ends, call))
            if isinstance(call, MergeCall) and call.frame is not None:
                frame.merges[call.number] = made[-1]
        return made

    def _program(
        self,
        number: int,
        piece: Piece,
        types: Mapping[Node, Types],
        rank: float,
        part: DevicePart,
    ) -> DeviceProgram:
        inputs = tuple(types[edge.node][edge.index] for edge in piece.reads)
        call, scalars = shared_call(piece.graph, inputs, _name(piece), len(piece.makes))
        operands = tuple(range(-1, ~len(inputs), -1))
        outputs = tuple(range(len(piece.makes)))
        code = Code(self.device.context, ((call, operands),), inputs, outputs, ())
        return DeviceProgram(
            number,
            self._frame(part.frames[piece.nodes[0]]),
            tuple(map(self._slot, piece.reads)),
            tuple(map(self._slot, piece.after)),
            tuple(map(self._slot, piece.makes)),
            tuple(map(self._slot, piece.ends)),
            call,
            code,
            scalars,
            piece.graph,
            int(1e6 * rank),
            not call.on_host and _seconds(piece.nodes, types) <= _LIGHT,
        )


def _name(piece: Piece) -> str:
    """Returns a name made of some operators of a piece; pieces of one structure have the same."""
    return _some(list(dict.fromkeys(node.call.name for node in piece.nodes if node.call)))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" + {len(names) - 3} more" if len(names) > 3 else "")


def _meets_tasks(part: DevicePart) -> bool:
    """Whether a part exchanges tensors with devices of other tasks, and with none of its own."""
    calls = [node.call for node in (*part.sends, *part.receives)]
    ends = [end for call in calls if isinstance(call, TransferCall) for end in call.transfer[:2]]
    task = part.device.rpartition("/device:")[0]
    others = [end for end in ends if end != part.device]
    return bool(others) and not any(end.startswith(f"{task}/") for end in others)


def _seconds(nodes: Sequence[Node], types: Mapping[Node, Types]) -> float:
    """Returns how long some nodes take, by their operations and the bytes they read and write."""
    work = moved = 0.0
    for node in nodes:
        assert node.call is not None
        inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
        work += operations(node.call, inputs, types[node])
        moved += sum(kind.nbytes for kind in (*inputs, *types[node]))
    return _NUMPY.seconds(work, moved)
