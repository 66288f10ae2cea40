"""The pass remap: biases, transposes and batch normalization inside the operators beside them."""

import numpy as np
import pytest
from passes_samples import (
    arrays_of,
    assert_same_bits,
    close,
    context_of,
    names,
    run,
    run_whole,
    size,
)

import hybridnet as hn
from hybridnet import nd, passes, sym
from hybridnet.graph.transform import prepare

x, b = sym.var("x"), sym.var("b")


def remapped(symbol, train=False, how=run_whole, **shapes):
    """Runs the pass over a symbol; returns graph and, if that changed, values before and after."""
    graph = prepare(symbol.graph, train).graph
    arrays = arrays_of(symbol, **shapes)
    made, report = passes.optimize(graph, context_of(graph, arrays), ["remap"])
    if made is graph:
        return graph, made, report.fired, [], []
    return graph, made, report.fired, how(graph, arrays), how(made, arrays)


def convolution(data=x, layout="NCHW", **params):
    given = {"kernel": (3, 3), "num_filter": 4, "layout": layout, "name": "conv"}
    return sym.Convolution(data, **{**given, **params})


# -- bias ------------------------------------------------------------------------------------


def along(axis, rank):
    shape = [1] * rank
    shape[axis] = -1
    return sym.reshape(b, shape=tuple(shape))


BIASED = {
    "dense": (sym.FullyConnected(x, num_hidden=4, no_bias=True), b, (3, 5)),
    "rows": (sym.FullyConnected(x, num_hidden=4, no_bias=True, flatten=False), b, (3, 2, 5)),
    "nchw": (convolution(no_bias=True), along(1, 4), (2, 3, 5, 6)),
    "nhwc": (convolution(no_bias=True, layout="NHWC"), b, (2, 5, 6, 3)),
    "transposed": (
        sym.Deconvolution(x, kernel=(3, 3), num_filter=4, stride=(2, 2)),
        along(0, 3),
        (2, 3, 5, 6),
    ),
}


@pytest.mark.parametrize("name", BIASED)
def test_the_bias_that_is_added_is_the_operator_s_own(name):
    before, bias, shape = BIASED[name]
    for symbol in (sym.broadcast_add(before, bias), sym.broadcast_add(bias, before)):
        _, made, fired, wanted, got = remapped(sym.relu(symbol), how=run, x=shape, b=(4,))
        assert names(made) == [before.graph.nodes[-1].call.name, "relu"]
        assert fired == {"bias_of_sum": 1}
        assert_same_bits(got, wanted, made)


def test_other_sums_are_left():
    dense = sym.FullyConnected(x, num_hidden=4, no_bias=True)
    with_bias = sym.FullyConnected(x, num_hidden=4)
    for symbol, shape in (
        (sym.broadcast_add(dense, b), (3, 1)),
        (sym.broadcast_add(dense, b), (1,)),
        (sym.broadcast_add(with_bias, b), (4,)),
        (sym.Group([sym.broadcast_add(dense, b), dense]), (4,)),
        (sym.broadcast_add(convolution(no_bias=True), b), (4,)),
    ):
        data = (3, 5) if "kernel" not in str(symbol.tojson()) else (2, 3, 5, 6)
        graph, made, fired, _, _ = remapped(symbol, x=data, b=shape)
        assert made is graph and not fired


# -- products --------------------------------------------------------------------------------


def test_attention_reads_its_keys_as_they_lie():
    q, k, v = sym.var("q"), sym.var("k"), sym.var("v")
    scores = sym.batch_dot(q, sym.transpose(k, axes=(0, 2, 1))) / 4.0
    symbol = sym.batch_dot(sym.softmax(scores), v)
    graph, made, fired, wanted, got = remapped(symbol, q=(2, 7, 16), k=(2, 9, 16), v=(2, 9, 5))
    assert (size(graph), size(made)) == (5, 4)
    assert fired == {"batch_dot_of_transposed_right": 1}
    close(got, wanted)


def test_transposes_on_both_sides_come_out_as_none():
    a, c = sym.var("a"), sym.var("c")
    symbol = sym.dot(sym.transpose(a), sym.transpose(c), transpose_a=True, transpose_b=True)
    graph, made, _, wanted, got = remapped(symbol, a=(3, 4), c=(4, 5))
    assert (size(graph), size(made)) == (3, 1)
    assert made.nodes[-1].call.attrs["transpose_a"] is False
    close(got, wanted)


def test_other_transposes_stay():
    a, c = sym.var("a"), sym.var("c")
    symbol = sym.batch_dot(sym.transpose(a, axes=(1, 0, 2)), c)
    assert not remapped(symbol, a=(3, 2, 4), c=(2, 4, 5))[2]


# -- batch normalization ---------------------------------------------------------------------


def norm(data, axis=1, **params):
    return sym.BatchNorm(data, axis=axis, name="bn", **{"fix_gamma": False, **params})


NORMALIZED = {
    "plain": (norm(convolution(no_bias=True)), (4, 3, 18, 18), 2, 8),
    "bias": (norm(convolution()), (4, 3, 18, 18), 2, 10),
    "fixed": (norm(convolution(), fix_gamma=True, eps=0.1), (4, 3, 18, 18), 2, 9),
    "nhwc": (norm(convolution(layout="NHWC"), axis=-1), (4, 18, 18, 3), 2, 10),
    "groups": (norm(convolution(num_filter=6, num_group=3)), (4, 3, 18, 18), 2, 10),
    "dense": (norm(sym.FullyConnected(x, num_hidden=4)), (200, 5), 2, 10),
    "rows": (
        norm(sym.FullyConnected(x, num_hidden=4, flatten=False), axis=2),
        (50, 4, 5),
        2,
        10,
    ),
    "transposed": (
        norm(sym.Deconvolution(x, kernel=(2, 2), num_filter=4, stride=(2, 2))),
        (4, 3, 10, 11),
        2,
        8,
    ),
}


