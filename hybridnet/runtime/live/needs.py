"""The peak memory of a launch: which results are there at once when most memory is used.

XLA says how much a compiled program allocates, but not for whom. So this goes over the operators of
the launch in their order, those inside of graphs as well, and keeps each result until its last
reader. XLA does without some of these results (it fuses operators), so that the sum may be larger
than what is allocated; it tells who needs the most, and what grows with the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from hybridnet import engine
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import ControlCall, Graph
from hybridnet.ops.core import Call

from ..segments.code import Code

__all__ = ["MadeInLaunch", "Peak", "peak_of"]

# Operators whose results have the memory of their input, on NumPy and in XLA.
_SAME: Final = frozenset({"Reshape", "reshape", "Flatten", "expand_dims", "squeeze", "BlockGrad"})


class MadeInLaunch(NamedTuple):
    """A result of an operator in a launch.

    Attributes:
        call: the name of the operator.
        type: shape and dtype.
        origin: the user's line that called the operator; None where that was not noted.
    """

    call: str
    type: TensorType
    origin: engine.Origin | None


class Peak(NamedTuple):
    """The moment at which a launch uses the most memory beside its inputs.

    Attributes:
        nbytes: how much, with memory of its own for each result.
        alive: the results that are there then, the largest first.
        made: all results of the launch, in the order in which they are made.
    """

    nbytes: int
    alive: Sequence[MadeInLaunch]
    made: Sequence[MadeInLaunch]


def peak_of(code: Code, origins: Mapping[int, engine.Origin | None]) -> Peak:
    """Returns the moment at which a launch uses the most memory.

    Args:
        code: its structure.
        origins: where its instructions were recorded, by the numbers of their first results.
    """
    walk = _Walk()
    inputs = [*map(_Value, code.input_types)]
    results: list[_Value] = []
    for call, operands in code.instructions:
        given = [results[i] if i >= 0 else inputs[~i] for i in operands]
        results += walk.add(call, given, origins.get(len(results)))
    for number in code.outputs:
        walk.read(results[number])
    return _peak(walk, walk.last)


class _Value(NamedTuple):
    """An input or a result on the way.

    Attributes:
        type: shape and dtype.
        memory: the number of the result whose memory it has; None of what is given.
    """

    type: TensorType
    memory: int | None = None


class _Walk:
    """Operators in their order, with those inside of graphs, loops and branches among them.

    Attributes:
        made: the results; each has a number, its place here.
        born: at which step each was made.
        last: the last step that reads a result.
        steps: how many operators there were.
    """

    def __init__(self) -> None:
        self.made: list[MadeInLaunch] = []
        self.born: list[int] = []
        self.last: dict[int, int] = {}
        self.steps = 0

    def add(
        self, call: Call, operands: Sequence[_Value], origin: engine.Origin | None
    ) -> Sequence[_Value]:
        """Adds a call; returns its results."""
        graph = getattr(call, "graph", None)
        if call.has_parts and isinstance(graph, Graph) and len(graph.inputs) == len(operands):
            return self._add_graph(graph, operands, origin)
        for value in operands:
            self.read(value)
        types = tuple(value.type for value in operands)
        kinds = call.infer(types)
        if call.name in _SAME:
            self.steps += 1
            return [_Value(kinds[0], operands[0].memory)]
        if isinstance(call, ControlCall) and not call.is_open:
            inside = [*map(_Value, call.part_types(types))]
            for part in call.parts:  # what one turn makes is gone in the next
                self._add_graph(part.graph, inside, origin)
        results = []
        for kind in kinds:
            results.append(_Value(kind, len(self.made)))
            self.made.append(MadeInLaunch(call.name, kind, origin))
            self.born.append(self.steps)
        self.steps += 1
        return results

    def read(self, value: _Value) -> None:
        """Notes that the next operator reads a value."""
        if value.memory is not None:
            self.last[value.memory] = self.steps

    def _add_graph(
        self, graph: Graph, operands: Sequence[_Value], origin: engine.Origin | None
    ) -> list[_Value]:
        known: dict[Any, Sequence[_Value]] = {
            node: (value,) for node, value in zip(graph.inputs, operands, strict=True)
        }
        for node in graph.nodes:
            if node.call is not None:
                given = [known[edge.node][edge.index] for edge in node.inputs]
                known[node] = self.add(node.call, given, node.origin or origin)
        return [known[edge.node][edge.index] for edge in graph.outputs]


def _peak(walk: _Walk, last: Mapping[int, int]) -> Peak:
    change = [0] * (walk.steps + 2)
    for number, (made, born) in enumerate(zip(walk.made, walk.born, strict=True)):
        change[born] += made.type.nbytes
        change[last.get(number, born) + 1] -= made.type.nbytes
    most = size = step = 0
    for number, by in enumerate(change):
        size += by
        if size > most:
            most, step = size, number
    alive = [
        made
        for number, (made, born) in enumerate(zip(walk.made, walk.born, strict=True))
        if born <= step <= last.get(number, born)
    ]
    alive.sort(key=lambda one: -one.type.nbytes)
    return Peak(most, alive, walk.made)
