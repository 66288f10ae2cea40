"""Shapes that a graph computes are resolved once the types and values that they come from are."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from hybridnet.base.errors import GraphError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.compat.tf1.graph.by_value import ByValue
from hybridnet.compat.tf1.graph.resolve import needed_values, resolve
from hybridnet.graph.evaluate import evaluate, infer_types
from hybridnet.graph.gradient import gradients
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.core.registry import get


def _edge(name, *inputs, **attrs):
    call, scalars = get(name).bind(attrs)
    return Edge(Node(call, inputs, name, scalars), 0)


def _by_value(name, inputs, given, **attrs):
    call = ByValue(get(name), len(inputs), attrs, tuple(given))
    return Edge(Node(call, (*inputs, *given.values()), f"late_{name}"), 0)


def _run(graph, arrays, values=None):
    types = [tensor_type(one.shape, one.dtype) for one in arrays]
    resolved = resolve(graph, types, values)
    infer_types(resolved, types)
    with jax.enable_x64(True):
        return [np.asarray(one) for one in evaluate(resolved, "cpu", arrays)]


def _rows_first():
    """x -> shape_array -> first element -> [it, -1] -> reshape(x, .)."""
    x = variable("x")
    rows = _edge("slice_axis", _edge("shape_array", Edge(x, 0)), axis=0, begin=0, end=1)
    shape = _edge("Concat", rows, _edge("_literal", value="-1", shape=(1,), dtype="int64"), dim=0)
    return x, _by_value("_np_reshape", [Edge(x, 0)], {"newshape": shape})


def test_a_shape_that_follows_from_types():
    x, reshaped = _rows_first()
    graph = Graph((x,), (reshaped,))
    assert needed_values(graph) == ()
    for shape in ((2, 3, 4), (5, 1), (3, 2, 2)):
        (found,) = _run(graph, [np.zeros(shape, np.float32)])
        assert found.shape == (shape[0], int(np.prod(shape[1:])))


def test_a_shape_that_follows_from_a_value_given():
    n, x = variable("n"), variable("x")
    zeros = _by_value("_zeros", [], {"shape": _edge("stack", Edge(n, 0), Edge(n, 0), num_args=2)})
    graph = Graph((n, x), (zeros, Edge(x, 0)))
    assert needed_values(graph) == (n,)
    arrays = [np.array(3, np.int32), np.ones(2, np.float32)]
    found, _ = _run(graph, arrays, {n: arrays[0]})
    np.testing.assert_array_equal(found, np.zeros((3, 3)))


def test_gradients_of_first_and_second_order_pass():
    x, reshaped = _rows_first()
    head = variable("head")
    product = _edge("broadcast_mul", reshaped, reshaped)
    (first,) = gradients(Graph((x,), (product,)), [x], {0: Edge(head, 0)})
    (second,) = gradients(Graph((x, head), (first,)), [x], {0: Edge(variable("more"), 0)})
    data = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    weights = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    (found,) = _run(Graph((x, head), (first,)), [data, weights])
    np.testing.assert_allclose(found, 2 * data * weights[..., None])
    inputs = [node for node in Graph((), (second,)).nodes if node.is_variable]
    given = {"x": data, "head": weights, "more": np.ones_like(data)}
    (found,) = _run(Graph(tuple(inputs), (second,)), [given[node.name] for node in inputs])
    np.testing.assert_allclose(found, 2 * weights[..., None])


def test_a_graph_without_such_calls_is_returned_as_it_is():
    x = variable("x")
    graph = Graph((x,), (_edge("negative", Edge(x, 0)),))
    assert resolve(graph, [tensor_type((2,), np.dtype(np.float32))]) is graph


def test_a_shape_that_only_a_run_can_tell_is_refused():
    n = variable("n")
    state = Edge(Node(get("_random_randint").bind({"low": 1, "high": 5})[0], (), "draw"), 0)
    drawn = Graph((), (_by_value("_zeros", [], {"shape": state}),))
    with pytest.raises(GraphError, match=r"at node 'late__zeros' .*'draw'.* only a run can tell"):
        resolve(drawn, [])
    with pytest.raises(GraphError, match="must follow from constants, shapes and what is fed"):
        resolve(
            Graph((n,), (_by_value("_zeros", [], {"shape": Edge(n, 0)}),)),
            [tensor_type((1,), np.dtype(np.int32))],
        )


def test_a_shape_that_does_not_fit_names_the_node():
    x, reshaped = _rows_first()
    bad = _by_value(
        "_np_reshape", [reshaped], {"newshape": _edge("_literal", value="7", dtype="int32")}
    )
    with pytest.raises(ShapeError, match="at node 'late__np_reshape'"):
        resolve(Graph((x,), (bad,)), [tensor_type((2, 3), np.dtype(np.float32))])
    with pytest.raises(
        GraphError, match=r"_np_reshape: .*hybridnet\.compat\.tf1\.graph\.resolve must be run"
    ):
        infer_types(Graph((x,), (bad,)), [tensor_type((2, 3), np.dtype(np.float32))])


def test_nodes_that_run_after_others_keep_their_place():
    x, reshaped = _rows_first()
    before = _edge("negative", Edge(x, 0))
    after = _edge("abs", reshaped).node.with_controls((before.node,))
    graph = Graph((x,), (_edge("square", Edge(after, 0)),), (before.node,))
    made = resolve(graph, [tensor_type((2, 3), np.dtype(np.float32))])
    (absolute,) = (node for node in made.nodes if node.name == "abs")
    assert absolute.controls == made.targets
    assert [node.name for node in made.targets] == ["negative"]
