"""Calls that hold graphs: what `foreach`, `while_loop` and `cond` have in common.

Such a call is one node of the graph around it. What is inside is a `Subgraph`: a graph whose
numbers are given by the call, so that one program serves all of them.

A call that a symbol holds is open: its operators' mode is not known, and random states and arrays
that are overwritten do not show (see `transform`). `with_train` closes it: then these are carried
from step to step like the states that users see, come out after them, and the gradient and the
lowering know nothing of them.

A call with nodes inside that run on the host is on the host too: it is no part of a program, but is
run by the executor (`hybridnet.runtime.executor.control_runners`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar, final
from weakref import WeakValueDictionary

import numpy as np

from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.context import Context
from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import MAKING, Arrays, Backward, Call, Scalars, Types
from hybridnet.ops.host import by_jax, jnp
from hybridnet.ops.state import READ

from .evaluate import evaluate, evaluate_on_host, host_scalars_of, infer_types
from .node import Edge, Graph, Node, variable
from .structure import structure_of, with_open_scalars
from .transform import prepare

#: What runs calls that are no part of a program, by kind: set by the runtime, which is above.
RUNNERS: Final[dict[str, Callable[..., list[Any]]]] = {}


#: Types of inputs for which a part remembers those of its nodes.
_KEPT_TYPES: Final = 8


@final
@dataclass(frozen=True, eq=False)
class Subgraph:
    """A graph inside a call.

    Attributes:
        graph: its inputs are those of the call, or stand for parts of these.
        places: which of the call's numbers stands for a number in the graph.
    """

    graph: Graph
    places: Mapping[HostScalar, int]

    @cached_property
    def key(self) -> Any:
        """Equal for parts that do the same."""
        structure, scalars = structure_of(self.graph)
        return structure, tuple(self._number(scalar) for scalar in scalars), self.where

    @cached_property
    def where(self) -> tuple[Any, ...]:
        """The nodes' devices; with names and lines, since such nodes may be run one by one."""
        nodes = [node for node in self.graph.nodes if node.call is not None]
        if not any(DEVICE in node.attrs or node.call.on_host for node in nodes if node.call):
            return ()
        return tuple((node.attrs.get(DEVICE), node.name, node.origin) for node in nodes)

    def _number(self, scalar: Any) -> Any:
        return ("given", self.places[scalar]) if type(scalar) is HostScalar else float(scalar)

    def run(self, platform: str, inputs: Sequence[Any], scalars: Sequence[Number]) -> list[Any]:
        """Computes the outputs with JAX, or on the platform 'host' with NumPy."""
        numbers = {scalar: scalars[place] for scalar, place in self.places.items()}
        if platform == "host":
            return evaluate_on_host(self.graph, self._types_for(inputs), inputs, numbers)
        return evaluate(self.graph, platform, inputs, numbers)

    def _types_for(self, inputs: Sequence[Any]) -> Mapping[Node, Types]:
        """Returns the types of all nodes for these arrays; remembers a few."""
        key = tuple([(array.shape, array.dtype) for array in inputs])
        found = self._types.get(key)
        if found is None:
            if len(self._types) >= _KEPT_TYPES:
                self._types.clear()
            types = [tensor_type(shape, dtype) for shape, dtype in key]
            found = self._types[key] = infer_types(self.graph, types)
        return found

    @cached_property
    def _types(self) -> dict[tuple[Any, ...], Mapping[Node, Types]]:
        return {}

    @cached_property
    def counts(self) -> tuple[Edge, ...]:
        """The outputs of nodes inside that count the turns of loops; see `ControlCall`."""
        return tuple(
            Edge(node, node.call.num_visible)
            for node in self.graph.nodes
            if isinstance(node.call, ControlCall) and node.call.num_unbounded
        )

    @property
    def num_unbounded(self) -> int:
        """The number of loops inside that have no maximum."""
        calls = [edge.node.call for edge in self.counts]
        return sum(call.num_unbounded for call in calls if isinstance(call, ControlCall))

    @cached_property
    def with_counts(self) -> Subgraph:
        """The part with `counts` as further outputs."""
        outputs = (*self.graph.outputs, *self.counts)
        return Subgraph(Graph(self.graph.inputs, outputs, self.graph.targets), self.places)

    def run_counting(
        self, platform: str, inputs: Arrays, scalars: Sequence[Number]
    ) -> tuple[list[Any], Any]:
        """Computes the outputs with JAX, and how often loops inside were run, int32[num_unbounded].

        The latter is None where there are no such loops.
        """
        if not self.counts:
            return self.run(platform, inputs, scalars), None
        made = self.with_counts.run(platform, inputs, scalars)
        count = len(self.graph.outputs)
        return made[:count], jnp.concatenate(made[count:])

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
        (inputs, nodes, outputs, order), numbers, _ = self.key
        calls = [(call.fingerprint, edges) for call, edges in nodes]
        if any(fingerprint is None for fingerprint, _ in calls):
            return None
        return (inputs, calls, outputs, order, numbers)


