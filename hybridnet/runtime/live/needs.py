"""What a launch needs while it runs: which results are there at once when most memory is used.

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
from hybridnet.graph import Graph
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
    walk = _Walk(code.input_types)
    numbers: list[int] = []
    for call, operands in code.instructions:
        given = [numbers[i] if i >= 0 else i for i in operands]
        numbers += walk.add(call, given, origins.get(len(numbers)))
    last = dict(walk.last)
    for number in code.outputs:
        last[numbers[number]] = walk.steps
    return _peak(walk, last)


class _Walk:
    """Operators in their order, with those inside of graphs in the place of these.

    Attributes:
        made: the results; each has a number, its place here. Inputs are ``~i``.
        born: at which step each was made.
        last: the last step that reads a result.
        steps: how many operators there were.
    """

    def __init__(self, inputs: Sequence[TensorType]) -> None:
        self._inputs = inputs
        self.made: list[MadeInLaunch] = []
        self.born: list[int] = []
        self.last: dict[int, int] = {}
        self.steps = 0

    def add(
        self, call: Call, operands: Sequence[int], origin: engine.Origin | None
    ) -> Sequence[int]:
        """Adds a call; returns the numbers of its results."""
        graph = getattr(call, "graph", None)
        if call.has_parts and isinstance(graph, Graph) and len(graph.inputs) == len(operands):
            known: dict[Any, Sequence[int]] = {
                node: (number,) for node, number in zip(graph.inputs, operands, strict=True)
            }
            for node in graph.nodes:
                if node.call is not None:
                    given = [known[edge.node][edge.index] for edge in node.inputs]
                    known[node] = self.add(node.call, given, node.origin or origin)
            return [known[edge.node][edge.index] for edge in graph.outputs]
        for number in operands:
            self.last[number] = self.steps
        kinds = call.infer(tuple(map(self._type, operands)))
        if call.name in _SAME and operands[0] >= 0:
            self.steps += 1
            return [operands[0]]
        first = len(self.made)
        for kind in kinds:
            self.made.append(MadeInLaunch(call.name, kind, origin))
            self.born.append(self.steps)
        self.steps += 1
        return range(first, len(self.made))

    def _type(self, number: int) -> TensorType:
        return self.made[number].type if number >= 0 else self._inputs[~number]


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
