"""The pass layout: chains of operators on images with the channels last, one transpose each end."""

import numpy as np
import pytest
from passes_samples import arrays_of, close, context_of, names, run_whole, size

import hybridnet as hn
from hybridnet import nd, passes, sym
from hybridnet.graph.transform import prepare

x = sym.var("x")
SHAPE = (2, 3, 9, 8)
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def turned(symbol, train=False, keep=(), **shapes):
    """Runs the pass over a symbol; compares its values; returns graphs and firings."""
    graph = prepare(symbol.graph, train).graph
    arrays = arrays_of(symbol, **(shapes or {"x": SHAPE}))
    context = context_of(graph, arrays, keep=frozenset(keep))
    made, report = passes.optimize(graph, context, ["layout"])
    if made is not graph:
        close(run_whole(made, arrays), run_whole(graph, arrays))
    return graph, made, report.fired


def transposes(graph):
    """Returns how many transposes there are but those of parameters."""
    return sum(
        node.call is not None
        and node.call.name == "transpose"
        and not (node.inputs[0].node.is_variable and node.inputs[0].node.name != "x")
        for node in graph.nodes
    )


def conv(data=x, name=None, **params):
    given = {"kernel": (3, 3), "num_filter": 4, "pad": (1, 1), **params}
    return sym.Convolution(data, name=name, **given)


def norm(data):
    return sym.BatchNorm(data, fix_gamma=False)


def relu(data):
    return sym.Activation(data, act_type="relu")


def residual():
    """A residual network of two units, a deconvolution and joined branches."""
    body = sym.Pooling(relu(norm(conv())), kernel=(2, 2), stride=(2, 2), pool_type="max")
    for _ in range(2):
        body = relu(body + norm(conv(relu(norm(conv(body))))))
    wide = sym.Deconvolution(body, kernel=(2, 2), stride=(2, 2), num_filter=3)
    both = sym.concat(wide, conv(wide), dim=1)
    scale = sym.var("scale", shape=(1, 7, 1, 1))
    pooled = sym.Pooling(sym.broadcast_mul(both, scale), global_pool=True, pool_type="avg")
    return sym.softmax(sym.FullyConnected(pooled, num_hidden=5))


@pytest.mark.slow
@pytest.mark.parametrize("train", [False, True])
def test_a_network_is_turned_once_at_each_end(train):
    graph, made, fired = turned(residual(), train)
    assert transposes(made) == 2
    # Seven weights and a scale, and the two ends.
    assert size(made) == size(graph) + 7 + 1 + 2
    assert fired == {
        "filters_last": 7,
        "norm_last": 5,
        "pooling_last": 2,
        "elements_last": 8,
        "join_last": 1,
    }


@pytest.mark.parametrize("rank", [3, 5])
def test_other_numbers_of_axes(rank):
    count = rank - 2
    body = sym.Convolution(x, kernel=(2,) * count, num_filter=4, num_group=2)
    body = sym.Pooling(relu(body), kernel=(2,) * count, pool_type="avg", pad=(1,) * count)
    _, made, fired = turned(body, x=(2, 4, 5, 6, 4)[:rank])
    assert transposes(made) == 2
    assert fired == {"filters_last": 1, "pooling_last": 1, "elements_last": 1}


def test_transposes_that_are_there_are_used():
    symbol = sym.transpose(relu(conv(sym.transpose(x, axes=FIRST))), axes=LAST)
    graph, made, fired = turned(symbol, x=(2, 9, 8, 3))
    assert (size(graph), size(made)) == (4, 3)
    assert transposes(made) == 0 and fired["last_of_back"] == 1


def test_what_does_not_follow_from_a_convolution_is_left():
    symbol = sym.Pooling(norm(relu(x)), kernel=(2, 2))
    graph, made, fired = turned(symbol)
    assert made is graph and not fired


@pytest.mark.slow
def test_what_cares_for_the_order_ends_a_chain():
    body = conv()
    for end in (
        sym.Flatten(body),
        sym.sum(body, axis=1),
        sym.softmax(body),
        sym.LeakyReLU(body, act_type="prelu"),
        sym.BatchNorm(body, axis=2),
        sym.concat(body, body, dim=2),
    ):
        shape = (2, 4, 9, 8)
        _, made, fired = turned(sym.exp(end), x=shape)
        assert fired == {"filters_last": 1} and transposes(made) == 2


def test_kept_nodes_have_the_values_they_had():
    symbol = sym.Flatten(conv(relu(conv(name="inner"))))
    _, made, _ = turned(symbol, keep=["inner"])
    assert "inner" in [node.name for node in made.nodes]
    inner = symbol.get_internals()["inner_output"]
    arrays = arrays_of(symbol, x=SHAPE)
    (node,) = [node for node in made.nodes if node.name == "inner"]
    values = [sym.Symbol([type(made.outputs[0])(node, 0)]).graph, inner.graph]
    close(*(run_whole(graph, arrays) for graph in values))


def test_symbols_are_turned_where_it_is_asked_for():
    symbol = sym.Flatten(relu(norm(conv(name="conv"))))
    assert "transpose" not in names(symbol.optimize(x=SHAPE).graph)
    better = symbol.optimize(passes=["layout"], train=True, x=SHAPE)
    assert names(better.graph).count("transpose") == 3
    assert better.list_arguments() == symbol.list_arguments()
    assert better.list_auxiliary_states() == symbol.list_auxiliary_states()
    values = arrays_of(symbol, x=SHAPE)
    results = []
    for one in (symbol, better):
        executor = one.simple_bind(hn.cpu(), x=SHAPE)
        for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
            array[:] = values[name]
        out = executor.forward(is_train=True)[0]
        executor.backward(nd.array(np.cos(np.arange(out.size)).reshape(out.shape)))
        grads = [one.asnumpy() for one in executor.grad_arrays]
        results.append([out.asnumpy(), *grads, *(one.asnumpy() for one in executor.aux_arrays)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_variables_that_are_gone_need_no_shape():
    y = sym.var("y")
    body = sym.exp(conv(x + sym.zeros_like(y), name="conv"))
    better = body.optimize(passes=["fold", "layout"], unsafe=True, x=SHAPE, y=SHAPE)
    assert better.list_arguments() == ["x", "conv_weight", "conv_bias"]
    assert better.infer_shape(x=SHAPE)[0] == [SHAPE, (4, 3, 3, 3), (4,)]


def test_nothing_is_turned_where_nothing_may_change():
    assert names(conv().optimize(passes=["layout"], tolerance=0, x=SHAPE).graph) == ["Convolution"]
