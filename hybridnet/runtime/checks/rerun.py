"""A launch is run again, operator by operator, from its inputs, while somebody looks on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.host_array import HostArray
from hybridnet.base.origins import CallSite
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import ControlCall, Graph, Node, watching_nodes
from hybridnet.ops.core import Call
from hybridnet.ops.host import NoHostForm, by_jax, by_numpy

from ..programs.cache import cache
from ..segments.code import Code

__all__ = ["Cell", "RerunStep", "rerun"]


@final
class Cell:
    """An array on its way through a launch, and what who looks on has noted of it.

    Attributes:
        array: NumPy's.
        note: anything.
    """

    __slots__ = ("array", "note")

    def __init__(self, array: Any, note: Any = None) -> None:
        self.array = array
        self.note = note


class RerunStep(NamedTuple):
    """One operator of a launch as it was run again.

    Attributes:
        call: the operator.
        inputs, outputs: the arrays; what is noted of the outputs goes on with them.
        scalars: the numbers that it took.
        place: where it was called.
        inside: the steps of the turns of a loop, or of a branch, that it is; empty for others.
    """

    call: Call
    inputs: Sequence[Cell]
    outputs: Sequence[Cell]
    scalars: Sequence[float]
    place: CallSite
    inside: Sequence[RerunStep] = ()


Look = Callable[[RerunStep], None]


def rerun(
    code: Code,
    inputs: Sequence[Any],
    scalars: Sequence[float],
    lines: Mapping[int, engine.Origin | None],
    look: Look,
    begin: Callable[[Sequence[Cell]], None] = lambda inputs: None,
) -> list[Cell]:
    """Runs a launch again, operator by operator.

    Args:
        code: its structure.
        inputs: the arrays that it was given.
        scalars: the numbers that it was given.
        lines: where its instructions were recorded, by the numbers of their first results.
        look: called after each operator, in the order in which they run.
        begin: called before the first with the inputs.

    Returns:
        Its outputs.
    """
    results: list[Cell] = []
    given = [Cell(in_host_memory(array)) for array in inputs]
    begin(given)
    position = 0
    for call, operands in code.instructions:
        numbers = scalars[position : position + call.num_scalars]
        position += call.num_scalars
        place = CallSite(lines.get(len(results)))
        cells = [results[i] if i >= 0 else given[~i] for i in operands]
        results += _run(code.ctx, call, cells, numbers, place, look)
    return [results[i] for i in code.outputs]


def in_host_memory(array: Any) -> Any:
    """Returns an array of JAX's, or a `HostArray`, as NumPy's."""
    return array.numpy if type(array) is HostArray else np.asarray(array)


def _run(
    ctx: Context,
    call: Call,
    inputs: Sequence[Cell],
    scalars: Sequence[float],
    place: CallSite,
    look: Look,
) -> list[Cell]:
    graph = getattr(call, "graph", None)
    if graph is not None:
        numbers = dict(zip(call.hosts, scalars, strict=True))  # type: ignore[attr-defined]
        return _run_graph(ctx, graph, inputs, numbers, place, look)
    inside: list[RerunStep] = []
    arrays = [cell.array for cell in inputs]
    if isinstance(call, ControlCall):
        made = _run_control(ctx, call, arrays, scalars, place, inside)
    else:
        made = _compute(ctx, call, arrays, scalars)
    outputs = [Cell(array) for array in made]
    look(RerunStep(call, inputs, outputs, scalars, place, inside))
    return outputs


def _run_graph(
    ctx: Context,
    graph: Graph,
    inputs: Sequence[Cell],
    numbers: Mapping[HostScalar, float],
    outer: CallSite,
    look: Look,
) -> list[Cell]:
    known: dict[Node, Sequence[Cell]] = {
        node: (cell,) for node, cell in zip(graph.inputs, inputs, strict=True)
    }
    left = _uses(graph)
    called = outer.outer or outer.origin
    for node in graph.nodes:
        if node.call is None:
            continue
        cells = [known[edge.node][edge.index] for edge in node.inputs]
        own = [float(numbers[x] if type(x) is HostScalar else x) for x in node.scalars]
        place = CallSite(node.origin or called, called, node.name, outer.turn)
        known[node] = _run(ctx, node.call, cells, own, place, look)
        for edge in node.inputs:
            left[edge.node] -= 1
            if not left[edge.node]:
                del known[edge.node]  # a network need not lie in memory as a whole
    return [known[edge.node][edge.index] for edge in graph.outputs]


def _uses(graph: Graph) -> dict[Node, int]:
    """Returns how often each node's results are read; what comes out of the graph, once more."""
    count = dict.fromkeys((*graph.inputs, *graph.nodes), 0)
    for node in graph.nodes:
        for edge in node.inputs:
            count[edge.node] += 1
    for edge in graph.outputs:
        count[edge.node] += 1
    return count


def _compute(
    ctx: Context, call: Call, arrays: Sequence[Any], scalars: Sequence[float]
) -> list[Any]:
    """Computes one operator by itself: by NumPy where it can, else by a program."""
    if ctx.device_type == "cpu":
        try:
            numbers = [*map(np.float64, scalars)]
            return [*map(np.asarray, by_numpy(call.evaluate, arrays, numbers))]
        except (NoHostForm, NotImplementedError):
            pass
    types = tuple(tensor_type(array.shape, array.dtype) for array in arrays)
    program, _ = cache.part(ctx, call, types)
    inputs: list[Any] = [HostArray(array) for array in arrays]
    return [*map(in_host_memory, by_jax(program.run, inputs, [*scalars]))]


def _run_control(
    ctx: Context,
    call: ControlCall,
    arrays: Sequence[Any],
    scalars: Sequence[float],
    outer: CallSite,
    inside: list[RerunStep],
) -> list[Any]:
    """Runs a loop or a branch; adds the steps of its turns to a list, where NumPy can run them."""
    turns: dict[Node, int] = {}
    called = outer.outer or outer.origin

    def note(node: Node, operands: Sequence[Any], own: Any, made: Sequence[Any]) -> None:
        turns[node] = turn = turns.get(node, -1) + 1
        place = CallSite(node.origin or called, called, node.name, turn)
        cells = [Cell(array) for array in operands], [Cell(array) for array in made]
        assert node.call is not None
        inside.append(RerunStep(node.call, *cells, [*map(float, own or ())], place))

    numbers = [*map(np.float64, scalars)]
    try:
        with watching_nodes(note):
            return [*map(np.asarray, by_numpy(call.evaluate, arrays, numbers))]
    except (NoHostForm, NotImplementedError):
        inside.clear()
        return _compute(ctx, call, arrays, scalars)
