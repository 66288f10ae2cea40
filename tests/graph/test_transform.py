"""Graphs made ready to run: mode, random state, and what operators overwrite."""

from __future__ import annotations

import numpy as np
import pytest
from same_graph import same_graph

from hybridnet import sym
from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import ShapeError
from hybridnet.graph.dtypes import infer_dtypes
from hybridnet.graph.input_shapes import infer_inputs
from hybridnet.graph.node import Edge, Graph
from hybridnet.graph.shapes import infer_shapes
from hybridnet.graph.text import to_text
from hybridnet.graph.transform import prepare, with_train
from hybridnet.ops.core.registry import get


def test_a_graph_without_effects_stays_as_it_is():
    graph = (sym.exp(sym.var("x")) + 1).graph
    for train in (False, True):
        ready = prepare(graph, train)
        assert ready.graph.outputs == graph.outputs
        assert (ready.num_heads, ready.writes, ready.draws) == (1, (), False)


def test_the_mode_is_set_where_it_matters():
    graph = sym.exp(sym.Dropout(sym.var("x"), name="drop"), name="e").graph
    for train in (False, True):
        nodes = {node.name: node for node in with_train(graph, train).nodes}
        assert nodes["drop"].call.train is train
        assert nodes["e"].call is get("exp").bind({})[0]
    # And the original is untouched.
    assert {node.name: node for node in graph.nodes}["drop"].call.train is None


def test_random_states_are_threaded_in_order():
    """state -> drop1 -> drop2 -> state;  x -> drop1 -> drop2."""
    net = sym.Dropout(sym.Dropout(sym.var("x"), name="drop1"), name="drop2")
    ready = prepare(net.graph, True)
    assert ready.draws
    x, state = ready.graph.inputs
    nodes = {node.name: node for node in ready.graph.nodes}
    first, second = nodes["drop1"], nodes["drop2"]
    assert first.inputs == (Edge(x, 0), Edge(state, 0))
    assert second.inputs == (Edge(first, 0), Edge(first, first.num_outputs - 1))
    assert ready.graph.outputs == (Edge(second, 0), Edge(second, second.num_outputs - 1))
    assert ready.writes == (1,)
    ready.graph.verify()


def test_auxiliary_states_become_outputs_in_training_only():
    graph = sym.BatchNorm(sym.var("x"), name="bn").graph
    names = [node.name for node in graph.inputs]
    ready = prepare(graph, True)
    assert [names[i] for i in ready.writes] == ["bn_moving_mean", "bn_moving_var"]
    assert [edge.index for edge in ready.graph.outputs] == [0, 3, 4]
    assert prepare(graph, False).writes == ()


def test_updates_of_one_variable_follow_one_another():
    """Both layers share their moving mean: the second updates what the first has made of it."""
    mean = sym.var("mean")
    first = sym.BatchNorm(sym.var("x"), moving_mean=mean, name="a")
    second = sym.BatchNorm(first, moving_mean=mean, name="b")
    graph = sym.Group([second, mean * 1]).graph
    ready = prepare(graph, True)
    nodes = {node.name: node for node in ready.graph.nodes}
    start = Edge(mean.edges[0].node, 0)
    assert nodes["a"].inputs[3] == start
    assert nodes["b"].inputs[3] == Edge(nodes["a"], 3)
    assert ready.graph.outputs[1].node.inputs == (start,)  # a mere reader
    number = [node.name for node in graph.inputs].index("mean")
    written = ready.graph.outputs[ready.num_heads + ready.writes.index(number)]
    assert written == Edge(nodes["b"], 3)


def test_operators_outside_layers_overwrite_in_either_mode():
    w, g, m = map(sym.var, "wgm")
    graph = sym.sgd_mom_update(w, g, m, lr=0.5).graph
    for train in (False, True):
        assert prepare(graph, train).writes == (2,)


def test_gradient_calls_follow_the_mode():
    net = sym.LeakyReLU(sym.var("x"), act_type="rrelu", name="r")
    once = with_train(net.gradient(["x"]).graph, True)
    again = with_train(net.gradient(["x"]).graph, True)
    assert same_graph(once, again)
    calls = [node.call for node in once.nodes if not node.is_variable]
    assert calls == [node.call for node in again.nodes if not node.is_variable]
    assert "train=False" in to_text(with_train(once, False))


# -- inference -------------------------------------------------------------------------------


