"""Calls that hold graphs: what `foreach`, `while_loop` and `cond` have in common.

Such a call is one node of the graph around it. What is inside is a `Part`: a graph whose numbers
are given by the call, so that one program serves all of them.

A call that a symbol holds is open: its operators' mode is not known, and random states and arrays
that are overwritten do not show (see `transform`). `with_train` closes it: then these are carried
from step to step like the states that users see, come out after them, and the gradient and the
lowering know nothing of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar, final
from weakref import WeakValueDictionary

from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import GraphError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.call import Call, Types
from hybridnet.ops.state_ops import READ

from .evaluate import evaluate, host_scalars_of, infer_types
from .node import Edge, Graph, variable
from .structure import structure_of, with_open_scalars
from .transform import prepare

__all__ = ["ControlCall", "Part", "closed", "opened", "shared", "type_of"]


@final
@dataclass(frozen=True, eq=False)
class Part:
    """A graph inside a call.

    Attributes:
        graph: its inputs are those of the call, or stand for parts of these.
        places: which of the call's numbers stands for a number in the graph.
    """

    graph: Graph
    places: Mapping[HostScalar, int]

    @cached_property
    def key(self) -> Any:
        """What is equal for parts that do the same."""
        structure, scalars = structure_of(self.graph)
        return structure, tuple(self._number(one) for one in scalars)

    def _number(self, one: Any) -> Any:
        return ("given", self.places[one]) if type(one) is HostScalar else float(one)

    def run(self, platform: str, inputs: Sequence[Any], scalars: Sequence[Any]) -> list[Any]:
        """Computes the outputs with JAX."""
        numbers = {one: scalars[place] for one, place in self.places.items()}
        return evaluate(self.graph, platform, inputs, numbers)

    def infer(self, types: Sequence[TensorType]) -> Types:
        """Returns the types of the outputs."""
        found = infer_types(self.graph, types)
        return tuple(found[edge.node][edge.index] for edge in self.graph.outputs)

    @cached_property
    def reads_now(self) -> frozenset[int]:
        """The inputs, by number, that nodes of an open part read as they are when these run."""
        numbers = {node: number for number, node in enumerate(self.graph.inputs)}
        sources = {
            node.inputs[position].node
            for node in self.graph.nodes
            if node.call is not None
            for position in ((0,) if node.call is READ else node.call.reads_now)
        }
        return frozenset(numbers[node] for node in sources if node in numbers)

    def facts(self) -> Any:
        """Returns what `fingerprint` needs; None where it cannot be told."""
        (inputs, nodes, outputs, order), numbers = self.key
        calls = [(call.fingerprint, edges) for call, edges in nodes]
        if any(one is None for one, _ in calls):
            return None
        return (inputs, calls, outputs, order, numbers)


def opened(*graphs: Graph) -> tuple[tuple[Part, ...], tuple[Any, ...]]:
    """Returns parts whose numbers are given from outside, and the numbers that the graphs had."""
    parts: list[Part] = []
    numbers: list[Any] = []
    for graph in graphs:
        made = with_open_scalars(graph)
        start = len(numbers)
        numbers += structure_of(graph)[1]
        hosts = host_scalars_of(made)
        parts.append(Part(made, {one: start + i for i, one in enumerate(hosts)}))
    return tuple(parts), tuple(numbers)


def closed(part: Part, train: bool, written: Sequence[int], draws: bool) -> tuple[Part, list[int]]:
    """Settles the mode of a part, and makes what it overwrites outputs of it.

    Args:
        part: an open one.
        train: whether it runs in a training pass.
        written: which inputs get an output for their new value, after the graph's own outputs;
            where the part does not overwrite one, it is the old value.
        draws: whether the state of the random generator is to be the last input and output.

    Returns:
        The part, and those of `written` that it really overwrites.
    """
    ready = prepare(part.graph, train)
    inputs, outputs = ready.graph.inputs, list(ready.graph.outputs)
    heads = outputs[: ready.num_heads]
    new = dict(zip(ready.writes, outputs[ready.num_heads :], strict=True))
    count = len(part.graph.inputs)
    if draws and not ready.draws:
        inputs = (*inputs, variable("random_state"))
    carried = [*written, count] if draws else list(written)
    heads += [new.get(number, Edge(inputs[number], 0)) for number in carried]
    return Part(Graph(inputs, tuple(heads)), part.places), [i for i in written if i in new]


class ControlCall(Call):
    """A call that holds parts.

    Attributes:
        parts: what is inside.
        is_open: whether the mode of its operators is not known.
    """

    #: How many inputs of the call stand before those that its parts take.
    offset = 0
    __slots__ = ("_closed", "is_open", "parts")

    def __init__(self, parts: tuple[Part, ...], num_scalars: int, is_open: bool) -> None:
        self.parts = parts
        self.num_scalars = num_scalars
        self.is_open = is_open
        self._closed: dict[bool, Call] = {}

    @property
    def reads_now(self) -> frozenset[int]:  # type: ignore[override]  # as `weight`
        """What nodes inside read as it is when they run; of a closed call that is settled."""
        parts = self.parts if self.is_open else ()
        return frozenset(self.offset + number for part in parts for number in part.reads_now)

    @property
    def weight(self) -> int:  # type: ignore[override]  # a class attribute of other calls
        """The number of operators inside."""
        nodes = (node for part in self.parts for node in part.graph.nodes)
        return 1 + sum(node.call.weight for node in nodes if node.call is not None)

    def facts(self) -> Sequence[Any] | None:
        """What is inside, and how it is run."""
        parts = [part.facts() for part in self.parts]
        if any(one is None for one in parts) or self.is_open:
            return None
        return (*parts, self.layout(), self.num_scalars)

    @abstractmethod
    def layout(self) -> tuple[Any, ...]:
        """Returns how it is run: numbers, flags and tuples of them."""

    def with_train(self, train: bool) -> Call:
        """Returns the call in, or out of, a training pass; itself where that is settled."""
        if not self.is_open:
            return self
        if train not in self._closed:
            self._closed[train] = self.close(train)
        return self._closed[train]

    @abstractmethod
    def close(self, train: bool) -> Call:
        """Makes the call in, or out of, a training pass."""

    def __repr__(self) -> str:
        inside = ", ".join(f"{len(part.graph.nodes)} nodes" for part in self.parts)
        return f"{self.name}[{inside}]"


_Made = TypeVar("_Made", bound=ControlCall)
_shared: Final[WeakValueDictionary[Any, Any]] = WeakValueDictionary()


def shared(call: _Made) -> _Made:
    """Returns the one call that does what this one does: programs are found by their identity."""
    key = (type(call), call.layout(), call.num_scalars, *(part.key for part in call.parts))
    made: _Made = _shared.setdefault(key, call)
    return made


def type_of(handle: Any, name: str) -> TensorType:
    """Returns the type of an input that a gradient is taken of.

    Raises:
        GraphError: it is not known yet.
    """
    found: TensorType | None = handle.type
    if found is None:
        raise GraphError(
            f"{name}: its gradient needs the shapes of its inputs; give them to the variables "
            '(var("x", shape=...)), or bind the symbol'
        )
    return found
