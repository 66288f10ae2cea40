"""Graphs as text: what it looks like, that it reads back equal, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from same_graph import same_graph

from hybridnet import sym
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import FormatError, GraphError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import infer_types
from hybridnet.graph.gradient import REROUTED
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.graph.parse import parse
from hybridnet.graph.text import to_text
from hybridnet.graph.transform import prepare


def float32(*shape):
    return tensor_type(shape, np.dtype(np.float32))


def test_what_it_looks_like():
    x, w = sym.var("x"), sym.var("w", lr_mult=2)
    dense = sym.FullyConnected(x, w, num_hidden=8, no_bias=True, name="fc")
    halves = sym.split(dense, num_outputs=2, name="halves")
    graph = sym.broadcast_add(halves[0], halves[1] * 2, name="broadcast_add").graph
    types = infer_types(graph, (float32(4, 3), float32(8, 3)))
    assert to_text(graph, types) == (
        "%0 = input('x') : float32[4,3]\n"
        "%1 = input('w', attrs={'__lr_mult__': '2'}) : float32[8,3]\n"
        "%2 = FullyConnected(%0, %1, num_hidden=8, no_bias=True, name='fc') : float32[4,8]\n"
        "%3 = SliceChannel(%2, num_outputs=2, name='halves') : float32[4,4], float32[4,4]\n"
        f"%4 = _mul_scalar(%3[1], scalar=2.0, name={graph.nodes[4].name!r}) : float32[4,4]\n"
        "%5 = broadcast_add(%3, %4) : float32[4,4]\n"
        "return %5\n"
    )
    assert same_graph(parse(to_text(graph, types)), graph)


def test_rerouted_gradients_read_back():
    x, y = (sym.var(name).edges[0] for name in "xy")
    node = Node(REROUTED, (x, y), REROUTED.name)
    graph = Graph((x.node, y.node), (Edge(node, 0),))
    assert "%2 = _rerouted(%0, %1)" in to_text(graph)
    assert same_graph(parse(to_text(graph)), graph)


def test_training_state_and_gradients_read_back():
    net = sym.Dropout(sym.BatchNorm(sym.var("x"), name="bn"), p=0.25) * float("inf")
    for graph in (
        prepare(net.graph, True).graph,
        prepare(net.graph, False).graph,
        net.gradient(["bn_gamma"]).graph,
        sym.tanh(sym.dot(sym.var("a"), sym.var("b"))).gradient(["a"]).gradient(["b"]).graph,
    ):
        text = to_text(graph)
        again = parse(text)
        assert same_graph(again, graph)
        assert to_text(again) == text
    assert "train=True" in to_text(prepare(net.graph, True).graph)
    assert "vjp(vjp(dot(" in text


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_names_and_attributes_read_back(name, attrs):
    x = sym.var(name, attr=attrs)
    node = replace((x + 1).edges[0].node, name=name + "%0 : float32[1]", attrs={"__a__": name})
    graph = Graph(x.graph.inputs, (Edge(node, 0),))
    types = {node: (float32(2),)}
    assert same_graph(parse(to_text(graph, types)), graph)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda x, y: x + y, "another operator"),
        (lambda x, y: y - x, "other operands"),
        (lambda x, y: sym.elemwise_sub(x, y, name="other"), "another name"),
        (lambda x, y: sym.elemwise_sub(x, y, name="s", attr={"__k__": "v"}), "an attribute"),
        (lambda x, y: sym.Group([x - y, x]), "another output"),
        (lambda x, y: sym.Group([x, y])[0] * 2, "another number"),
    ],
)
def test_graphs_that_differ(change, difference):
    x, y = sym.var("x"), sym.var("y")
    graphs = []
    for symbol in (sym.elemwise_sub(x, y, name="s"), change(x, y)):
        graphs.append(Graph((x.edges[0].node, y.edges[0].node), symbol.edges))
    assert not same_graph(*graphs), difference
    assert same_graph(graphs[1], graphs[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "last line must be 'return"),
        ("hello", "line 1: must begin with '%0 = '"),
        ("%1 = input('x')\nreturn %1", "line 1: must begin with '%0 = '"),
        ("%0 = input('x')\n%1 = nothing(%0)\nreturn %1", "line 2: there is no operator 'nothing'"),
        ("%0 = input('x')\n%1 = exp(%2)\nreturn %1", "line 2: %2 is not there yet"),
        ("%0 = input('x')\n%1 = exp(%0[1])\nreturn %1", r"line 2: %0 has 1 outputs, got \[1\]"),
        ("%0 = input('x')\n%1 = exp(3)\nreturn %1", "references like %0"),
        ("%0 = input('x')\n%1 = exp(%0, foo=1)\nreturn %1", "unknown parameter 'foo'"),
        ("%0 = input('x')\n%1 = exp(%0, **3)\nreturn %1", "not understood"),
        ("%0 = input('x')\n%1 = %0\nreturn %1", "must apply an operator"),
        ("%0 = input('x')\n%1 = exp(%0\nreturn %1", "must be an expression"),
        ("%0 = input('x')\n%1 = exp(%0, name=open('y'))\nreturn %1", "line 2"),
        ("%0 = input(3)\nreturn %0", r"must be input\('name'\)"),
        ("%0 = input('x', attrs=3)\nreturn %0", "attrs must be a dict"),
        ("%0 = input('x', attrs={1: 'y'})\nreturn %0", "attrs must be a dict of strings"),
        ("%0 = input('x')\nreturn %0\n%1 = exp(%0)", "nothing may follow"),
        ("%0 = input('x')\nreturn %0, (", "must be an expression"),
        ("%0 = input('x')\n%1 = vjp(exp(), wanted=3, given=(0,))(%0)\nreturn %1", "tuples"),
        ("%0 = input('x')\n%1 = vjp(exp())(%0)\nreturn %1", "must have wanted"),
        ("%0 = input('x')\n%1 = vjq(exp())(%0)\nreturn %1", "a gradient must be vjp"),
        ("%0 = " + "(" * 100_000 + "\nreturn %0", "must be an expression"),
    ],
)
def test_bad_text_is_refused_with_its_line(text, message):
    with pytest.raises(FormatError, match=message):
        parse(text)


def test_numbers_that_python_computes_are_shown_and_do_not_read_back():
    x = sym.var("x")
    node = (x * 2).edges[0].node
    asked = replace(node, scalars=(HostScalar(lambda: [1.0], 0),))
    text = str(Graph(x.graph.inputs, (Edge(asked, 0),)))
    assert "_mul_scalar(%0, scalar=<from Python>" in text
    with pytest.raises(FormatError, match="line 2: must be an expression"):
        parse(text)


def test_a_graph_prints_as_its_text_even_when_it_is_not_well_formed():
    x, y = sym.var("x"), sym.var("y")
    graph = sym.elemwise_add(x, y, name="s").graph
    assert str(graph) == to_text(graph)
    assert same_graph(parse(str(graph)), graph)
    stray = Graph(graph.inputs[:1], graph.outputs)
    with pytest.raises(GraphError):
        stray.verify()
    assert "%1 = input('y')" in str(stray)
