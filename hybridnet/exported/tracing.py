"""From a function, block or symbol to the graph that is exported, and what goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hybridnet.autograd import pause
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.graph import Edge, Graph, Moves, Node, variable
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Types
from hybridnet.ops.core.registry import get
from hybridnet.runtime.calls import GraphCall, GraphPrograms
from hybridnet.runtime.recording import generator
from hybridnet.symbol import Symbol
from hybridnet.tracing import Arguments, Output, Outside, Plan, build, flatten, unflatten

from .manifest import pack


class Traced(NamedTuple):
    """A function as a graph of the arrays it finds outside, and of its arguments.

    Attributes:
        graph: its inputs are the parameters, then the arguments; its outputs the results, then
            the new values of the parameters in `updates`.
        types: of the inputs.
        parameters: what the function found outside.
        results: the structure of the results, packed.
        num_results: how many outputs are results.
        updates: the parameters, by number, that it overwrites.
        random: those that are states of random generators.
    """

    graph: Graph
    types: Types
    parameters: list[NDArray]
    results: Any
    num_results: int
    updates: tuple[int, ...]
    random: tuple[int, ...]


def traced(
    function: Callable[..., Any], arrays: Sequence[NDArray], tree: Any, train: bool
) -> Traced:
    """Traces a function.

    Args:
        arrays: what stands for its arguments.
        tree: puts these together.
        train: whether operators behave as in training.

    Raises:
        MXNetError: it does something that an exported program cannot do.
    """
    packed: list[object] = []

    def run(*given: NDArray) -> list[Any]:
        result = function(*unflatten(tree, given))
        leaves = [leaf for leaf in flatten(result)[0] if isinstance(leaf, NDArray)]
        numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
        packed.append(pack(result, lambda item: numbers.get(id(item))))
        copy = get("_copy")  # neither arguments, nor views, nor arrays from outside
        return [NDArray.apply_operator(copy, (leaf,), {}) for leaf in leaves]

    with pause(train_mode=train):
        plan = build(run, Arguments(tuple(array.detach() for array in arrays), {}))
    _refuse(plan)
    return _arranged(plan, arrays, packed[-1])


def _refuse(plan: Plan) -> None:
    """Raises if a function cannot be exported."""
    if plan.sources:
        raise MXNetError(
            "hn.export: the function asks Python for a number at each call (a scheduled learning "
            "rate), which an exported program cannot do"
        )
    for node in plan.graph.nodes:
        if node.call is not None and node.call.on_host:
            raise MXNetError(
                f"hn.export: {node.title} runs Python code, which an exported program cannot do"
            )
    for write in plan.writes:
        if isinstance(write.target, int):
            raise MXNetError(
                "hn.export: the function overwrites one of its arguments; let it return the new "
                "value instead"
            )
        if type(write.output) is not Output:
            raise MXNetError("hn.export: the function sets an array to a constant, such as a seed")


def _arranged(plan: Plan, arrays: Sequence[NDArray], results: object) -> Traced:
    """Puts parameters before arguments, and new values after results."""
    parameters: list[NDArray] = []
    before: list[Node] = []
    own: dict[int, Node] = {}
    for place, node in zip(plan.inputs, plan.graph.inputs, strict=True):
        if isinstance(place, int):
            own[place] = node
        else:
            parameters.append(place.memory if type(place) is Outside else place)
            before.append(node)
    outputs = []
    for part in plan.results:
        assert type(part.source) is Output
        outputs.append(plan.graph.outputs[plan.num_tracked + part.source.index])
    updates, values = [], []
    for write in plan.writes:
        assert isinstance(write.target, Outside) and type(write.output) is Output
        storage = write.target.memory.storage
        numbers = [i for i, param in enumerate(parameters) if param.storage is storage]
        if not numbers:  # it is overwritten, and never read
            numbers = [len(parameters)]
            parameters.append(write.target.memory)
            before.append(variable(f"unread{numbers[0]}"))
        updates.append(numbers[0])
        values.append(plan.graph.outputs[plan.num_tracked + write.output.index])
    arguments = [own.get(i) or variable(f"unused{i}") for i in range(len(arrays))]
    random = [
        i
        for i, param in enumerate(parameters)
        if param.storage is generator.state_of(param.storage.ctx)
    ]
    graph = inlined(Graph((*before, *arguments), (*outputs, *values)))
    new = list(map(_source, graph.outputs[len(outputs) :]))
    real = [k for k, edge in enumerate(new) if edge.node is not before[updates[k]]]
    return Traced(
        Graph(graph.inputs, (*graph.outputs[: len(outputs)], *(new[k] for k in real))),
        (*(param.storage.type for param in parameters), *(array.type for array in arrays)),
        parameters,
        results,
        len(plan.results),
        tuple(updates[k] for k in real),
        tuple(random),
    )


def _source(edge: Edge) -> Edge:
    """Returns where the value of an edge comes from, through operators that leave it as it is.

    Those with auxiliary states give them back unchanged outside training.
    """
    while (call := edge.node.call) is not None:
        kept = [i for i, output in call.mutates.items() if output == edge.index]
        if not kept or call.updates:
            break
        edge = edge.node.inputs[kept[0]]
    return edge


def inlined(graph: Graph, numbers: Mapping[HostScalar, Any] | None = None) -> Graph:
    """Returns a graph with the graphs that are its nodes in their places.

    Args:
        numbers: what stands for numbers in it.
    """
    given = numbers or {}
    moves = Moves()
    for node in graph.nodes:
        if node.call is None:
            continue
        scalars = tuple(
            given[scalar] if type(scalar) is HostScalar else scalar for scalar in node.scalars
        )
        inputs = moves.edges(node.inputs)
        if not isinstance(node.call, GraphCall):
            moves.note(node, replace(node, inputs=inputs, scalars=scalars))
            continue
        inner = inlined(node.call.graph, dict(zip(node.call.hosts, scalars, strict=True)))
        place = {Edge(part, 0): edge for part, edge in zip(inner.inputs, inputs, strict=True)}
        within = Moves(place)
        for part in inner.nodes:
            if part.call is not None:
                within.note(part, within.moved(part))
        moves.note(node, within.edges(inner.outputs))
    return Graph(graph.inputs, moves.edges(graph.outputs))


def symbol_function(symbol: Symbol, params: Mapping[str, NDArray]) -> Callable[..., object]:
    """Returns a symbol as a function of those of its inputs that have no value.

    Args:
        params: the values of others, by name.

    Raises:
        ParameterError: a value is of no input.
    """
    names = symbol.list_inputs()
    unknown = sorted(set(params) - set(names))
    if unknown:
        raise ParameterError(
            f"hn.export: params has {', '.join(unknown)}, which the symbol does not take; it takes "
            f"{', '.join(names)}"
        )
    free = [name for name in names if name not in params]
    programs = GraphPrograms(symbol.graph, symbol.name or "symbol")

    def run(*arrays: NDArray) -> Any:
        given = {**params, **dict(zip(free, arrays, strict=True))}
        inputs = [given[name] for name in names]
        made = programs.inference(tuple(array.type for array in inputs))
        if made.draws:
            inputs.append(NDArray.from_storage(generator.state_of(inputs[0].context)))
        outputs: list[NDArray] = NDArray.apply_call(made.call, inputs, made.scalars)
        for number, output in zip(made.writes, outputs[made.num_heads :], strict=False):
            inputs[number].write(output.read())
        heads = outputs[: made.num_heads]
        return heads[0] if len(heads) == 1 else heads

    return run
