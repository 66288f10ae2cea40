"""From a graph to the parts of the tasks, as they travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.base.errors import GraphError
from hybridnet.graph import ControlCall, Graph, Node
from hybridnet.ops.core import Types
from hybridnet.passes import (
    DevicePart,
    DeviceSite,
    ReadPart,
    lower_control,
    partition,
    place,
    shortened,
    sunk,
    upward_ranks,
    wish_of,
    write_part,
)
from hybridnet.session.step import Ready

from .containers import held_name


class TaskPart(NamedTuple):
    """The part of one task.

    Attributes:
        words: what it is told of the graph.
        inputs: which of the graph's inputs it takes, by number.
        writes: the variables that it gives new values.
        graphs: of its devices, by name.
    """

    words: dict[str, Any]
    inputs: tuple[int, ...]
    writes: tuple[Node, ...]
    graphs: Mapping[str, Graph]


def task_of(device: str) -> str:
    """Returns the task of a device, both in full."""
    return device.rpartition("/device:")[0]


def wishes_in(graph: Graph) -> dict[DeviceName, Node]:
    """Returns the devices that nodes of a graph name, in loops and branches too, each with one."""
    found: dict[DeviceName, Node] = {}
    for node in (*graph.inputs, *graph.nodes):
        found.setdefault(wish_of(node, {}), node)
        for part in node.call.parts if isinstance(node.call, ControlCall) else ():
            found = {**wishes_in(part.graph), **found}
    return found


def cut(
    ready: Ready,
    sites: Sequence[DeviceSite],
    home: str,
    variables: Mapping[Node, str],
    soft: bool,
    own: str | None,
) -> dict[str, TaskPart]:
    """Places a graph and cuts it.

    Args:
        ready: the graph.
        sites: the devices of the tasks that take part.
        home: the device where nodes run that nothing is said of.
        variables: which inputs and written nodes are variables, and on which device.
        soft: whether nodes that cannot be on their device are put on another.
        own: the task of this process, whose part does not travel.

    Returns:
        For each task that has something to do, its part.

    Raises:
        GraphError: a node names a device that is not there, or cannot go to another process.
    """
    graph = ready.graph
    count = len(graph.outputs)
    fixed = {node: variables[node] for node in graph.inputs if node in variables}
    devices = dict(place(graph, sites, default=home, fixed=fixed, soft=soft).devices)
    graph, devices = shortened(graph, devices)
    names = [site.name for site in sites]

    def inside(node: Node, other: str) -> str:
        given = node.attrs.get(DEVICE)
        if given is None:
            return other
        wish = DeviceName.parse(given)
        if wish.covers(DeviceName.parse(other)):
            return other
        found = next((str(name) for name in names if wish.covers(name)), None)
        if found is None:
            raise GraphError(f"node {node.title} asks for the unknown device {given}")
        return found

    travels = any(
        isinstance(node.call, ControlCall) and task_of(devices[node]) != own for node in graph.nodes
    )
    lowered = lower_control(graph, devices, ready.types, inside, everything=travels)
    wanted: list[str | None] = [None] * ready.num_heads
    wanted += [variables[node] for node in ready.writes]
    wanted += [home] * ready.draws
    late = range(ready.num_heads, ready.num_heads + len(ready.writes))
    scopes = sunk(lowered.graph, lowered.devices, lowered.scopes, late)
    found = partition(lowered.graph, lowered.devices, lowered.types, wanted, scopes)
    found.verify(lowered.graph, lowered.devices)
    ranks = upward_ranks(lowered.graph, lowered.types, lambda node: 0.0, lambda kind: 0.0)
    owners = {name: task_of(name) for name in found.parts}
    made: dict[str, TaskPart] = {}
    # The part of this process comes last, so that the other tasks are at work while it is made.
    for task in sorted(dict.fromkeys(owners.values()), key=lambda one: one == own):
        parts = [part for name, part in found.parts.items() if owners[name] == task]
        as_part = _kept if task == own else write_part
        forms = [as_part(part, ready.types, ranks) for part in parts]
        words = {"kind": "register", "owners": owners, "outputs": count, "parts": forms}
        made[task] = _task_part(words, parts, ready, graph, variables)
    return made


def _task_part(
    words: dict[str, Any],
    parts: Sequence[DevicePart],
    ready: Ready,
    graph: Graph,
    variables: Mapping[Node, str],
) -> TaskPart:
    """Returns the part of a task, which is the parts of its devices together.

    Args:
        words: the message that registers it; what it reads and writes is added here.
        parts: the parts of the task's devices.
        ready: the whole graph.
        graph: the same after it was placed, with the inputs that `parts` number.
        variables: which inputs and written nodes are variables.
    """
    inputs = sorted(number for part in parts for number in part.inputs)
    results = sorted(number for part in parts for number in part.results)
    first = ready.num_heads
    written = [n for n in results if first <= n < first + len(ready.writes)]
    words["reads"] = [
        [n, held_name(graph.inputs[n])] for n in inputs if graph.inputs[n] in variables
    ]
    words["writes"] = [[n, held_name(ready.writes[n - first])] for n in written]
    words["heads"] = [number for number in results if number not in written]
    writes = tuple(ready.writes[number - first] for number in written)
    return TaskPart(words, tuple(inputs), writes, {part.device: part.graph for part in parts})


def _kept(part: DevicePart, types: Types, ranks: Mapping[Node, float]) -> ReadPart:
    """Returns a part of this process's as one that was read."""
    own = {node: ranks[whole] for node, whole in part.originals.items()}
    return ReadPart(
        replace(part, originals={node: node for node in own}),
        {number: types[number] for number in part.inputs},
        own,
    )
