"""From a request to programs: what is pruned, resolved, placed and compiled for a run.

A `RunStep` is made once for each request (what is fetched, what runs, what is fed), and in it a
`SessionProgram` for each combination of types that it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import (
    STATE,
    Edge,
    Graph,
    Node,
    Prepared,
    infer_types,
    names_devices,
    prepare,
    structure_of,
    topological,
    with_open_scalars,
)
from hybridnet.passes import asked_for, on_devices, place, pruned
from hybridnet.runtime.calls import GraphCall, PreparedCall, shared_call
from hybridnet.runtime.placing import (
    PartitionedCall,
    device_at,
    devices_with,
    find_device,
    full_name,
    sites_of,
)

from .held import asking, resolve_held

__all__ = [
    "LateCalls",
    "Ready",
    "Request",
    "RunStep",
    "SessionProgram",
    "TypeOf",
    "made_for_types",
    "make_program",
    "make_ready",
    "make_step",
    "register_late_calls",
]

T = TypeVar("T")
#: Gives the type of an input.
TypeOf = Callable[[Node], TensorType]
#: The name of a run, in messages and traces.
_NAME: Final = "session"


class Request(NamedTuple):
    """The outputs, targets and feeds of a run.

    Attributes:
        outputs: values to compute.
        targets: nodes to run, whether or not an output needs them.
        feeds: values that are given.
        train: whether it is a training pass.
    """

    outputs: tuple[Edge, ...]
    targets: tuple[Node, ...]
    feeds: tuple[Edge, ...]
    train: bool = False


def _checked(graph: Graph, types: Sequence[TensorType]) -> Graph:
    infer_types(graph, types)
    return graph


class LateCalls(NamedTuple):
    """Replaces calls that only types and values decide, as a front end may put into graphs.

    Attributes:
        needed_values: the inputs of a graph whose values `resolve` needs.
        resolve: from a graph, types of its inputs and those values to a graph of which the types
            of all nodes can be inferred.
        expanded: from a prepared graph and the types of its inputs to the graph that runs; checks
            the types of all nodes.
    """

    needed_values: Callable[[Graph], tuple[Node, ...]] = lambda graph: ()
    resolve: Callable[[Graph, Iterable[TensorType], Mapping[Node, NumpyArray]], Graph] = (
        lambda graph, types, values: graph
    )
    expanded: Callable[[Graph, Sequence[TensorType]], Graph] = _checked


_late = LateCalls()


def register_late_calls(late: LateCalls) -> None:
    """Registers how the calls of a front end are replaced; there is one that has some."""
    global _late
    _late = late


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class RunStep:
    """A request, pruned, with the programs that were made of it.

    Attributes:
        request: what is asked for.
        graph: the part of the graph that runs; its last inputs are what is fed.
        asks: variables of which it matters whether they have a value.
        values: inputs, by number, whose values decide shapes.
        exclusive: whether it may change variables or draw random numbers, and so runs while no
            other such step of the session does. What waits on the host for others never is.
        programs: by types of the inputs (None where there is no value) and `values`.
        prepared: what the last graph was prepared to, as most steps are for all types alike.
    """

    request: Request
    graph: Graph
    asks: tuple[Node, ...]
    values: tuple[int, ...]
    exclusive: bool
    programs: dict[Any, SessionProgram] = field(default_factory=dict)
    prepared: list[tuple[Graph, Prepared]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class SessionProgram:
    """A compiled request.

    Attributes:
        call: from the inputs in `reads` (and the random state) to the outputs, then the new values
            of what is written (and the new random state).
        scalars: the numbers that it takes beside.
        reads: the step's inputs that it reads, by number.
        draws: whether the random state is its last input, and output.
        writes: the variables that it gives new values.
        num_heads: how many outputs were asked for.
        ctx: where it runs; of several devices where nodes run that nothing is said of.
        contexts: of its inputs.
        results: the contexts of its outputs.
        parts: what runs it on several devices; None on one.
        prepared: what runs it again, once it is compiled.
        takes_arrays_of_numpy: whether it is given these as they are.
    """

    call: GraphCall
    scalars: tuple[Any, ...]
    reads: tuple[int, ...]
    draws: bool
    writes: tuple[Node, ...]
    num_heads: int
    ctx: Context
    contexts: tuple[Context, ...]
    results: tuple[Context, ...]
    parts: PartitionedCall | None
    prepared: PreparedCall | None = None
    takes_arrays_of_numpy: bool = True


class _Where(NamedTuple):
    """The devices that a graph runs on.

    Attributes:
        home: where all runs; on several devices, where nodes run that nothing is said of.
        devices: of each node the name of its device; None where all are on `home`.
        contexts: of the devices, by name.
    """

    home: Context
    devices: Mapping[Node, str] | None
    contexts: Mapping[str, Context]


def make_step(request: Request) -> RunStep:
    """Prunes the graph to a request.

    Raises:
        GraphError: there is a cycle.
    """
    # What is fed may be nothing that the outputs depend on.
    edges = (*request.outputs, *request.feeds)
    nodes = topological(edges, request.targets)
    whole = Graph(tuple(node for node in nodes if node.is_variable), edges, request.targets)
    graph = pruned(whole, request.outputs, request.feeds, request.targets)
    calls = [node.call for node in graph.nodes if node.call is not None]
    numbers = {node: number for number, node in enumerate(graph.inputs)}
    changes = any(call.mutates or call.takes_state for call in calls)
    return RunStep(
        request,
        graph,
        asking(graph),
        tuple(numbers[node] for node in _late.needed_values(graph)),
        changes and not any(call.on_host for call in calls),
    )


class Ready(NamedTuple):
    """A step for some types of its inputs, before it is placed.

    Attributes:
        graph: from the inputs in `reads` (and the random state) to the outputs, then the new values
            of what is written (and the new random state).
        types: of its inputs.
        reads: the step's inputs that it reads, by number.
        draws: whether the random state is its last input, and output.
        writes: the variables that it gives new values.
        num_heads: how many outputs were asked for.
    """

    graph: Graph
    types: tuple[TensorType, ...]
    reads: tuple[int, ...]
    draws: bool
    writes: tuple[Node, ...]
    num_heads: int


def made_for_types(
    step: RunStep,
    types: Mapping[Node, TensorType | None],
    guess: Callable[[Node], TensorType | None],
    missing: Callable[[Node], MXNetError],
    make: Callable[[TypeOf, TypeOf], T],
) -> T:
    """Makes something of a step for the types of its inputs, of which some have no value.

    Args:
        step: what is to run.
        types: of the inputs; None where there is no value.
        guess: the type that an input's value would have, where that is known.
        missing: the error for an input that has no value.
        make: from what gives an input's type, and raises where there is none, and what gives the
            type that an input has or would have.

    Raises:
        MXNetError: a value is missing, or `make` raises.
    """

    def type_of(node: Node) -> TensorType:
        kind = types[node]
        if kind is None:
            raise missing(node)
        return kind

    def expected(node: Node) -> TensorType:
        return types[node] or guess(node) or tensor_type((), np.dtype("float32"))

    try:
        return make(type_of, expected)
    except MXNetError:
        # Types of missing values were guessed: if one was, that is what is wrong.
        for node in _unwritten(step):
            type_of(node)
        raise


def make_ready(
    step: RunStep,
    type_of: TypeOf,
    expected: TypeOf,
    values: Mapping[Node, NumpyArray],
    is_held: Callable[[Node], bool],
) -> Ready:
    """Resolves and prepares a step; the arguments are those of `make_program`.

    Raises:
        ShapeError, DTypeError, GraphError: a node does not fit; the message names it and its line.
    """
    graph = resolve_held(step.graph, is_held) if step.asks else step.graph
    graph = _late.resolve(graph, (expected(node) for node in graph.inputs), values)
    ready = _prepared(step, graph)
    inputs, state = graph.inputs, ready.graph.inputs[len(graph.inputs) :]
    needed = set(ready.graph.nodes)
    reads = tuple(number for number, node in enumerate(inputs) if node in needed)
    types = (*(type_of(inputs[number]) for number in reads), *[STATE] * ready.draws)
    made = _late.expanded(
        Graph(
            (*(inputs[number] for number in reads), *state),
            ready.graph.outputs,
            ready.graph.targets,
        ),
        types,
    )
    writes = tuple(inputs[number] for number in ready.writes if number < len(inputs))
    return Ready(made, types, reads, ready.draws, writes, ready.num_heads)


def _prepared(step: RunStep, graph: Graph) -> Prepared:
    for one, ready in step.prepared:
        if one is graph:
            return ready
    ready = prepare(graph, step.request.train)
    step.prepared[:] = [(graph, ready)]
    return ready


def make_program(
    step: RunStep,
    type_of: TypeOf,
    expected: TypeOf,
    values: Mapping[Node, NumpyArray],
    held: Mapping[Node, Context],
    home: Context,
    soft: bool,
) -> SessionProgram:
    """Makes what runs a step.

    Args:
        step: what is to run.
        type_of: the type of an input's value; raises where there is none.
        expected: the type that an input's value has, or would have.
        values: of the inputs that decide shapes.
        held: where the values of variables are.
        home: where nodes run that nothing is said of.
        soft: whether nodes that cannot be on their device are put on another.

    Raises:
        ShapeError, DTypeError, GraphError: a node does not fit; the message names it and its line.
    """
    ready = make_ready(step, type_of, expected, values, held.__contains__)
    made, types, reads, writes = ready.graph, ready.types, ready.reads, ready.writes
    where = _placed(made, held, home, soft)
    count = len(made.outputs)
    parts = None
    if where.devices is None:
        call, scalars = shared_call(made, types, _NAME, count)
        contexts, results = (where.home,) * len(types), (where.home,) * count
    else:
        placed = on_devices(made, where.devices)
        call, scalars = GraphCall(with_open_scalars(placed), types, _NAME), structure_of(made)[1]
        contexts = tuple(where.contexts[where.devices[node]] for node in made.inputs)
        wanted: list[Context | None] = [None] * ready.num_heads
        wanted += [_home_of(node, held, where.home) for node in writes]
        wanted += [where.home] * ready.draws
        parts = PartitionedCall(call, contexts, wanted, where.home)
        results = parts.contexts
    return SessionProgram(
        call,
        scalars,
        reads,
        ready.draws,
        writes,
        ready.num_heads,
        where.home,
        contexts,
        results,
        parts,
    )


def _unwritten(step: RunStep) -> list[Node]:
    """Returns the inputs that must have values, since nothing in the step gives them one."""
    written = {
        node.inputs[position].node
        for node in step.graph.nodes
        if node.call is not None
        for position in node.call.updates
    }
    return [node for node in step.graph.inputs if node not in written and node not in step.asks]


def _home_of(variable: Node, held: Mapping[Node, Context], home: Context) -> Context:
    """Returns where the value of a variable is kept."""
    if variable in held:
        return held[variable]
    name = variable.attrs.get(DEVICE)
    try:
        return home if name is None else find_device(name).context
    except MXNetError:
        return home  # soft placement has put on another device what is on none of ours


def _placed(graph: Graph, held: Mapping[Node, Context], home: Context, soft: bool) -> _Where:
    """Chooses the devices of a graph's nodes."""
    away = {node: held[node] for node in graph.inputs if held.get(node, home) is not home}
    inside = names_devices(graph)
    if not (away or inside or any(DEVICE in node.attrs for node in graph.nodes)):
        return _Where(home, None, {})
    devices = list(dict.fromkeys([device_at(home), *devices_with(asked_for(graph))]))
    fixed = {node: str(full_name(held[node])) for node in graph.inputs if node in held}
    found = place(graph, sites_of(devices), default=str(full_name(home)), fixed=fixed, soft=soft)
    contexts = {str(device.name): device.context for device in devices}
    if len(found.used) == 1 and not inside:
        return _Where(contexts[found.used[0]], None, {})
    return _Where(home, found.devices, contexts)
