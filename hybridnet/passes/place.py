"""Placement: which device each node of a graph runs on.

The steps are those of TensorFlow's placer (Abadi et al., "TensorFlow: Large-Scale Machine Learning
on Heterogeneous Distributed Systems", 2015, sections 3.2.1 and 4.3): what the user asks for
(`hn.device`, or a ``ctx_group`` that is given a context), nodes that must be together, devices that
have a kernel for all of these; and for what is left the device on which the node would end first,
in a simulated run (`hybridnet.passes.earliest_finish`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, final

from hybridnet.base.device_name import COLOCATE, DEVICE, LOCALHOST, DeviceName
from hybridnet.base.errors import GraphError
from hybridnet.graph import ControlCall, Edge, Graph, Node, stored_name
from hybridnet.ops.core import Call, Types

from .cost import CostModel
from .earliest_finish import Plan, earliest_finish

log: Final = logging.getLogger("hybridnet.placement")
_GROUP: Final = stored_name("ctx_group")


@final
@dataclass(frozen=True, slots=True)
class DeviceSite:
    """A device that nodes can be placed on.

    Attributes:
        name: in full.
        supports: whether it can run a call.
    """

    name: DeviceName
    supports: Callable[[Call], bool] = lambda call: True


@final
@dataclass(frozen=True, eq=False)
class Placement:
    """The devices of the nodes of a graph.

    Attributes:
        devices: for each node, variables included, the name of its device in full.
        seconds: what a run would take by the cost model; None where nothing was left to choose.
    """

    devices: Mapping[Node, str] = field(repr=False)
    seconds: float | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the devices that have a node."""
        return tuple(sorted(set(self.devices.values())))

    def __str__(self) -> str:
        counts = Counter((device, node.is_variable) for node, device in self.devices.items())
        lines = [
            f"{device}: {counts[device, False]} nodes, {counts[device, True]} variables"
            for device in self.used
        ]
        if self.seconds is not None:
            lines.append(f"a run takes {self.seconds:.3g} s by the cost model")
        return "\n".join(lines)


class _Class(NamedTuple):
    """Nodes that are placed together, and the sites they can be on."""

    nodes: list[Node]
    sites: list[DeviceSite]


def place(
    graph: Graph,
    sites: Sequence[DeviceSite],
    *,
    default: str | None = None,
    fixed: Mapping[Node, str] | None = None,
    groups: Mapping[str, DeviceName] | None = None,
    types: Mapping[Node, Types] | None = None,
    costs: CostModel | None = None,
    soft: bool = False,
) -> Placement:
    """Chooses a device for every node.

    Args:
        sites: the devices, at least one; where there is no reason for another, the first.
        default: where nodes run that nothing is said of; None has them placed by cost.
        fixed: variables whose values are on a device already.
        groups: where nodes run that have the attribute ``ctx_group``.
        types: of all nodes; needed to place by cost.
        costs: how long nodes and transfers take.
        soft: whether a node whose device is not there, or cannot run it, is placed on another,
            with a line in the log ``hybridnet.placement``; otherwise that is an error.

    Raises:
        GraphError: a wish cannot be met; the message names the node and its line.
    """
    wishes = {node: wish_of(node, groups or {}) for node in (*graph.inputs, *graph.nodes)}
    held = dict(fixed or {})
    classes = [
        _Class(nodes, _sites_for(nodes, wishes, sites, soft))
        for nodes in _classes(graph, wishes, held)
    ]
    devices: dict[Node, str] = dict(held)
    free: dict[Node, _Class] = {}
    for group in classes:
        names = [str(site.name) for site in group.sites]
        if len(names) > 1 and default is None:
            free.update(dict.fromkeys(group.nodes, group))
        else:
            devices.update(dict.fromkeys(group.nodes, default if default in names else names[0]))
    if not free:
        return Placement(devices)
    choices = {
        node: (id(group), tuple(str(s.name) for s in group.sites)) for node, group in free.items()
    }
    plan: Plan = earliest_finish(graph, devices, choices, types, costs or CostModel())
    return Placement({**devices, **_checked(plan, choices)}, plan.seconds)


def _checked(
    plan: Plan, choices: Mapping[Node, tuple[Hashable, tuple[str, ...]]]
) -> dict[Node, str]:
    """Returns where a plan has the nodes; a placer that is not ours may say anything.

    Raises:
        GraphError: a node is not on a device that it can be on, or apart from one it must be with.
    """
    found: dict[Node, str] = {}
    together: dict[Hashable, str] = {}
    for node, (key, devices) in choices.items():
        device = plan.devices.get(node)
        if device not in devices:
            can = ", ".join(devices)
            raise GraphError(f"place: node {node.title} was put on {device}; it can be on {can}")
        if together.setdefault(key, device) != device:
            raise GraphError(
                f"place: node {node.title} was put on {device}, and one that it must be with on "
                f"{together[key]}"
            )
        found[node] = device
    return found


def on_devices(graph: Graph, devices: Mapping[Node, str]) -> Graph:
    """Returns the graph with the name of its device as an attribute of each node.

    Variables stay as they are: where their values are is for who gives them to say.
    """

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return replace(node, inputs=inputs, attrs={**node.attrs, DEVICE: devices[node]})

    return graph.map(change)


