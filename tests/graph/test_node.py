"""Nodes and graphs: order, checks, replacement, and structure."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import DTypeError, GraphError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import evaluate, host_scalars_of, infer_types
from hybridnet.graph.node import Edge, Graph, Node, topological, variable
from hybridnet.graph.structure import structure_of, with_open_scalars
from hybridnet.ops.core.registry import get


def node(op, *inputs, name=None, scalars=None, **attrs):
    """A node of an operator; inputs are nodes (their first output) or edges."""
    call, bound = get(op).bind(attrs)
    edges = tuple(Edge(one, 0) if isinstance(one, Node) else one for one in inputs)
    return Node(call, edges, name or op, bound if scalars is None else scalars)


def graph(inputs, *outputs):
    edges = [Edge(one, 0) if isinstance(one, Node) else one for one in outputs]
    return Graph(tuple(inputs), tuple(edges))


def names(nodes):
    return [one.name for one in nodes]


def diamond():
    """x -> a -> c;  x, y -> b -> c."""
    x, y = variable("x"), variable("y")
    a = node("sin", x, name="a")
    b = node("broadcast_mul", x, y, name="b")
    return x, y, node("broadcast_add", a, b, name="c")


def test_inputs_come_first_and_from_the_left():
    _, _, c = diamond()
    assert names(topological([Edge(c, 0)])) == ["x", "a", "y", "b", "c"]


def test_each_node_comes_once_whatever_is_asked_for():
    x, y, c = diamond()
    edges = [Edge(c, 0), Edge(x, 0), Edge(c, 0), c.inputs[1]]
    assert names(topological(edges)) == ["x", "a", "y", "b", "c"]
    assert names(topological([Edge(y, 0), Edge(c, 0)])) == ["y", "x", "a", "b", "c"]
    assert topological([]) == []


def test_a_node_given_twice_to_one_is_fine():
    x = variable("x")
    a = node("broadcast_mul", x, x)
    assert names(topological([Edge(node("broadcast_add", a, a, name="b"), 0)])) == [
        "x",
        "broadcast_mul",
        "b",
    ]


def test_long_chains_need_no_deep_recursion():
    x = last = variable("x")
    for _ in range(20_000):
        last = node("negative", last)
    chain = graph([x], last)
    assert len(chain.nodes) == 20_001
    chain.verify()
    assert len(chain.map(lambda one, inputs: one.with_inputs(inputs)).nodes) == 20_001
    assert structure_of(chain)[0] == structure_of(chain)[0]


def test_a_cycle_is_refused():
    x = variable("x")
    a = node("broadcast_add", x, x, name="a")
    b = node("broadcast_add", a, x, name="b")
    object.__setattr__(a, "inputs", (Edge(b, 0), Edge(x, 0)))
    with pytest.raises(GraphError, match="the graph has a cycle through '[ab]'"):
        topological([Edge(b, 0)])


def test_verify():
    x, y, c = diamond()
    graph([x, y], c).verify()
    graph([y, x, variable("unused")], c).verify()
    for inputs, outputs, message in [
        ([x], [c], "variable 'y' is not an input"),
        ([x, y, x], [c], "listed twice"),
        ([x, y, c], [c], "input 'c' of the graph is not a variable"),
        ([x, y], [Edge(c, 1)], "'c' has 1 outputs, but output 1 is used"),
        ([x, y], [node("sin", Edge(c, -1))], "'c' has 1 outputs, but output -1 is used"),
    ]:
        with pytest.raises(GraphError, match=message):
            graph(inputs, *outputs).verify()


def test_with_inputs_is_the_same_node_if_nothing_changes():
    x, y, c = diamond()
    assert c.with_inputs(tuple(c.inputs)) is c
    other = c.with_inputs((Edge(x, 0), Edge(y, 0)))
    assert other is not c and other.call is c.call and other.name == "c"


def test_map_replaces_nodes_and_what_follows():
    x, y, c = diamond()

    def change(one, inputs):
        if one.name == "a":
            return node("cos", *inputs, name="new")
        if one.name == "b":
            return [inputs[0]]  # the edge that takes the place of its output
        return one.with_inputs(inputs)

    changed = graph([x, y], c, x).map(change)
    assert names(changed.nodes) == ["x", "new", "c"]
    assert changed.outputs[0].node.inputs == (Edge(changed.nodes[1], 0), Edge(x, 0))
    assert changed.outputs[1] == Edge(x, 0)
    assert changed.inputs == (x, y)


def test_types_are_inferred_and_errors_name_the_node():
    x, y, c = diamond()
    two = tensor_type((2, 3), np.dtype("float32"))
    types = infer_types(graph([x, y], c), [two, tensor_type((3,), np.dtype("float32"))])
    assert types[c] == (two,)
    with pytest.raises(
        ShapeError, match=r"at node 'b' \(broadcast_mul\): .* dimension 1 is 3 and 4"
    ):
        infer_types(graph([x, y], c), [two, tensor_type((4,), np.dtype("float32"))])
    clipped = node("clip", x, name="t", a_min=0, a_max=1)
    with pytest.raises(DTypeError, match=r"at node 't' \(clip\): clip"):
        infer_types(graph([x], clipped), [tensor_type((4,), np.dtype("bool"))])


def test_scalars_are_constants_or_asked_for():
    asked = HostScalar(lambda: [5.0], 0)
    x = variable("x")
    y = node("_mul_scalar", node("_plus_scalar", x, scalars=(2.0,)), scalars=(asked,))
    whole = graph([x], y, node("_mul_scalar", y, scalars=(asked,)))
    assert host_scalars_of(whole) == (asked,)

    with jax.enable_x64(True):
        first, second = evaluate(whole, "cpu", [np.float32(1)], {asked: np.float64(10)})
    assert (float(first), float(second)) == (30.0, 300.0)


def test_structure_leaves_out_names_and_numbers():
    def made(name, number, op="sin", swapped=False):
        x, y = variable(f"x{name}"), variable(f"y{name}")
        a = node("_mul_scalar", x, name=f"a{name}", scalars=(number,))
        b = node(op, y, name=f"b{name}")
        c = node("broadcast_sub", *((b, a) if swapped else (a, b)), name=f"c{name}")
        return graph([x, y], c, a)

    structure, scalars = structure_of(made("1", 2.0))
    assert scalars == (2.0,)
    same, others = structure_of(made("2", 3.0))
    assert same == structure and hash(same) == hash(structure) and others == (3.0,)
    for different in (made("1", 2.0, op="cos"), made("1", 2.0, swapped=True)):
        assert structure_of(different)[0] != structure
    x, y = variable("x"), variable("y")
    assert structure_of(graph([x, y], x))[0] != structure_of(graph([x, y], y))[0]
    assert structure_of(graph([x, y], x))[0] != structure_of(graph([x], x))[0]


def test_open_scalars_are_asked_for_in_the_order_of_the_nodes():
    x = variable("x")
    shared = HostScalar(lambda: [1.0], 0)
    y = node("_plus_scalar", node("_mul_scalar", x, scalars=(2.0,)), scalars=(shared,))
    whole = graph([x], node("_power_scalar", y, scalars=(shared,)))
    opened = with_open_scalars(whole)
    assert structure_of(opened)[0] == structure_of(whole)[0]
    _, scalars = structure_of(opened)
    assert len(set(scalars)) == 3
    assert host_scalars_of(opened) == scalars
    assert structure_of(whole)[1] == (2.0, shared, shared)
