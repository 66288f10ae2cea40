"""Memory plans: no two living values overlap, and the numbers are those that the papers promise."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

import hybridnet as hn
from hybridnet import sym
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import infer_types
from hybridnet.graph.node import Edge, Graph, Node, topological, variable
from hybridnet.ops.core.registry import REGISTRY, get
from hybridnet.passes import memory_inplace
from hybridnet.passes.memory import STRATEGIES, plan_memory
from hybridnet.passes.memory_arena import Arena

FLOAT32 = np.dtype(np.float32)
_BENCHMARKS = ROOT / "benchmarks"

# -- an interpreter that keeps everything in one piece of memory -----------------------------------

#: Operators that may write over what they read: NumPy's functions do that element by element.
ELEMENTWISE = {"negative": np.negative, "elemwise_add": np.add, "elemwise_sub": np.subtract}
#: Others: memory is spoiled before they read, so that writing over an input shows.
WHOLE = {
    "transpose": lambda attrs, x: [x.T],
    "Concat": lambda attrs, x, y: [np.concatenate([x, y], 0)],
    "SliceChannel": lambda attrs, x: np.split(x, 2, 1),
    "broadcast_add": lambda attrs, x, y: [x + y],
}


def node(op, *edges, **attrs):
    call, scalars = get(op).bind(attrs)
    return Node(call, tuple(edges), op.lower(), scalars)


def spoil_and_run(one, inputs, outputs):
    if one.call.name in ELEMENTWISE:
        ELEMENTWISE[one.call.name](*inputs, out=outputs[0])
    elif one.call.name == "Reshape":
        outputs[0][...] = inputs[0].reshape(outputs[0].shape)
    elif one.call.name == "broadcast_add" and len({x.shape for x in inputs}) == 1:
        np.add(*inputs, out=outputs[0])
    else:
        for output in outputs:
            output[...] = np.nan
        for output, value in zip(outputs, WHOLE[one.call.name](None, *inputs), strict=True):
            output[...] = value


def run_plainly(graph, values):
    made = {Edge(one, 0): value for one, value in values.items()}
    for one in graph.nodes:
        if one.is_variable:
            continue
        inputs = [made[edge] for edge in one.inputs]
        name = one.call.name
        if name in ELEMENTWISE:
            found = [ELEMENTWISE[name](*inputs)]
        elif name == "Reshape":
            found = [inputs[0].reshape(one.call.attrs["shape"])]
        else:
            found = WHOLE[name](None, *inputs)
        made |= {Edge(one, index): value for index, value in enumerate(found)}
    return [made[edge] for edge in graph.outputs]


def run_in_memory(graph, types, values, plan):
    """Runs the nodes in one array of bytes, at the places that the plan says."""
    memory = np.full(plan.num_bytes // 4, np.nan, np.float32)
    made = {Edge(one, 0): value for one, value in values.items()}
    for one in graph.nodes:
        if one.is_variable:
            continue
        outputs = []
        for index, type in enumerate(types[one]):
            edge = Edge(one, index)
            if edge in plan.place:
                start = plan.place[edge] // 4
                outputs.append(memory[start : start + type.size].reshape(type.shape))
            else:
                assert edge in graph.outputs
                outputs.append(np.full(type.shape, np.nan, np.float32))
            made[edge] = outputs[-1]
        spoil_and_run(one, [made[edge] for edge in one.inputs], outputs)
    return [made[edge] for edge in graph.outputs]


@st.composite
def graphs(draw):
    """Draws a graph whose values have various sizes, and its variables' types."""
    inputs = [variable("x"), variable("y")]
    shapes = {Edge(inputs[0], 0): (2, 4), Edge(inputs[1], 0): (4, 2)}
    for _ in range(draw(st.integers(1, 14))):
        edges = list(shapes)
        x = draw(st.sampled_from(edges[-5:] if draw(st.booleans()) else edges))
        rows, columns = shapes[x]
        same = [edge for edge in edges if shapes[edge] == shapes[x]]
        tall = [edge for edge in edges if shapes[edge][1] == columns and shapes[edge][0] <= 16]
        kind = draw(st.sampled_from(["unary", "binary", "reshape", "turn", "join", "cut", "row"]))
        if kind == "binary":
            name = draw(st.sampled_from(["elemwise_add", "elemwise_sub"]))
            made = node(name, x, draw(st.sampled_from(same)))
            shapes[Edge(made, 0)] = (rows, columns)
        elif kind == "reshape" and rows % 2 == 0:
            shape = (rows // 2, columns * 2)
            shapes[Edge(node("Reshape", x, shape=shape), 0)] = shape
        elif kind == "turn":
            shapes[Edge(node("transpose", x), 0)] = (columns, rows)
        elif kind == "join" and rows <= 16:
            y = draw(st.sampled_from(tall))
            shapes[Edge(node("Concat", x, y, dim=0), 0)] = (rows + shapes[y][0], columns)
        elif kind == "cut" and columns % 2 == 0:
            made = node("SliceChannel", x, num_outputs=2, axis=1)
            shapes |= {Edge(made, index): (rows, columns // 2) for index in range(2)}
        elif kind == "row":
            single = [edge for edge in edges if shapes[edge] == (1, columns)] or [x]
            made = node("broadcast_add", draw(st.sampled_from(single)), x)
            shapes[Edge(made, 0)] = (rows, columns)
        else:
            shapes[Edge(node("negative", x), 0)] = (rows, columns)
    made = [edge for edge in shapes if not edge.node.is_variable]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    graph = Graph(tuple(inputs), tuple(outputs))
    return graph, infer_types(graph, [tensor_type((2, 4), FLOAT32), tensor_type((4, 2), FLOAT32)])


@given(graphs(), st.sampled_from(STRATEGIES), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_a_run_in_planned_memory_is_right(drawn, strategy, paths):
    graph, types = drawn
    plan = plan_memory(graph, types, strategy, paths)
    rng = np.random.default_rng(0)
    values = {one: rng.normal(size=types[one][0].shape).astype("f4") for one in graph.inputs}
    wanted = run_plainly(graph, values)
    for a, b in zip(run_in_memory(graph, types, values, plan), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_sharing_more_never_takes_more_than_each_its_own(drawn):
    graph, types = drawn
    size = {one: plan_memory(graph, types, one).num_bytes for one in STRATEGIES}
    inside = {
        edge for one in graph.nodes for edge in (Edge(one, i) for i in range(one.num_outputs))
    }
    inside -= {*graph.outputs, *(Edge(one, 0) for one in graph.inputs)}
    assert size["naive"] == sum(types[edge.node][edge.index].nbytes for edge in inside)
    assert size["both"] <= size["inplace"] <= size["naive"] >= size["co-share"]


def needs(graph):
    """Returns for each node all nodes that it depends on, itself included."""
    found = {}
    for one in graph.nodes:
        found[one] = {one}.union(*(found[edge.node] for edge in one.inputs))
    return found


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_nodes_that_could_run_at_once_share_nothing(drawn):
    """With a path for each node: who writes depends on all who read what was there."""
    graph, types = drawn
    plan = plan_memory(graph, types, "both", paths=len(graph.nodes))
    before, order = needs(graph), {one: i for i, one in enumerate(graph.nodes)}
    for first, start in plan.place.items():
        for second, other in plan.place.items():
            if order[first.node] >= order[second.node]:
                continue
            ends = (start + types[first.node][first.index].nbytes, other)
            if ends[1] < ends[0] and start < other + types[second.node][second.index].nbytes:
                readers = [one for one in graph.nodes if first in one.inputs] or [first.node]
                assert all(one in before[second.node] for one in readers)


def test_branches_get_memory_of_their_own_where_they_shall_run_at_once():
    """x -> a1 -> a2 -> a3 -> out, x -> b1 -> b2 -> out: b's path may not wait for a's."""
    x = variable("x")
    ends = []
    for length in (3, 2):
        edge = Edge(x, 0)
        for _ in range(length):
            edge = Edge(node("transpose", edge), 0)
        ends.append(edge)
    out = node("Concat", *(Edge(node("Reshape", one, shape=(8, 8)), 0) for one in ends), dim=0)
    graph = Graph((x,), (Edge(out, 0),))
    types = infer_types(graph, [tensor_type((8, 8), FLOAT32)])
    # One after the other: the result of a, and two blocks for b to turn between.
    assert plan_memory(graph, types, "both", paths=1).num_bytes == 3 * 256
    assert plan_memory(graph, types, "both", paths=2).num_bytes == 4 * 256
    assert plan_memory(graph, types, "naive").num_bytes == 7 * 256


def test_operators_named_in_the_tables_exist():
    tables = memory_inplace._ELEMENTWISE | memory_inplace._RESHAPES | memory_inplace._NORMALIZATIONS
    assert tables <= {op.name for op in REGISTRY.values()}


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=60))
def test_pieces_of_an_arena_do_not_overlap(steps):
    """Each step takes a piece and gives back some of those that are out, the oldest first."""
    arena, out = Arena(), []
    for size, back in steps:
        offset = arena.take(size)
        assert offset + size <= arena.size
        assert all(offset + size <= a or a + n <= offset for a, n in out)
        out.append((offset, size))
        for _ in range(min(back, len(out)) // 2):
            arena.give_back(*out.pop(0))
    for piece in out:
        arena.give_back(*piece)
    assert arena.take(arena.size or 1) == 0  # what is free is one hole again


# -- symbols ---------------------------------------------------------------------------------------


def mlp():
    x = sym.FullyConnected(sym.var("data"), num_hidden=64, name="fc1")
    x = sym.Activation(x, act_type="relu", name="relu1")
    x = sym.FullyConnected(x, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(x, name="softmax")


def test_an_estimate_adds_up():
    """data (8, 32) -> fc1, relu1 (8, 64) -> fc2 (8, 10) -> softmax (8, 10)."""
    naive = mlp().estimate_memory(strategy="naive", data=(8, 32))
    assert naive.internal == 4 * (8 * 64 + 8 * 64 + 8 * 10)
    both = sym.estimate_memory(mlp(), data=(8, 32))
    assert both.internal == 4 * (8 * 64 + 8 * 10)
    assert both.outputs == 4 * 8 * 10
    assert both.gradients == both.auxiliary == 0
    assert "prediction, strategy 'both'" in str(both)
    assert f"{both.total / 2**20:.2f} MiB" in str(both)


def test_arguments_and_gradients_are_those_of_a_bound_symbol():
    net = sym.BatchNorm(mlp(), name="bn")
    requests = {name: "null" if name == "data" else "write" for name in net.list_arguments()}
    for dtypes in (None, {"data": "float16"}):
        bound = net.simple_bind(hn.cpu(), requests, dtypes, data=(8, 32))
        found = net.estimate_memory(True, type_dict=dtypes, grad_req=requests, data=(8, 32))

        def size(arrays):
            return sum(one.size * np.dtype(one.dtype).itemsize for one in arrays if one is not None)

        assert found.arguments == size(bound.arg_arrays)
        assert found.auxiliary == size(bound.aux_arrays)
        assert found.gradients == size(bound.grad_arrays)
        assert found.outputs == size(bound.outputs)


def test_xla_allocates_what_a_chain_of_products_needs():
    """Of ten products one after the other, two results are alive at a time."""
    x = sym.var("data")
    for number in range(10):
        x = sym.FullyConnected(x, num_hidden=256, no_bias=True, name=f"fc{number}")
    allocated = x.estimate_memory(strategy="xla", data=(512, 256)).internal
    one = 4 * 512 * 256
    assert one <= allocated < 4 * one
    assert x.estimate_memory(strategy="both", data=(512, 256)).internal == 2 * one
    trained = x.estimate_memory(True, "xla", data=(512, 256)).internal
    assert 9 * one <= trained < 14 * one


def test_estimates_refuse_what_they_do_not_know():
    with pytest.raises(ParameterError, match=r"strategy must be 'naive', .* or 'xla', got 'most'"):
        mlp().estimate_memory(strategy="most", data=(8, 32))
    with pytest.raises(MXNetError, match="estimate_memory: the shapes of data"):
        mlp().estimate_memory()
    graph = Graph((variable("x"),), ())
    with pytest.raises(ParameterError, match="got 'xla'"):
        plan_memory(graph, {}, "xla")
    with pytest.raises(ParameterError, match="paths must be at least 1"):
        plan_memory(graph, {}, paths=0)


@pytest.mark.parametrize("name", ["AlexNet", "GoogLeNet (Inception-BN)", "VGG-16", "ResNet-50"])
def test_networks_need_a_half_in_training_and_a_quarter_in_prediction(name, monkeypatch):
    """What MXNet's paper reports, for batches of 128 images."""
    monkeypatch.syspath_prepend(_BENCHMARKS)
    networks = importlib.import_module("networks")
    net = networks.NETWORKS[name]()
    assert len(topological(net.edges)) > 20
    grad_req = {
        one: "null" if one in ("data", "softmax_label") else "write" for one in net.list_arguments()
    }
    for is_train, least in ((False, 4), (True, 2)):
        naive, both = (
            net.estimate_memory(is_train, how, grad_req=grad_req, data=(128, *networks.IMAGE))
            for how in ("naive", "both")
        )
        assert naive.internal >= least * both.internal