def opened(*graphs: Graph) -> tuple[tuple[Subgraph, ...], tuple[Any, ...]]:
    """Returns parts whose numbers are given from outside, and the numbers that the graphs had."""
    parts: list[Subgraph] = []
    numbers: list[Any] = []
    for graph in graphs:
        made = with_open_scalars(graph)
        start = len(numbers)
        numbers += structure_of(graph)[1]
        hosts = host_scalars_of(made)
        parts.append(Subgraph(made, {host: start + i for i, host in enumerate(hosts)}))
    return tuple(parts), tuple(numbers)


def closed(
    part: Subgraph, train: bool, written: Sequence[int], draws: bool
) -> tuple[Subgraph, list[int]]:
    """Fixes the mode of a part, and makes what it overwrites outputs of it.

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
    graph = Graph(inputs, tuple(heads), ready.graph.targets)
    return Subgraph(graph, part.places), [i for i in written if i in new]


class ControlCall(Call):
    """A call that holds parts.

    One that is, or has inside, a loop without a maximum has an output more than users know of: how
    often, at most, each such loop was run. It comes after the visible ones. The gradient needs it.

    Args:
        parts: what is inside.
        num_scalars: how many numbers it takes.
        is_open: whether the mode of its operators is not known.
        is_endless: whether it is a loop without a maximum.

    Attributes:
        parts: as given.
        is_open: as given.
        is_endless: as given.
        num_unbounded: how many loops without a maximum it is and has inside.
    """

    #: How many inputs of the call stand before those that its parts take.
    offset = 0
    __slots__ = (
        "_closed",
        "in_order",
        "is_endless",
        "is_open",
        "num_unbounded",
        "on_host",
        "parts",
    )

    def __init__(
        self, parts: tuple[Subgraph, ...], num_scalars: int, is_open: bool, is_endless: bool = False
    ) -> None:
        self.parts = parts
        self.num_scalars = num_scalars
        self.is_open = is_open
        self.is_endless = is_endless
        self.num_unbounded = is_endless + sum(part.num_unbounded for part in parts)
        calls = [node.call for part in parts for node in part.graph.nodes if node.call is not None]
        self.on_host = any(inner.on_host for inner in calls)
        self.in_order = any(inner.in_order for inner in calls)
        self._closed: dict[bool, Call] = {}

    @property
    def reads_now(self) -> frozenset[int]:  # type: ignore[override]  # as `weight`
        """The inputs that nodes inside read as they are when they run; a closed call has none."""
        parts = self.parts if self.is_open else ()
        return frozenset(self.offset + number for part in parts for number in part.reads_now)

    @property
    def weight(self) -> int:  # type: ignore[override]  # a class attribute of other calls
        """The number of operators inside."""
        nodes = (node for part in self.parts for node in part.graph.nodes)
        return 1 + sum(node.call.weight for node in nodes if node.call is not None)

    def facts(self) -> Sequence[object] | None:
        """The parts, and how they are run."""
        parts = [part.facts() for part in self.parts]
        if any(part is None for part in parts) or self.is_open:
            return None
        return (*parts, self.layout(), self.num_scalars)

    @property
    def counts_type(self) -> Types:
        """The type of the output that counts; nothing where there is none."""
        if not self.num_unbounded:
            return ()
        return (tensor_type((self.num_unbounded,), np.dtype(np.int32)),)

    @abstractmethod
    def compute(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the outputs with JAX, or on the platform 'host' with NumPy; see `Call.lower`."""

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Builds the loop or branch with JAX."""
        return by_jax(self.compute, platform, operands, scalars)

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Runs it in Python, node by node by their host forms."""
        return self.compute("host", operands, scalars)

    @abstractmethod
    def layout(self) -> tuple[object, ...]:
        """Returns how it is run: numbers, flags and tuples of them."""

    def with_train(self, train: bool) -> Call:
        """Returns the call in, or out of, a training pass; itself where that is fixed."""
        if not self.is_open:
            return self
        if train not in self._closed:
            self._closed[train] = self.close(train)
        return self._closed[train]

    @abstractmethod
    def close(self, train: bool) -> Call:
        """Makes the call in, or out of, a training pass."""

    @abstractmethod
    def with_parts(self, parts: tuple[Subgraph, ...], limit: int | None = None) -> ControlCall:
        """Returns the call with other parts in the places of its own.

        Args:
            parts: of the same inputs and outputs.
            limit: the maximum of a loop that has none.
        """

    def part_types(self, types: Types) -> Types:
        """Returns the types of what the parts take, from those of the call's inputs."""
        return types[self.offset :]

    def largest_inside(self, types: Types) -> int:
        """Returns the bytes of the largest array that is made inside.

        Args:
            types: of the call's inputs.
        """
        most = 0
        for part in self.parts:
            found = infer_types(part.graph, self.part_types(types))
            most = max(most, *(kind.nbytes for kinds in found.values() for kind in kinds))
            for node in part.graph.nodes:
                if isinstance(node.call, ControlCall):
                    given = tuple(found[edge.node][edge.index] for edge in node.inputs)
                    most = max(most, node.call.largest_inside(given))
        return most

    def is_fixed(self, number: int) -> bool:
        """Whether an input of the parts, by number, is one input of the call, in every turn."""
        return True

    def with_limits(self, limits: Iterator[int]) -> ControlCall:
        """Returns the call with maxima for its loops that have none.

        Args:
            limits: the maxima, in the order in which the loops are counted: a loop before those
                inside it.
        """
        if not self.num_unbounded:
            return self
        limit = next(limits) if self.is_endless else None

        def change(node: Node, inputs: tuple[Edge, ...]) -> Node | list[Edge]:
            call = node.call
            if not isinstance(call, ControlCall) or not call.num_unbounded:
                return node.with_inputs(inputs)
            made = replace(node, call=call.with_limits(limits), inputs=inputs)
            places = [*range(call.num_visible), 0, *range(call.num_visible, call.num_outputs - 1)]
            return [Edge(made, place) for place in places]  # nothing reads the counts

        parts = tuple(Subgraph(part.graph.map(change), part.places) for part in self.parts)
        return self.with_parts(parts, limit)

    def run_on_host(
        self, ctx: Context, values: Arrays, scalars: Scalars, record: object
    ) -> list[Any]:
        """Makes the executor run what is inside, node by node or in larger pieces."""
        return RUNNERS["control"](self, ctx, values, scalars)

    def __repr__(self) -> str:
        inside = ", ".join(f"{len(part.graph.nodes)} nodes" for part in self.parts)
        return f"{self.name}[{inside}]"


