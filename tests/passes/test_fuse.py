"""Groups of nodes as one call: values, gradients, and what is refused."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, passes, sym
from hybridnet.base.errors import GraphError


def network():
    """a -> fc -> r -> c; a -> c."""
    a = sym.exp(sym.var("x"), name="a") * 0.5
    fc = sym.FullyConnected(a, num_hidden=4, name="fc")
    r = sym.relu(fc, name="r")
    return sym.elemwise_add(a, r, name="c")


def nodes_of(symbol, *operators):
    return [node for node in symbol.graph.nodes if node.call and node.call.name in operators]


def trained(symbol):
    rng = np.random.default_rng(0)
    shapes = {"x": (2, 4), "fc_weight": (4, 4), "fc_bias": (4,)}
    arrays = {name: nd.array(rng.standard_normal(shape)) for name, shape in shapes.items()}
    grads = {name: nd.zeros(shape) for name, shape in shapes.items()}
    executor = symbol.bind(hn.cpu(), arrays, grads)
    (y,) = executor.forward(is_train=True)
    executor.backward(nd.ones(y.shape))
    return [y.asnumpy(), *(grads[name].asnumpy() for name in shapes)]


def test_groups_are_one_call_with_the_same_gradient():
    symbol = network()
    groups = [nodes_of(symbol, "exp", "_mul_scalar"), nodes_of(symbol, "FullyConnected", "relu")]
    made = sym.Symbol(passes.fused(symbol.graph, groups).outputs)
    calls = [node.call.name for node in made.graph.nodes if node.call]
    assert calls == ["exp+_mul_scalar", "FullyConnected+relu", "elemwise_add"]
    for one, other in zip(trained(symbol), trained(made), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_group_may_be_read_in_several_places():
    symbol = network()
    group = nodes_of(symbol, "_mul_scalar", "FullyConnected", "relu")
    made = passes.fused(symbol.graph, [group])
    (call,) = (node.call for node in made.nodes if isinstance(node.call, passes.FusedCall))
    assert (call.num_outputs, call.weight) == (2, 3)
    for one, other in zip(trained(symbol), trained(sym.Symbol(made.outputs)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_equal_groups_are_one_object():
    calls = []
    for _ in range(2):
        symbol = network()
        made = passes.fused(symbol.graph, [nodes_of(symbol, "FullyConnected", "relu")])
        calls += [node.call for node in made.nodes if isinstance(node.call, passes.FusedCall)]
    assert calls[0] is calls[1]


@pytest.mark.parametrize(
    ("operators", "said"),
    [
        ([("_mul_scalar", "elemwise_add")], "wait for each other in a circle"),
        ([("exp",), ("exp", "_mul_scalar")], "is in two groups"),
    ],
)
def test_groups_that_cannot_be_are_refused(operators, said):
    symbol = network()
    with pytest.raises(GraphError, match=said):
        passes.fused(symbol.graph, [nodes_of(symbol, *names) for names in operators])


def test_what_draws_numbers_is_in_no_group():
    symbol = sym.exp(sym.Dropout(sym.var("x"), p=0.5))
    with pytest.raises(GraphError, match="cannot be part of a group"):
        passes.fused(symbol.graph, [nodes_of(symbol, "Dropout", "exp")])


def test_a_node_of_elsewhere_is_refused():
    with pytest.raises(GraphError, match="no node of the graph"):
        passes.fused(network().graph, [nodes_of(network(), "exp", "_mul_scalar")])
