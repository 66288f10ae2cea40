"""A launch as a graph that can be shown, and in words how often its structure ran."""

from __future__ import annotations

from math import isfinite

from hybridnet.graph import Edge, Graph, Node, variable
from hybridnet.ops.core import Types

from ..devices.device import users
from ..observe import journal
from ..observe.journal import Launch
from ..programs.cache import cache
from ..segments.code import result_types
from .collectives import on_mesh


def head_of(launch: Launch) -> str:
    """Returns in words what was launched, how it ran, and at which line."""
    head = f"{operators(len(launch.code.instructions))} on {launch.code.ctx}"
    if launch.how:
        head += f": {launch.how}"
    by = journal.ranges([launch.origin])
    return f"{head}; launched at {by}" if by else head


def history_of(launch: Launch) -> str:
    """Returns in words how often a launch's structure ran, or what ran in its place."""
    said = _history_of(launch)
    return f"{said}, with answers about {launch.answers}" if launch.answers else said


def _history_of(launch: Launch) -> str:
    state = cache.state(launch.code if launch.ran is None else launch.ran)
    if state is None and launch.code.ctx in users:
        return "needs no program"
    if state is None:
        return "dropped from the program cache"
    if state.compiled:
        return f"its program ran {times(state.runs)}"
    said = f"no program yet, launched {times(state.launches)}"
    if isfinite(state.seconds):
        said += f", {1e6 * state.seconds:.0f} us by its operators"
    return f"{said} ({state.why})" if state.why else said


def collectives_of(launch: Launch) -> list[str]:
    """Returns in words what the devices of a launch on a mesh tell each other, a line for each."""
    found = on_mesh(launch.code if launch.ran is None else launch.ran, launch.lines)
    words = [] if found is None else found.words()
    return [f"between devices: {words[0]}", *(f"  {one}" for one in words[1:])] if words else []


def graph_of(launch: Launch) -> tuple[Graph, list[Node], dict[Node, Types]]:
    """Returns a launch as a graph, its nodes but the inputs as recorded, and the types of all."""
    code = launch.code
    inputs = [variable(f"input{slot}") for slot in range(len(code.input_types))]
    types: dict[Node, Types] = {
        node: (kind,) for node, kind in zip(inputs, code.input_types, strict=True)
    }
    of_results = result_types(code)
    order: list[Node] = []
    results: list[Edge] = []
    position = 0
    for call, operands in code.instructions:
        scalars = tuple(launch.scalars[position : position + call.num_scalars])
        position += call.num_scalars
        edges = tuple(results[i] if i >= 0 else Edge(inputs[~i], 0) for i in operands)
        node = Node(call, edges, call.name, scalars)
        first = len(results)
        results.extend(Edge(node, index) for index in range(call.num_outputs))
        types[node] = tuple(of_results[first : len(results)])
        order.append(node)
    return Graph(tuple(inputs), tuple(results[i] for i in code.outputs)), order, types


def operators(count: int) -> str:
    """Returns a number of operators in words."""
    return f"{count} operator{'s' * (count != 1)}"


def times(count: int) -> str:
    """Returns how often in words."""
    return "once" if count == 1 else f"{count} times"