def names_devices(graph: Graph) -> bool:
    """Whether a node inside a control call of a graph names another device than the call's node."""
    for node in graph.nodes:
        if not isinstance(node.call, ControlCall):
            continue
        own = node.attrs.get(DEVICE)
        for part in node.call.parts:
            named = (inner.attrs.get(DEVICE, own) for inner in part.graph.nodes)
            if any(name != own for name in named) or names_devices(part.graph):
                return True
    return False


_Made = TypeVar("_Made", bound=ControlCall)
_shared: Final[WeakValueDictionary[Any, Any]] = WeakValueDictionary()


def shared(call: _Made) -> _Made:
    """Returns the one call that does what this one does: programs are found by their identity."""
    key = (type(call), call.layout(), call.num_scalars, *(part.key for part in call.parts))
    with MAKING:  # `setdefault` of a weak dictionary is not one step
        made: _Made = _shared.setdefault(key, call)
    return made


def gradient_types(call: ControlCall, back: Backward, subject: str = "") -> Types:
    """Returns the types of the inputs that a gradient is taken of.

    Args:
        subject: of the message that random numbers are drawn; default the body.

    Raises:
        GraphError: they are not known yet, or the call is open and draws random numbers.
    """
    if call.is_open and call.takes_state:
        raise GraphError(
            f"{subject or f'{call.name}: its body'} draws random numbers, so its gradient can only "
            "be taken of a bound symbol, not as a symbol"
        )
    return tuple(type_of(handle, call.name) for handle in back.inputs)


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
