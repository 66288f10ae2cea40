"""Graphs with shortcuts compute what they did, by fewer messages and programs."""

from __future__ import annotations

import graph_programs as gp
import jax
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import evaluate, infer_types
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get
from hybridnet.passes.flow import Scopes
from hybridnet.passes.partition import partition
from hybridnet.passes.pieces import pieces_of
from hybridnet.passes.shortcuts import shortened, sunk

TYPE = tensor_type(gp.SHAPE, np.dtype(np.float64))


def node(op, *inputs, name=None, controls=(), **attrs):
    call, bound = get(op).bind(attrs, True)
    edges = tuple(Edge(one, 0) if isinstance(one, Node) else one for one in inputs)
    return Node(call, edges, name or op, bound, controls=controls)


def plain(graph, devices):
    """The scopes of a graph without control flow: levels count the changes of device before."""
    scopes = Scopes()
    for one in (*graph.inputs, *graph.nodes):
        sources = (*(edge.node for edge in one.inputs), *one.controls)
        scopes.frames[one], scopes.regions[one] = None, 0
        scopes.levels[one] = max(
            (scopes.levels[each] + (devices[each] != devices[one]) for each in sources), default=0
        )
    return scopes


def programs(graph, devices, late=()):
    """The names of the nodes of each device's programs."""
    scopes = sunk(graph, devices, plain(graph, devices), late)
    cut = partition(graph, devices, infer_types(graph, [TYPE] * len(graph.inputs)), (), scopes)
    return {
        device: [
            {one.name for one in piece.nodes} for piece in pieces_of(part, lambda nodes: False)
        ]
        for device, part in cut.parts.items()
    }


@st.composite
def cases(draw):
    """A random graph with copies and constants put in, and a device for each node."""
    program = draw(gp.programs(most=7))
    last = len(program) + 1
    graph = gp.graph_of(program, draw(st.lists(st.integers(0, last), min_size=1, max_size=3)))

    def change(one, inputs):
        made = one.with_inputs(inputs)
        kind = draw(st.integers(0, 2))
        if kind == 0 or made.num_outputs > 1:
            return made
        if kind == 1:
            return node("_copy", made, name="copy")
        ones = node("_ones", shape=(1,), dtype="float64", name="ones")
        return node("broadcast_add", made, ones, name="more")

    graph = graph.map(change)
    names = st.sampled_from("012")
    devices = {one: draw(names) for one in dict.fromkeys((*graph.inputs, *graph.nodes))}
    return graph, devices, draw(st.sets(st.integers(0, len(graph.outputs) - 1)))


@given(cases())
def test_the_values_are_the_same_and_no_copy_or_foreign_constant_is_left(case):
    graph, devices, _ = case
    made, homes = shortened(graph, devices)
    made.verify()
    arrays = np.random.default_rng(0).normal(size=(len(graph.inputs), *gp.SHAPE))
    with jax.enable_x64(True):
        want, got = (evaluate(one, "cpu", list(arrays)) for one in (graph, made))
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert "_copy" not in {one.call.name for one in made.nodes if one.call is not None}
    for one in made.nodes:
        assert homes[one] in "012"
        for edge in one.inputs:
            assert edge.node.name != "ones" or homes[edge.node] == homes[one]


@given(cases())
def test_levels_still_never_fall_along_an_edge_and_rise_between_devices(case):
    graph, devices, late = case
    levels = sunk(graph, devices, plain(graph, devices), late).levels
    for one in graph.nodes:
        for edge in one.inputs:
            apart = devices[edge.node] != devices[one]
            assert levels[edge.node] + apart <= levels[one]


def test_a_copy_that_waits_for_something_stays():
    x = variable("x")
    first = node("sin", x)
    copy = node("_copy", x, controls=(first,))
    graph = Graph((x,), (Edge(copy, 0),))
    made, _ = shortened(graph, dict.fromkeys((x, first, copy), "0"))
    assert [one.name for one in made.nodes if one.call is not None] == ["sin", "_copy"]


def test_what_waits_for_a_copy_waits_for_what_it_copies():
    x = variable("x")
    first = node("sin", x)
    copy = node("_copy", first)
    then = node("cos", x, controls=(copy,))
    graph = Graph((x,), (Edge(then, 0),))
    made, _ = shortened(graph, dict.fromkeys((x, first, copy, then), "0"))
    assert [one.name for one in made.outputs[0].node.controls] == ["sin"]


def test_a_constant_is_in_the_program_that_reads_it():
    """x(ps) -> sin(worker) -> times(ps) by ones: one program on each."""
    x = variable("x")
    sin = node("sin", x)
    ones = node("_ones", shape=gp.SHAPE, dtype="float64", name="ones")
    times = node("elemwise_mul", sin, ones, name="times")
    graph = Graph((x,), (Edge(times, 0),))
    devices = {x: "ps", sin: "worker", ones: "ps", times: "ps"}
    assert programs(graph, devices) == {"ps": [{"ones", "times"}], "worker": [{"sin"}]}


def test_what_only_changes_variables_is_in_the_last_program():
    """A count on the server needs nothing of the worker; what the worker reads comes before."""
    x = variable("x")
    count = node("negative", x, name="count")
    read = node("exp", x, name="read")
    sin = node("sin", read)
    update = node("elemwise_add", x, sin, name="update")
    graph = Graph((x,), (Edge(count, 0), Edge(update, 0)))
    devices = {x: "ps", count: "ps", read: "ps", sin: "worker", update: "ps"}
    apart = {"ps": [{"count", "read"}, {"update"}], "worker": [{"sin"}]}
    assert programs(graph, devices) == apart
    together = {"ps": [{"read"}, {"count", "update"}], "worker": [{"sin"}]}
    assert programs(graph, devices, late={0, 1}) == together
