"""Shortcuts: what a graph that runs on several tasks need not send, and need not start by itself.

A message between processes, and each program that is started, takes as long as thousands of
additions. So copies that only hand a tensor on are left out; a constant is made on each device that
reads it, and in the program that does; and what only gives variables their new values is computed
last on its device, all together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hybridnet.base.device_name import DEVICE
from hybridnet.graph import ControlCall, Edge, Graph, Moves, Node

from .flow import FlowCall, Scopes
from .rewrite import is_pure, op_name


def shortened(graph: Graph, devices: Mapping[Node, str]) -> tuple[Graph, dict[Node, str]]:
    """Leaves copies out, and makes constants where they are read.

    Args:
        graph: before it is lowered.
        devices: of all its nodes and inputs.

    Returns:
        The graph that computes the same, and its devices.
    """
    moves = Moves()
    homes = {node: devices[node] for node in graph.inputs}
    clones: dict[tuple[Node, str], Node] = {}

    def on(edge: Edge, device: str) -> Edge:
        node = edge.node
        if homes[node] == device or not _is_constant(node):
            return edge
        found = clones.get((node, device))
        if found is None:
            found = clones[node, device] = replace(node, attrs={**node.attrs, DEVICE: device})
            homes[found] = device
        return Edge(found, edge.index)

    targets = set(graph.targets)
    for node in graph.nodes:
        if node.is_variable:
            continue
        device = devices[node]
        inputs = tuple(on(edge, device) for edge in moves.edges(node.inputs))
        if op_name(node) == "_copy" and not node.controls and node not in targets:
            moves.note(node, inputs)
            continue
        made = node.with_inputs(inputs).with_controls(moves.nodes(node.controls))
        homes[made] = device
        moves.note(node, made)
    made_graph = Graph(graph.inputs, moves.edges(graph.outputs), moves.nodes(graph.targets))
    return made_graph, homes


def _is_constant(node: Node) -> bool:
    call = node.call
    if call is None or node.inputs or node.controls:
        return False
    return is_pure(call) and not isinstance(call, (ControlCall, FlowCall))


def sunk(
    graph: Graph, devices: Mapping[Node, str], scopes: Scopes, late: Collection[int]
) -> Scopes:
    """Raises levels, so that more nodes share a program.

    Args:
        graph: lowered.
        devices: of all its nodes and inputs.
        scopes: of the graph.
        late: the outputs, by number, that nobody waits for before the step ends.

    Returns:
        The scopes with new levels.
    """
    levels = dict(scopes.levels)
    readers: dict[Node, list[Node]] = {}
    last: dict[str, int] = {}
    for node in graph.nodes:
        for source in (*(edge.node for edge in node.inputs), *node.controls):
            readers.setdefault(source, []).append(node)
        if _computes(node) and not scopes.regions[node]:
            last[devices[node]] = max(levels[node], last.get(devices[node], 0))
    wanted = {edge.node for number, edge in enumerate(graph.outputs) if number not in late}
    wanted.update(graph.targets)
    outputs = {edge.node for edge in graph.outputs}
    only_late: set[Node] = set()
    for node in reversed(graph.nodes):
        if not _computes(node):
            continue
        device, after = devices[node], readers.get(node, [])
        is_late = node not in wanted and (node in outputs or bool(after))
        if is_late and all(one in only_late and devices[one] == device for one in after):
            only_late.add(node)
            if not scopes.regions[node]:
                levels[node] = last[device]
        elif _is_constant(node) and after:
            levels[node] = min(levels[one] - (devices[one] != device) for one in after)
    return replace(scopes, levels=levels)


def _computes(node: Node) -> bool:
    return not node.is_variable and not isinstance(node.call, FlowCall)