@pytest.mark.parametrize("name", NORMALIZED)
def test_a_batch_norm_outside_training_is_a_part_of_the_weight(name):
    symbol, shape, before, after = NORMALIZED[name]
    graph, made, fired, wanted, got = remapped(symbol, x=shape)
    assert fired == {"fold_batch_norm": 1}
    # All but the last work on parameters only.
    assert (size(graph), size(made)) == (before, after)
    assert names(made)[-1] == names(graph)[0]
    assert made.outputs[0].node.name == "bn"
    close(got, wanted)


def test_what_is_folded_can_be_bound_and_follows_its_weights():
    symbol = sym.relu(norm(convolution(name="conv")))
    better = symbol.optimize(x=(4, 3, 18, 18))
    assert sorted(better.list_arguments()) == sorted(symbol.list_arguments())
    assert better.list_auxiliary_states() == symbol.list_auxiliary_states()
    bound = [one.simple_bind(hn.cpu(), x=(4, 3, 18, 18)) for one in (symbol, better)]
    values = arrays_of(symbol, x=(4, 3, 18, 18))
    for factor in (1, 3):
        results = []
        for executor in bound:
            for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
                array[:] = values[name] * factor
            results.append(executor.forward(is_train=False)[0].asnumpy())
        close(results[1:], results[:1])


def test_frozen_statistics_are_folded_in_training_too_with_the_same_gradients():
    symbol = sym.tanh(norm(convolution(), use_global_stats=True))
    better = symbol.optimize(train=True, x=(4, 3, 18, 18))
    assert (size(symbol.graph), size(better.graph)) == (3, 11)
    values = arrays_of(symbol, x=(4, 3, 18, 18))
    results = []
    for one in (symbol, better):
        executor = one.simple_bind(hn.cpu(), x=(4, 3, 18, 18))
        for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
            array[:] = values[name]
        out = executor.forward(is_train=True)[0]
        executor.backward(nd.array(np.cos(np.arange(out.size)).reshape(out.shape)))
        grads = [executor.grad_dict[name].asnumpy() for name in symbol.list_arguments()]
        aux = [array.asnumpy() for array in executor.aux_arrays]
        results.append([out.asnumpy(), *grads, *aux])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * abs(other).max())


def test_batch_norms_that_must_stay():
    shape = (4, 3, 18, 18)
    conv = convolution()
    for symbol, train in (
        (norm(conv), True),
        (sym.Group([norm(conv), conv]), False),
        (norm(conv, axis=2), False),
        (norm(sym.relu(conv)), False),
        (norm(convolution(num_filter=4, kernel=(18, 18))), False),
        (norm(convolution(num_filter=4, kernel=(5, 5))), False),
        (norm(sym.Deconvolution(x, kernel=(2, 2), num_filter=6, num_group=3)), False),
    ):
        _, made, fired, _, _ = remapped(symbol, train, x=shape)
        assert not fired, made


def test_exact_rules_only_where_nothing_may_change():
    symbol = sym.relu(norm(convolution()))
    assert size(symbol.optimize(tolerance=0, x=(4, 3, 18, 18)).graph) == 3


# -- siblings --------------------------------------------------------------------------------


def heads(*widths, **params):
    made = [
        sym.FullyConnected(x, num_hidden=width, name=f"head{number}", **params)
        for number, width in enumerate(widths)
    ]
    return sym.Group([sym.tanh(made[0]), *made[1:]])


@pytest.mark.parametrize(
    ("params", "shape", "joined"),
    [
        ({}, (512, 4, 64), 2),
        ({"no_bias": True}, (600, 256), 1),
        ({"flatten": False}, (64, 8, 256), 2),
    ],
)
def test_narrow_products_with_one_array_are_one(params, shape, joined):
    graph, made, fired, wanted, got = remapped(heads(5, 12, 4, **params), x=shape)
    assert names(made).count("FullyConnected") == 1
    # Joined parameters, a product, and three slices of it.
    assert (size(graph), size(made)) == (4, joined + 1 + 3 + 1)
    assert fired == {"sibling_products": 1}
    assert [edge.node.name for edge in made.outputs[1:]] == ["head1", "head2"]
    close(got, wanted)


def test_products_that_are_faster_alone_stay():
    plain = sym.FullyConnected(x, num_hidden=4, no_bias=True)
    other = sym.FullyConnected(x, sym.var("w", shape=(4, 256)) * 2, num_hidden=4, no_bias=True)
    for symbol, shape in (
        (heads(4, 13), (512, 256)),
        (heads(4, 3), (512, 256)),
        (heads(4, 8), (511, 256)),
        (heads(4, 8), (512, 255)),
        (heads(*[12] * 9), (512, 256)),
        (heads(4), (512, 256)),
        (sym.Group([plain, other]), (512, 256)),
        (sym.Group([heads(4), plain]), (512, 256)),
    ):
        assert not remapped(symbol, x=shape)[2]


def test_siblings_stay_for_training_and_where_nothing_may_change():
    symbol = heads(4, 8)
    for params in ({"train": True}, {"tolerance": 0}):
        made = symbol.optimize(x=(512, 256), **params).graph
        assert names(made).count("FullyConnected") == 2
    better = symbol.optimize(x=(512, 256))
    assert names(better.graph).count("FullyConnected") == 1
    assert sorted(better.list_arguments()) == sorted(symbol.list_arguments())
    assert better.simple_bind(hn.cpu(), x=(512, 256)).forward()[1].shape == (512, 8)
