"""Save and Restore as nodes of a graph: they run, are ordered, pruned and placed as others are."""

from __future__ import annotations

import numpy as np
import pytest
from same_graph import same_graph

import hybridnet as hn
from hybridnet import checkpoint, nd, sym
from hybridnet.base.errors import (
    DTypeError,
    FormatError,
    GraphError,
    MXNetError,
    OpError,
    ParameterError,
    ShapeError,
)
from hybridnet.graph.node import Edge
from hybridnet.graph.parse import parse


def run(symbol, **arrays):
    """Returns the outputs of a symbol, computed."""
    made = {name: nd.array(one, dtype=np.asarray(one).dtype) for name, one in arrays.items()}
    return [one.asnumpy() for one in symbol.bind(hn.cpu(), made).forward()]


def test_a_node_writes_what_was_computed_and_another_reads_it(tmp_path):
    w = sym.var("w")
    saved = checkpoint.Save(
        {"w": w * 2, "n": w.sum()}, tmp_path / "m", step=sym.var("step", dtype="int32")
    )
    assert saved.infer_shape(w=(2, 3), step=(1,))[1] == [()]
    (size,) = run(saved, w=np.ones((2, 3), np.float32), step=np.int32([4]))
    assert size == (tmp_path / "m-4.safetensors").stat().st_size
    found = checkpoint.Restore(tmp_path / "m-4")
    n, w = run(sym.Group([one * 10 for one in found]))
    assert n == 60 and w.tolist() == [[20] * 3] * 2
    again = checkpoint.Restore(tmp_path / "m-4", {"w": (2, 3), "n": ((1,), "float32")})
    assert [one.shape for one in run(again)] == [(2, 3), (1,)]
    assert again.infer_shape()[1] == [(2, 3), (1,)]


def test_the_text_of_a_graph_with_them_reads_back(tmp_path):
    x = sym.var("x")
    saved = checkpoint.Save({"x": x, "y": x + 1}, "run/m", step=sym.var("step"), name="keep")
    node = checkpoint.Restore("run/m-3", {"x": (2, 3), "y": ((), "int64")}).edges[0].node
    after = sym.Symbol([Edge(node.with_controls((saved.edges[0].node,)), i) for i in (0, 1)])
    graph = sym.Group([saved, *after]).graph
    text = str(graph)
    assert "Save(%0, %2, %1, prefix='run/m.safetensors', names=('x', 'y',), has_step=True" in text
    read = parse(text)
    assert same_graph(graph, read) and str(read) == text
    other = text.replace("run/m-3", "run/m-4")
    assert not same_graph(graph, parse(other))
    with pytest.raises(FormatError, match="line 4"):
        parse(text.replace("has_step=True", "step=True"))


def test_what_is_not_asked_for_writes_nothing(tmp_path):
    x = sym.var("x")
    both = sym.Group([x + 1, checkpoint.Save({"x": x}, tmp_path / "m")])
    run(both[0], x=np.float32([1]))
    assert not list(tmp_path.iterdir())
    run(both, x=np.float32([1]))
    assert checkpoint.load_variable(tmp_path / "m", "x") == [1]


def test_a_control_edge_orders_reading_after_writing(tmp_path):
    x = sym.var("x")
    saved = checkpoint.Save({"x": x}, tmp_path / "m")
    node = checkpoint.Restore(tmp_path / "m", {"x": (1,)}).edges[0].node
    after = sym.Symbol([Edge(node.with_controls((saved.edges[0].node,)), 0)])
    assert run(after + x, x=np.float32([3])) == [np.float32([6])]
    assert run(after + x, x=np.float32([5])) == [np.float32([10])]


def test_errors_of_files_name_the_node_s_file_where_a_result_is_read(tmp_path):
    path = checkpoint.Saver({"x": nd.ones((2,))}).save(tmp_path / "m")
    for values, error, words in (
        ({"y": (2,)}, ParameterError, r"m\.safetensors: has no variable 'y'"),
        ({"x": (3,)}, ShapeError, r"m\.safetensors: variable 'x' has another shape"),
        ({"x": ((2,), "int32")}, DTypeError, r"m\.safetensors: variable 'x' has another dtype"),
    ):
        with pytest.raises(error, match=words):
            run(checkpoint.Restore(path, values))
    with pytest.raises(OpError, match=r"n\.safetensors"):
        run(checkpoint.Restore(tmp_path / "n", {"x": (2,)}))
    with pytest.raises(ParameterError, match="has no variable 'y'; it has 'x'"):
        checkpoint.Restore(path, ["y"])
    with pytest.raises(FileNotFoundError, match=r"n\.safetensors"):
        checkpoint.Restore(tmp_path / "n")
    with pytest.raises(OpError, match=r"m\.safetensors"):
        run(checkpoint.Save({"x": sym.var("x")}, f"{path}.safetensors/m"), x=np.float32([1]))


def test_inputs_are_checked_when_the_graph_is(tmp_path):
    x = sym.var("x")
    with pytest.raises(ParameterError, match="'x' must be a Symbol of one output"):
        checkpoint.Save({"x": 3}, tmp_path / "m")
    with pytest.raises(ShapeError, match="step must be one whole number"):
        run(checkpoint.Save({"x": x}, tmp_path / "m", step=x), x=np.float32([1]))


def test_they_have_no_gradient_and_run_inside_loops(tmp_path):
    x = sym.var("x")
    saved = checkpoint.Save({"x": x}, tmp_path / "m")
    bound = sym.broadcast_add(x * x, saved.astype("float32")).simple_bind(hn.cpu(), x=(1,))
    bound.forward(is_train=True, x=nd.array([3.0]))
    bound.backward(nd.ones((1,)))
    assert bound.grad_dict["x"].asscalar() == 6
    inside = sym.contrib.foreach(
        lambda row, _: (checkpoint.Save({"x": row * 2}, tmp_path / "row"), []), x, []
    )[0]
    (sizes,) = run(inside, x=np.float32([[1, 2], [3, 4]]))
    assert sizes.shape == (2,) and sizes[0] == sizes[1] > 0
    assert checkpoint.load_variable(tmp_path / "row", "x").tolist() == [6, 8]
    with pytest.raises(GraphError, match="save"):
        saved.tojson()


def test_they_have_no_place_inside_a_program(tmp_path):
    x = sym.var("x")
    call = checkpoint.Save({"x": x}, tmp_path / "m").edges[0].node.call
    with pytest.raises(MXNetError, match="Save: works on files"):
        call.lower("cpu", [np.ones(2)], [])


def test_nodes_are_placed_and_what_they_need_is_sent_there(tmp_path):
    with hn.device("/cpu:0"):
        x = sym.var("x")
    with hn.device("/cpu:1"):
        saved = checkpoint.Save({"x": sym.square(x)}, tmp_path / "m", name="keep")
        found = checkpoint.Restore(tmp_path / "m", {"x": (2,)}).edges[0].node
    found = sym.Symbol([Edge(found.with_controls((saved.edges[0].node,)), 0)])
    bound = sym.Group([saved, found]).simple_bind(hn.cpu(0), grad_req="null", x=(2,))
    size, values = bound.forward(x=nd.array([1.0, 3.0]))
    assert values.asnumpy().tolist() == [1, 9] and size.context is hn.cpu(1)
    np.testing.assert_array_equal(checkpoint.load_variable(tmp_path / "m", "x"), [1, 9])
