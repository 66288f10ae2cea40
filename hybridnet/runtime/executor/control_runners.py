"""Running what is no part of a program: control flow with host code, and what counts loops' turns.

Importing this module sets the runners of such calls (`hybridnet.graph.subgraph.RUNNERS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.context import Context
from hybridnet.graph import (
    RUNNERS,
    ControlCall,
    Edge,
    Graph,
    Node,
    UnboundedGradient,
    variable,
    with_open_scalars,
)
from hybridnet.ops.core import Call, Types
from hybridnet.ops.core.registry import get

from ..graphs.graph_call import GraphCall
from ..record import recorder
from ..record.waiting import await_ends
from ..segments.segment import Value
from .partitioned import PartitionedCall

#: What was made for a call: by context and types of the inputs, or by what a gradient is of.
#: Threads that come at once get the same: with weak keys `setdefault` is that of a dict, one step
#: of CPython's, since calls are compared by identity. With weak values it would not be.
_made: Final[WeakKeyDictionary[Call, dict[Any, Any]]] = WeakKeyDictionary()


def _run_control(
    call: ControlCall, ctx: Context, values: Sequence[Value], scalars: Sequence[Number]
) -> list[Value]:
    """Runs a control call by the executor."""
    types = tuple(value.type for value in values)
    made = _made.setdefault(call, {})
    found = made.get((ctx, types))
    if found is None:
        graph = _call_graph(call, len(values))
        whole = GraphCall(graph, types, call.name)
        places = (ctx,) * len(values)
        partitioned = PartitionedCall(whole, places, [ctx] * call.num_outputs, ctx)
        found = made.setdefault((ctx, types), partitioned)
    run: list[Value] = found.run(values, tuple(scalars))
    if call.in_order:  # those that come after it would take the places of those inside
        await_ends(run)
    return run


def _call_graph(call: Call, count: int) -> Graph:
    """Returns the graph of one call, whose numbers are given at each run."""
    inputs = tuple(variable(f"input{i}") for i in range(count))
    edges = tuple(Edge(node, 0) for node in inputs)
    node = Node(call, edges, call.name, (0.0,) * call.num_scalars)
    outputs = tuple(Edge(node, index) for index in range(call.num_outputs))
    return with_open_scalars(Graph(inputs, outputs, (node,)))


def _run_unbounded(
    call: UnboundedGradient, ctx: Context, values: Sequence[Value], scalars: Sequence[Number]
) -> list[Value]:
    """Runs the gradient of a call with loops that have no maximum; waits until they have ended."""
    counts = np.asarray(recorder.wait(values[0])).tolist()
    count = len(values) - 1 - len(call.given)
    types: Types = tuple(value.type for value in values[1 : 1 + count])
    graph, numbers = call.graph(types, counts)
    made = _made.setdefault(call, {})
    whole = made.get(graph)
    if whole is None:
        inputs = tuple(value.type for value in values[1:])
        whole = made.setdefault(graph, GraphCall(graph, inputs, call.name))
    by_host: dict[HostScalar, Any] = dict(zip(call.hosts, scalars, strict=True))
    given = tuple(by_host[host] for host in whole.hosts)
    found = recorder.record(ctx, whole, tuple(values[1:]), given, whole.output_types)
    return [
        _zeros(ctx, values[1 + place]) if number is None else found[number]
        for place, number in zip(call.wanted, numbers, strict=True)
    ]


def _zeros(ctx: Context, like: Value) -> Value:
    call = get("zeros_like").bind({})[0]
    (made,) = recorder.record(ctx, call, (like,), (), (like.type,))
    return made


RUNNERS["control"] = _run_control
RUNNERS["unbounded"] = _run_unbounded
