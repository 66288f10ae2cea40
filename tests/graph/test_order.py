"""Control edges, targets, and variables that are read and overwritten at a point of a graph."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same_graph import same_graph

from hybridnet import passes
from hybridnet.base.errors import DTypeError, FormatError, GraphError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import evaluate
from hybridnet.graph.json import dumps, loads
from hybridnet.graph.node import Edge, Graph, Node, topological, variable
from hybridnet.graph.parse import parse
from hybridnet.graph.structure import structure_of
from hybridnet.graph.transform import prepare
from hybridnet.ops.core.registry import get

FLOAT = tensor_type((2,), np.dtype("float32"))


def node(op, *inputs, name=None, after=(), **attrs):
    call, scalars = get(op).bind(attrs)
    edges = tuple(Edge(one, 0) for one in inputs)
    return Node(call, edges, name or op, scalars, controls=tuple(after))


def run(graph, *values):
    """Runs a graph once; returns its outputs, and the new values of what it overwrites."""
    ready = prepare(graph, False)
    with jax.enable_x64(True):  # as programs are built
        made = [np.asarray(one) for one in evaluate(ready.graph, "cpu", values)]
    heads = made[: ready.num_heads]
    return heads, dict(zip(ready.writes, made[ready.num_heads :], strict=True))


def counter():
    """v is read, raised by x, and read again after that."""
    v, x = variable("v"), variable("x")
    before = node("_read_variable", v, name="before")
    raised = node("_assign", v, node("elemwise_add", before, x), name="raised")
    after = node("_read_variable", v, name="after", after=[raised])
    return v, x, before, raised, after


def test_controls_come_before_and_targets_last():
    v, x, before, raised, after = counter()
    done = node("_no_op", name="done", after=[raised])
    names = [one.name for one in topological([Edge(after, 0)])]
    assert names == ["v", "before", "x", "elemwise_add", "raised", "after"]
    graph = Graph((v, x), (Edge(before, 0),), (done,))
    assert [one.name for one in graph.nodes][-2:] == ["raised", "done"]


def test_a_variable_is_read_at_the_point_where_the_reader_stands():
    v, x, before, raised, after = counter()
    graph = Graph((v, x), tuple(Edge(one, 0) for one in (before, raised, after, v)))
    old, more = np.float32([1, 2]), np.float32([10, 20])
    heads, new = run(graph, old, more)
    for got, wanted in zip(heads, (old, old + more, old + more, old), strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(new[0], old + more)


def test_a_target_is_run_for_its_effect_alone():
    v, x, _, raised, _ = counter()
    graph = Graph((v, x), (), (node("_no_op", after=[raised]),))
    heads, new = run(graph, np.float32([1, 2]), np.float32([1, 1]))
    assert heads == []
    np.testing.assert_array_equal(new[0], [2, 3])


def test_what_is_only_assigned_is_not_read():
    v = variable("v")
    graph = Graph((v,), (), (node("_assign", v, node("_zeros", shape=(2,))),))
    ready = prepare(graph, False)
    assert ready.writes == (0,) and v not in ready.graph.nodes


def test_what_is_assigned_must_fit():
    v, x = variable("v"), variable("x")
    graph = Graph((v, x), (Edge(node("_assign", v, x, name="set_v"), 0),))
    context = passes.PassContext((FLOAT, tensor_type((3,), np.dtype("float32"))))
    with pytest.raises(ShapeError, match=r"'set_v'.*_assign: value must have the shape of ref"):
        context.types(graph)
    context = passes.PassContext((FLOAT, tensor_type((2,), np.dtype("float64"))))
    with pytest.raises(DTypeError, match="_assign: value must have the dtype of ref"):
        context.types(graph)


def test_text_and_json_keep_the_order():
    v, x, before, raised, after = counter()
    done = node("_no_op", name="done", after=[raised, after])
    graph = Graph((v, x), (Edge(after, 0), Edge(before, 0)), (done,))
    again = parse(str(graph))
    assert same_graph(graph, again) and str(again) == str(graph)
    assert not same_graph(graph, parse(str(Graph(graph.inputs, graph.outputs))))
    read = loads(dumps(graph.outputs))
    (reader,) = [one for one in topological(read) if one.name == "after"]
    assert [one.name for one in reader.controls] == ["raised"]


@pytest.mark.parametrize("controls", ["[%9]", "%0", "3", "[%0[1]]"])
def test_text_with_wrong_controls_is_refused(controls):
    with pytest.raises(FormatError, match="line 2"):
        parse(f"%0 = input('x')\n%1 = sin(%0, controls={controls})\nreturn %1\n")


@pytest.mark.parametrize("deps", ["[7]", "3", '["a"]', "[1]"])
def test_json_with_wrong_controls_is_refused(deps):
    text = dumps([Edge(node("sin", variable("x"), name="s"), 0)])
    changed = text.replace('"name": "s",', f'"name": "s", "control_deps": {deps},')
    assert changed != text
    with pytest.raises(FormatError, match="control_dep|cycle"):
        loads(changed)


def test_order_makes_graphs_different():
    v, x, _, raised, after = counter()
    one = Graph((v, x), (Edge(after, 0), Edge(raised, 0)))
    other = Graph((v, x), (Edge(after.with_controls(()), 0), Edge(raised, 0)))
    assert structure_of(one) != structure_of(other)
    assert structure_of(one) == structure_of(parse(str(one)))


def test_pruning_keeps_what_must_run_before():
    v, x, before, raised, after = counter()
    graph = Graph((v, x), (Edge(after, 0), Edge(before, 0)))
    kept = passes.pruned(graph, [Edge(after, 0)])
    assert "raised" in [one.name for one in kept.nodes]
    assert kept.inputs == (v, x)
    only = passes.pruned(graph, [Edge(before, 0)])
    assert [one.name for one in only.nodes] == ["v", "before"] and only.inputs == (v,)
    run_only = passes.pruned(graph, [], [], [raised])
    assert run_only.targets == (raised,) and run_only.outputs == ()
    fed = passes.pruned(graph, [Edge(after, 0)], [raised.inputs[1]])
    assert [one.name for one in fed.inputs] == ["v", "elemwise_add"]
    with pytest.raises(GraphError, match="must be a node of the graph"):
        passes.pruned(graph, [], [], [node("_no_op", name="elsewhere")])


@st.composite
def programs(draw):
    """A graph over two variables and an input: reads, updates, arithmetic, in a random order.

    Each node is controlled by the effect before it, so that only one order is right.
    """
    names = [variable("v"), variable("w"), variable("x")]
    values, effects, steps = [names[2]], [], []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["read", "assign", "negative", "add", "copy"]))
        one = draw(st.integers(0, len(values) - 1))
        two = draw(st.integers(0, len(values) - 1))
        place = draw(st.integers(0, 1))
        after = effects[-1:]
        if kind == "read":
            values.append(node("_read_variable", names[place], after=after))
            effects.append(values[-1])
        elif kind == "assign":
            values.append(node("_assign", names[place], values[one], after=after))
            effects.append(values[-1])
        elif kind == "negative":
            values.append(node("negative", node("negative", values[one]), after=after))
        elif kind == "copy":
            values.append(node("_copy", values[one]))
        else:
            values.append(node("elemwise_add", values[one], values[two]))
        steps.append((kind, place, one, two))
    shown = draw(st.lists(st.integers(0, len(values) - 1), max_size=3))
    heads = tuple(Edge(values[number], 0) for number in shown)
    return Graph(tuple(names), heads, tuple(effects[-1:])), steps, shown


def interpret(steps, shown, held):
    """Runs the steps one after another on numbers."""
    held = list(held)
    values = [held.pop()]
    for kind, place, one, two in steps:
        if kind == "read":
            values.append(held[place])
        elif kind == "assign":
            held[place] = values[one]
            values.append(values[one])
        elif kind == "add":
            values.append(values[one] + values[two])
        else:
            values.append(values[one])
    return [values[number] for number in shown], held


@settings(max_examples=60, deadline=None)
@given(programs())
def test_random_programs_of_effects_run_in_their_order(program):
    graph, steps, shown = program
    start = [np.float32([1, 2]), np.float32([30, 40]), np.float32([500, 600])]
    wanted, held = interpret(steps, shown, start)
    optimized, _ = passes.optimize(graph, passes.PassContext((FLOAT,) * 3))
    for one in (graph, parse(str(graph)), optimized):
        one.verify()
        heads, new = run(one, *start)
        for got, right in zip(heads, wanted, strict=True):
            np.testing.assert_array_equal(got, right)
        for place in (0, 1):
            np.testing.assert_array_equal(new.get(place, start[place]), held[place])
    assert len(optimized.nodes) <= len(graph.nodes)
