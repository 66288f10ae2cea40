"""What one device does in each run of a partitioned graph: programs, and what they wait for.

Tensors of a part are numbered as slots: those that are fed, received, or made by a program. A
program waits for its slots to be filled; so all that a run has to do is to count (Abadi et al.,
"TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hybridnet.graph.evaluate import infer_types
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.ops.call import Types
from hybridnet.passes.cost import operations
from hybridnet.passes.partition import Part, RecvCall, SendCall, Transfer
from hybridnet.passes.pieces import Piece, pieces_of

from . import observe
from .device import Device
from .graph_call import GraphCall, shared_call
from .segment import Code

__all__ = ["DevicePlan", "Program"]

# Programs of no more operations and bytes than these are light: once they are compiled, running one
# takes no longer than handing it to another thread.
_LIGHT_OPERATIONS: Final = 1e5
_LIGHT_BYTES: Final = 1 << 16
# And from these on, about a millisecond's work, other devices had better not wait for all of it.
_HEAVY_OPERATIONS: Final = 3e7
_HEAVY_BYTES: Final = 1 << 23


@final
@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A piece of a part, as a program of its device.

    Attributes:
        number: its place in its plan.
        call: the piece as a call.
        code: the structure that runs it.
        scalars: the numbers it takes; or `HostScalar`s of the whole graph, to be given.
        graph: the piece itself, with its own names, where the call's are those of any graph of
            this structure.
        reads: the slots it takes, each once.
        makes: the slots it fills.
        urgency: microseconds from its start to the end of the run by the cost model, at the least.
        light: whether it takes no longer than handing it to another thread.
    """

    number: int
    call: GraphCall
    code: Code
    scalars: tuple[Any, ...]
    graph: Graph
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    urgency: int
    light: bool

    @property
    def nodes(self) -> list[Node]:
        """What it computes."""
        return [node for node in self.graph.nodes if node.call is not None]

    @property
    def title(self) -> str:
        """What traces call it: its device and some of its nodes."""
        names = [node.name for node in self.nodes]
        rest = f" + {len(names) - 3} more" if len(names) > 3 else ""
        return f"{self.code.ctx}: {', '.join(names[:3])}{rest}"


@final
class DevicePlan:
    """What a device does in each run.

    Attributes:
        device: which.
        programs: each after those of this device that it reads.
        readers: for each slot the programs that read it.
        sends: slot -> where it is sent.
        receives: (slot, what is received).
        feeds: (number of an input of the whole graph, slot).
        results: slot -> the numbers of the outputs of the whole graph that it is.
        warm: the programs that have run before, by number.
    """

    def __init__(
        self,
        part: Part,
        device: Device,
        input_types: Types,
        ranks: Mapping[Node, float],
    ) -> None:
        self.device = device
        self._slots: dict[Edge, int] = {}
        self.readers: list[list[int]] = []
        self.sends: dict[int, list[Transfer]] = {}
        self.results: dict[int, list[int]] = {}
        self.warm: set[int] = set()
        types = infer_types(part.graph, [input_types[number] for number in part.inputs])
        self.feeds = [
            (number, self._slot(Edge(node, 0)))
            for number, node in zip(part.inputs, part.graph.inputs, strict=True)
        ]
        self.receives: list[tuple[int, Transfer]] = []
        for node in part.receives:
            assert isinstance(node.call, RecvCall)
            self.receives.append((self._slot(Edge(node, 0)), node.call.transfer))
        self.programs = [
            self._program(number, piece, types, max(ranks[part.originals[n]] for n in piece.nodes))
            for number, piece in enumerate(pieces_of(part, lambda n: _is_heavy(n, types)))
        ]
        for program in self.programs:
            for slot in program.reads:
                self.readers[slot].append(program.number)
        for node in part.sends:
            assert isinstance(node.call, SendCall)
            self.sends.setdefault(self._slot(node.inputs[0]), []).append(node.call.transfer)
        for number, edge in zip(part.results, part.graph.outputs, strict=False):
            self.results.setdefault(self._slot(edge), []).append(number)

    @property
    def num_slots(self) -> int:
        """How many tensors there are."""
        return len(self.readers)

    def is_quick(self, program: Program) -> bool:
        """Whether starting a program takes no longer than handing it to another thread."""
        if program.call.on_host:
            return False
        # Under a profiler, tasks wait for the end of their program.
        if observe.observer is None and self.device.hands_over(program.code):
            return True
        return program.light and program.number in self.warm

    def _slot(self, edge: Edge) -> int:
        found = self._slots.get(edge)
        if found is None:
            found = self._slots[edge] = len(self._slots)
            self.readers.append([])
        return found

    def _program(
        self,
        number: int,
        piece: Piece,
        types: Mapping[Node, Types],
        rank: float,
    ) -> Program:
        inputs = tuple(types[edge.node][edge.index] for edge in piece.reads)
        call, scalars = shared_call(piece.graph, inputs, _name(piece), len(piece.makes))
        operands = tuple(range(-1, ~len(inputs), -1))
        outputs = tuple(range(len(piece.makes)))
        code = Code(self.device.context, ((call, operands),), inputs, outputs, ())
        return Program(
            number,
            call,
            code,
            scalars,
            piece.graph,
            tuple(map(self._slot, piece.reads)),
            tuple(map(self._slot, piece.makes)),
            int(1e6 * rank),
            not call.on_host and _is_light(piece.nodes, types),
        )


def _name(piece: Piece) -> str:
    """Returns a name for a piece that all of its structure have: some of its operators."""
    names = list(dict.fromkeys(node.call.name for node in piece.nodes if node.call is not None))
    return ", ".join(names[:3]) + (f" + {len(names) - 3} more" if len(names) > 3 else "")


def _is_light(nodes: Sequence[Node], types: Mapping[Node, Types]) -> bool:
    work, moved = _load(nodes, types)
    return work <= _LIGHT_OPERATIONS and moved <= _LIGHT_BYTES


def _is_heavy(nodes: Sequence[Node], types: Mapping[Node, Types]) -> bool:
    work, moved = _load(nodes, types)
    return work >= _HEAVY_OPERATIONS or moved >= _HEAVY_BYTES


def _load(nodes: Sequence[Node], types: Mapping[Node, Types]) -> tuple[float, float]:
    """Returns the operations of some nodes, and the bytes that they read and write."""
    work = moved = 0.0
    for node in nodes:
        assert node.call is not None
        inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
        work += operations(node.call, inputs, types[node])
        moved += sum(kind.nbytes for kind in (*inputs, *types[node]))
    return work, moved