#: What a node that names no device says.
ANYWHERE: Final = DeviceName()


def asked_for(graph: Graph, groups: Mapping[str, DeviceName] | None = None) -> list[DeviceName]:
    """Returns the devices that nodes of a graph name, not those inside loops and branches.

    Args:
        graph: the graph.
        groups: where nodes run that have the attribute ``ctx_group``.
    """
    nodes = (*graph.inputs, *graph.nodes)
    return list(dict.fromkeys(wish_of(node, groups or {}) for node in nodes if node.attrs))


def wish_of(node: Node, groups: Mapping[str, DeviceName]) -> DeviceName:
    """Returns what the user says of a node's device: its scope, which wins over its group."""
    if not node.attrs:
        return ANYWHERE
    group = groups.get(node.attrs.get(_GROUP, ""), ANYWHERE)
    name = node.attrs.get(DEVICE)
    return group if name is None else group.merged(DeviceName.parse(name))


def _classes(
    graph: Graph, wishes: Mapping[Node, DeviceName], fixed: Mapping[Node, str]
) -> list[list[Node]]:
    """Returns the nodes that are not fixed, those that must be together in one list.

    Together are nodes that name each other in ``__colocate__``; and a node with the variables that
    it overwrites, unless the user put these elsewhere.

    Raises:
        GraphError: a node is to be with one that is not there.
    """
    leader: dict[Node, Node] = {}

    def find(node: Node) -> Node:
        while leader.setdefault(node, node) is not node:
            leader[node] = node = leader[leader[node]]
        return node

    by_name = {node.name: node for node in (*graph.inputs, *graph.nodes)}
    for node in graph.nodes:
        for name in filter(None, node.attrs.get(COLOCATE, "").split(",")):
            if name not in by_name:
                raise GraphError(f"place: node {node.title} is to be with {name!r}: no such node")
            leader[find(node)] = find(by_name[name])
        for position in node.call.mutates if node.call is not None else ():
            state = node.inputs[position].node
            if state.is_variable and state not in fixed and wishes[state] == ANYWHERE:
                leader[find(state)] = find(node)
    groups: dict[Node, list[Node]] = {}
    for node in dict.fromkeys((*graph.inputs, *graph.nodes)):
        if node not in fixed:
            groups.setdefault(find(node), []).append(node)
    return list(groups.values())


def _sites_for(
    nodes: Sequence[Node],
    wishes: Mapping[Node, DeviceName],
    sites: Sequence[DeviceSite],
    soft: bool,
) -> list[DeviceSite]:
    """Returns the sites that all these nodes can be on.

    Raises:
        GraphError: there is none.
    """
    asking = [node for node in nodes if wishes[node] != ANYWHERE]
    calls = dict.fromkeys(call for node in nodes for call in _calls_of(node))
    able = [site for site in sites if all(site.supports(call) for call in calls)]
    if not asking and able:
        return able
    found = [site for site in able if all(wishes[node].covers(site.name) for node in asking)]
    if found:
        return found
    instead = [s for s in able if all(wishes[node].process.covers(s.name) for node in asking)]
    if not instead and all(site.name.job == LOCALHOST for site in sites):
        instead = able  # in a cluster another task has other variables
    problem = _problem(nodes, asking, wishes, sites)
    if not (soft and instead):
        hint = "" if soft or not instead else "; soft placement (soft=True) takes another"
        raise GraphError(f"place: {problem}{hint}")
    log.warning("place: %s; placed elsewhere", problem)
    return instead


def _calls_of(node: Node) -> Iterator[Call]:
    """Yields what a device must have kernels for to run a node.

    Those are its call, and of a loop or branch all inside that names no other device.
    """
    if node.call is None:
        return
    yield node.call
    for part in node.call.parts if isinstance(node.call, ControlCall) else ():
        for inner in part.graph.nodes:
            if inner.attrs.get(DEVICE) in (None, node.attrs.get(DEVICE)):
                yield from _calls_of(inner)


def _problem(
    nodes: Sequence[Node],
    asking: Sequence[Node],
    wishes: Mapping[Node, DeviceName],
    sites: Sequence[DeviceSite],
) -> str:
    """Says why there is no site for all these nodes."""
    have = ", ".join(str(site.name) for site in sites)
    for node in asking:
        if not any(wishes[node].covers(site.name) for site in sites):
            wish, problem = wishes[node], f"node {node.title} asks for the unknown device"
            there = f"{problem} {wish}; there are {have}"
            is_alone = all(site.name.job == LOCALHOST for site in sites)
            if is_alone and (
                wish.task or wish.replica
            ):  # a process of its own is task 0 of any job
                there += "; over other processes a session of hn.cluster runs it"
            return there
    for node in nodes:
        able = [site for site in sites if all(site.supports(call) for call in _calls_of(node))]
        if not any(wishes[node].covers(site.name) for site in able):
            where = str(wishes[node]) or f"any of {have}"
            can = ", ".join(str(site.name) for site in able) or "none"
            return f"node {node.title} has no kernel on {where}; devices that have one: {can}"
    apart = " and ".join(f"{node.title} on {wishes[node]}" for node in asking[:3])
    return f"nodes that must be together ask for different devices: {apart or nodes[0].title}"