def shapes_of(symbol, **known):
    graph = symbol.graph
    by_name = {node.name: node for node in graph.inputs}
    dtypes = infer_dtypes(graph.nodes, {}, FLOAT32)
    found = infer_shapes(graph.nodes, {by_name[name]: one for name, one in known.items()}, dtypes)
    return {node.name: found[Edge(node, 0)] for node in graph.nodes}


def test_shapes_go_backward_through_operators_that_keep_them():
    """x -> relu -> exp -> (+ y), y known."""
    x, y = sym.var("x"), sym.var("y")
    found = shapes_of(sym.exp(sym.relu(x)) + y, y=(3, 4))
    assert found["x"] == (3, 4)


def test_unknown_dimensions_stay_unknown_where_they_matter():
    x = sym.var("x")
    found = shapes_of(sym.concat(x, x, dim=0, name="two"), x=(-1, 3))
    assert found["two"] == (-1, 3)
    found = shapes_of(sym.Pooling(x, kernel=(2, 2), stride=(2, 2), name="p"), x=(-1, 3, 8, -1))
    assert found["p"] == (-1, 3, 4, -1)
    found = shapes_of(sym.reshape(x, shape=(3, 5), name="r"), x=(-1, 3))
    assert found["r"] is None  # no size that was tried can be reshaped so


def test_two_parts_of_knowledge_join():
    x, y, z = map(sym.var, "xyz")
    found = shapes_of(sym.add_n(x, y, z), x=(-1, 3, -1), y=(2, -1, -1), z=(-1, -1, 4))
    assert found["x"] == found["y"] == found["z"] == (2, 3, 4)


def test_contradictions_between_consumers():
    x = sym.var("x")
    both = sym.Group(
        [
            sym.elemwise_add(x, sym.var("a"), name="first"),
            sym.elemwise_add(x, sym.var("b"), name="second"),
        ]
    )
    with pytest.raises(ShapeError, match=r"node 'second'.*\[2,3\].*\[3,2\]"):
        shapes_of(both, a=(2, 3), b=(3, 2))


def test_dtypes_default_only_where_nothing_follows():
    x, y, z = map(sym.var, "xyz")
    graph = sym.Group([x + y, sym.exp(z)]).graph
    by_name = {node.name: node for node in graph.inputs}
    found = infer_dtypes(graph.nodes, {by_name["y"]: np.dtype(np.float16)}, FLOAT32)
    names = {node.name: found[Edge(node, 0)].name for node in graph.inputs}
    assert names == {"x": "float16", "y": "float16", "z": "float32"}


def test_inference_of_a_graph_without_nodes():
    x = sym.var("x").edges[0]
    assert infer_shapes([x.node], {}, {}) == {x: None}
    assert Graph((x.node,), (x,)).nodes == (x.node,)


# -- from outputs to inputs ------------------------------------------------------------------


def window(shapes):
    """Windows of 3 with stride 2 along the first axis; the second is doubled."""
    ((rows, columns),) = shapes
    return [((rows - 3) // 2 + 1, 2 * columns)]


@pytest.mark.parametrize(
    ("output", "found"),
    [((4, 10), (-1, 5)), ((4, 9), (-1, -1)), ((-1, 8), (-1, 4)), (None, (-1, -1))],
)
def test_only_what_one_size_explains_is_traced_back(output, found):
    """Two row counts give the same windows, and no column count an odd width."""
    assert list(infer_inputs(window, [(-1, -1)], [output])) == [found]


def joined(shapes):
    """Joins along the second axis; the first must be equal."""
    if len({shape[0] for shape in shapes}) > 1:
        raise ShapeError("different")
    return [(shapes[0][0], sum(shape[1] for shape in shapes))]


def test_dimensions_that_must_be_equal_are_found_together():
    found = infer_inputs(joined, [(-1, 2), (-1, 3), (-1, 4)], [(7, -1)])
    assert list(found) == [(7, 2), (7, 3), (7, 4)]


def test_what_may_broadcast_is_not_traced_back():
    def added(shapes):
        return [np.broadcast_shapes(*shapes)]

    def checked(shapes):
        try:
            return added(shapes)
        except ValueError as error:
            raise ShapeError(str(error)) from error

    assert list(infer_inputs(checked, [(-1, 3), (-1, 3)], [(2, 3)])) == [(-1, 3), (-1, 3)]
