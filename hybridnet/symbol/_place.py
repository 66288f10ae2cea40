"""Placing what is bound: from contexts and groups to the device of each node and array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Graph, Node, names_devices, stored_name
from hybridnet.passes import ANYWHERE, PassContext, Placement, asked_for, place, wish_of
from hybridnet.runtime.placing import Device, costs_of, device_at, devices_with, full_name, sites_of

_GROUP = stored_name("ctx_group")
#: What `bind` takes for its context: one, or those among which nodes are placed by their cost.
Contexts = Context | Sequence[Context]


class Places(NamedTuple):
    """The contexts and devices on which a bound symbol runs.

    Attributes:
        ctx: where all runs; on several devices, where what nothing is said of is.
        contexts: of the variables, by name.
        devices: of each node the name of its device; None where all are on `ctx`, those inside
            loops and branches too.
    """

    ctx: Context
    contexts: Mapping[str, Context]
    devices: Mapping[Node, str] | None


def check_contexts(what: str, ctx: Any, group2ctx: Any) -> None:
    """Raises ParameterError unless these are what `bind` takes."""
    several = isinstance(ctx, (list, tuple))
    given = list(ctx) if several else [ctx]
    if not given or not all(isinstance(value, Context) for value in given):
        raise ParameterError(
            f"{what}: ctx must be a Context such as cpu(0), or a list of those among which nodes "
            f"are placed, got {ctx!r}"
        )
    for group, value in (group2ctx or {}).items():
        if not isinstance(value, Context):
            raise ParameterError(
                f"{what}: group2ctx must give a Context for each group, got {group!r}: {value!r}"
            )


def places_of(
    graph: Graph,
    ctx: Contexts,
    group2ctx: Mapping[str, Context] | None,
    types: Callable[[], Sequence[TensorType]],
    given: Mapping[str, Context] | None = None,
) -> Places:
    """Places a graph.

    Args:
        ctx: where nodes run that nothing is said of; or the contexts among which they are placed.
        group2ctx: where nodes run that have a ``ctx_group``.
        types: gives the types of the graph's inputs; asked only where nodes are placed by cost.
        given: where the values of variables are already, by name.

    Raises:
        GraphError: a node's device is not there; the message names the node and its line.
    """
    home, several = (ctx, False) if isinstance(ctx, Context) else (ctx[0], len(ctx) > 1)
    groups = dict(group2ctx or {})
    if not several and not _asks(graph, groups, home):
        return Places(home, {node.name: home for node in graph.inputs}, None)
    choice = [
        device_at(place) for place in dict.fromkeys([home] if isinstance(ctx, Context) else ctx)
    ]
    names = {group: DeviceName.of(place) for group, place in groups.items()}
    # Several contexts are all there is to choose from; one is where nodes run that ask for none.
    there = devices_with(asked_for(graph, names))
    devices = choice if several else list(dict.fromkeys([*choice, *there]))
    held = given or {}
    if isinstance(ctx, Context):  # what is asked for must be so, and is not moved by the arrays
        asking = {node.name for node in graph.inputs if wish_of(node, names) != ANYWHERE}
        held = {name: place for name, place in held.items() if name not in asking}
    fixed = {node: str(full_name(held[node.name])) for node in graph.inputs if node.name in held}
    found = place(
        graph,
        sites_of(devices),
        default=None if several else str(full_name(home)),
        fixed=fixed,
        groups=names,
        types=PassContext(tuple(types())).types(graph) if several else None,
        costs=costs_of(devices) if several else None,
        soft=config.soft_placement(),
    )
    return _places(graph, home, found, [*devices, *map(device_at, held.values())])


def _places(graph: Graph, home: Context, found: Placement, devices: Sequence[Device]) -> Places:
    contexts = {str(device.name): device.context for device in devices}
    if len(found.used) == 1:
        home = contexts[found.used[0]]
    return Places(
        home,
        {node.name: contexts[found.devices[node]] for node in graph.inputs},
        found.devices if len(found.used) > 1 or names_devices(graph) else None,
    )


def _asks(graph: Graph, groups: Mapping[str, Context], home: Context) -> bool:
    """Whether a node asks for a device, maybe inside another, or is in a group elsewhere."""
    away = {group for group, place in groups.items() if place is not home}
    return names_devices(graph) or any(
        DEVICE in node.attrs or node.attrs.get(_GROUP) in away
        for node in (*graph.inputs, *graph.nodes)
        if node.attrs
    )
