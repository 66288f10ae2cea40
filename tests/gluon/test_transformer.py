"""Attention layers, losses of large vocabularies: against NumPy, and PyTorch where it is there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.errors import OutOfBoundsError, ParameterError, ShapeError
from hybridnet.gluon import nn
from hybridnet.ops.core.alternatives import alternatives_of
from hybridnet.ops.core.registry import get


def _made(block, spread=0.3):
    block.initialize(hn.init.Normal(spread))
    return block


def _softmax(x):
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def _dense(layer, x):
    bias = 0 if layer.bias is None else layer.bias.data().asnumpy()
    return x @ layer.weight.data().asnumpy().T + bias


def _attention(block, x, memory, heads, hidden=None):
    """Multi-head attention head by head; `hidden` says which keys a query does not see."""
    queries, keys, values = (
        _dense(layer, source)
        for layer, source in ((block.query, x), (block.key, memory), (block.value, memory))
    )
    units = queries.shape[-1] // heads
    made = []
    for head in range(heads):
        part = slice(head * units, (head + 1) * units)
        scores = queries[..., part] @ keys[..., part].transpose(0, 2, 1) / np.sqrt(units)
        if hidden is not None:
            scores = np.where(hidden, -np.inf, scores)
        made.append(_softmax(scores) @ values[..., part])
    return _dense(block.proj, np.concatenate(made, -1))


def _layer_norm(layer, x):
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return normal * layer.gamma.data().asnumpy() + layer.beta.data().asnumpy()


_X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
_MEMORY = np.random.default_rng(1).normal(size=(2, 4, 6)).astype("float32")


def test_self_attention_and_attention_to_a_memory():
    block = _made(nn.MultiHeadAttention(8, 2))
    wanted = _attention(block, _X, _X, 2) if block(nd.array(_X)) is not None else None
    np.testing.assert_allclose(block(nd.array(_X)).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    block = _made(nn.MultiHeadAttention(8, 4))
    found = block(nd.array(_X), nd.array(_MEMORY))
    wanted = _attention(block, _X, _MEMORY, 4)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    assert block.key.weight.shape == (8, 6)


@pytest.mark.parametrize("hybridize", [False, True])
def test_masks_lengths_and_causal_attention(hybridize):
    block = _made(nn.MultiHeadAttention(8, 2, causal=True))
    block.hybridize(hybridize)
    later = np.triu(np.ones((5, 5), bool), 1)
    found = block(nd.array(_X)).asnumpy()
    np.testing.assert_allclose(found, _attention(block, _X, _X, 2, later), rtol=1e-4, atol=1e-5)
    lengths = np.array([5, 3])
    short = later | (np.arange(5) >= lengths[:, None, None])
    found = block(nd.array(_X), None, None, nd.array(lengths)).asnumpy()
    np.testing.assert_allclose(found, _attention(block, _X, _X, 2, short), rtol=1e-4, atol=1e-5)
    found = block(nd.array(_X), None, nd.array(~short)).asnumpy()
    np.testing.assert_allclose(found, _attention(block, _X, _X, 2, short), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_cache_gives_what_the_whole_sequence_gives(hybridize):
    rotary = nn.RotaryEmbedding(4)
    block = _made(nn.MultiHeadAttention(8, 2, num_key_heads=1, causal=True, rotary=rotary))
    wanted = block(nd.array(_X)).asnumpy()
    block.hybridize(hybridize)
    cache = nn.KeyValueCache.zeros(1, (2, 7, 1, 4))
    made = []
    for first, end in ((0, 2), (2, 3), (3, 5)):
        made.append(block(nd.array(_X[:, first:end]), None, None, None, cache).asnumpy())
        cache.starts[:] = end
    np.testing.assert_allclose(np.concatenate(made, 1), wanted, rtol=1e-4, atol=1e-5)
    grown = cache.grown(9)
    assert grown.size == 9
    assert (grown.keys[0].asnumpy()[:, :5] == cache.keys[0].asnumpy()[:, :5]).all()


def test_layers_compose_as_symbols():
    for block, inputs in (
        (nn.MultiHeadAttention(8, 2, causal=True), {"x": _X}),
        (nn.MultiHeadAttention(8, 2, rotary=nn.RotaryEmbedding(4)), {"x": _X}),
        (nn.TransformerEncoderLayer(8, 16, 2, dropout=0), {"x": _X}),
        (nn.SinusoidalPositions(8), {"x": _X}),
        (nn.LearnedPositions(6, 8), {"x": _X}),
        (nn.SwiGLU(12, 8), {"x": _X}),
        (nn.RMSNorm(), {"x": _X}),
    ):
        _made(block)
        wanted = block(nd.array(_X))
        symbol = block(*(sym.var(name) for name in inputs))
        values = {name: one.data() for name, one in block.collect_params().items()}
        values |= {name: nd.array(one) for name, one in inputs.items()}
        found = symbol.bind(hn.cpu(), values).forward()[0]
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_encoder_and_decoder_layers(pre_norm):
    layer = _made(nn.TransformerEncoderLayer(8, 12, 2, dropout=0, pre_norm=pre_norm))
    ffn = layer.ffn

    def forward(x):
        return _dense(ffn.down, np.maximum(_dense(ffn.up, x), 0))

    def added(norm, x, part):
        if pre_norm:
            return x + part(_layer_norm(norm, x))
        return _layer_norm(norm, x + part(x))

    wanted = added(layer.attention_norm, _X, lambda x: _attention(layer.attention, x, x, 2))
    wanted = added(layer.ffn_norm, wanted, forward)
    np.testing.assert_allclose(layer(nd.array(_X)).asnumpy(), wanted, rtol=1e-3, atol=1e-4)

    layer = _made(nn.TransformerDecoderLayer(8, 12, 2, dropout=0, pre_norm=pre_norm))
    ffn = layer.ffn
    memory = np.random.default_rng(5).normal(size=(2, 4, 8)).astype("float32")
    later = np.triu(np.ones((5, 5), bool), 1)
    lengths = np.array([4, 2])
    absent = np.arange(4) >= lengths[:, None, None]
    wanted = added(layer.attention_norm, _X, lambda x: _attention(layer.attention, x, x, 2, later))
    wanted = added(
        layer.memory_attention_norm,
        wanted,
        lambda x: _attention(layer.memory_attention, x, memory, 2, absent),
    )
    wanted = added(layer.ffn_norm, wanted, forward)
    found = layer(nd.array(_X), nd.array(memory), nd.array(lengths))
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-3, atol=1e-4)


def test_positions():
    found = nn.SinusoidalPositions(8)(nd.zeros((1, 5, 8))).asnumpy()[0]
    for place in range(5):
        for i in range(4):
            angle = place / 10000 ** (2 * i / 8)
            np.testing.assert_allclose(
                found[place, 2 * i : 2 * i + 2], [np.sin(angle), np.cos(angle)], atol=1e-5
            )
    learned = _made(nn.LearnedPositions(5, 8))
    table = learned.weight.data().asnumpy()
    np.testing.assert_allclose(learned(nd.array(_X)).asnumpy(), _X + table, rtol=1e-6)
    with pytest.raises(OutOfBoundsError, match="index 5 is out of bounds for axis 0"):
        learned(nd.zeros((1, 6, 8))).wait_to_read()


def test_swiglu_and_activations():
    block = _made(nn.SwiGLU(12, 8))
    gate = _dense(block.gate, _X)
    wanted = _dense(block.down, gate / (1 + np.exp(-gate)) * _dense(block.up, _X))
    np.testing.assert_allclose(block(nd.array(_X)).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    x = np.linspace(-4, 4, 33).astype("float32")
    tanh = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(nn.GELU("tanh")(nd.array(x)).asnumpy(), tanh, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        nn.SiLU()(nd.array(x)).asnumpy(), x / (1 + np.exp(-x)), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.MultiHeadAttention(8, 3), "num_heads must divide units"),
        (lambda: nn.MultiHeadAttention(8, 4, 3), "num_key_heads num_heads"),
        (lambda: nn.RotaryEmbedding(3), "units must be even"),
        (lambda: nn.SinusoidalPositions(3), "units must be even"),
        (lambda: nn.GELU("fast"), "approximation must be 'erf' or 'tanh'"),
        (lambda: gluon.loss.LinearCrossEntropyLoss(smoothing=2), "smoothing must be from 0 to 1"),
        (lambda: gluon.loss.SoftmaxCELoss(smoothing=-1), "smoothing must be from 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


# Losses -----------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.integers(1, 9), st.integers(1, 5), st.sampled_from([0.0, 0.3]), st.booleans())
def test_the_loss_of_a_dense_layer_is_that_of_its_scores(rows, classes, smoothing, ignores):
    random = np.random.default_rng(rows * 10 + classes)
    hidden, weight = random.normal(size=(rows, 4)), random.normal(size=(classes, 4))
    label = random.integers(0, classes, rows)
    if ignores:
        label[::2] = -100
    arrays = [nd.array(one, dtype="float64") for one in (hidden, weight)]
    for one in arrays:
        one.attach_grad()
    block = gluon.loss.LinearCrossEntropyLoss(smoothing, -100 if ignores else None)
    with autograd.record():
        loss = block(*arrays, nd.array(label, dtype="int32"))
    loss.backward()
    shares = _softmax(hidden @ weight.T)
    wanted = (1 - smoothing) * np.eye(classes)[np.maximum(label, 0)] + smoothing / classes
    counts = (label >= 0).astype(float)
    expected = -(wanted * np.log(shares)).sum(1) * counts
    np.testing.assert_allclose(loss.asnumpy(), expected, rtol=1e-9, atol=1e-12)
    slopes = (shares - wanted) * counts[:, None]
    np.testing.assert_allclose(arrays[0].grad.asnumpy(), slopes @ weight, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(arrays[1].grad.asnumpy(), slopes.T @ hidden, rtol=1e-9, atol=1e-12)


def test_smoothed_labels_of_scores():
    scores, label = nd.random.normal(shape=(3, 5)), nd.array([0, 4, 2])
    found = gluon.loss.SoftmaxCELoss(smoothing=0.1)(scores, label).asnumpy()
    logs = np.log(_softmax(scores.asnumpy()))
    wanted = -0.9 * logs[np.arange(3), [0, 4, 2]] - 0.1 * logs.mean(1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_scores_in_blocks_give_what_all_scores_give(monkeypatch):
    import jax

    from hybridnet.ops.nn import linear_entropy

    monkeypatch.setattr(linear_entropy, "_MOST_SCORES", 40)
    random = np.random.default_rng(2)
    hidden, weight = random.normal(size=(11, 3)), random.normal(size=(9, 3))
    label, grad = random.integers(0, 9, 11), random.normal(size=11)
    label[3] = -1
    params = {"smoothing": 0.1, "ignore_label": -1}

    def both(name, *arrays):
        runs = get(name).lowering, alternatives_of(name).by_name["blocks"].lowering
        with jax.enable_x64(True):
            return [jax.jit(lambda *x, run=run: run(*x, **params))(*arrays) for run in runs]

    plain, blocks = both("_contrib_linear_cross_entropy", hidden, weight, label)
    for one, other in zip(plain, blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    name = "_backward_linear_cross_entropy"
    plain, blocks = both(name, grad, hidden, weight, label, np.asarray(plain[1]))
    for one, other in zip(plain, blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_labels_outside_are_an_error():
    hidden, weight = nd.ones((2, 3)), nd.ones((4, 3))
    with pytest.raises(OutOfBoundsError, match="index 4 is out of bounds for axis 0 with size 4"):
        nd.contrib.linear_cross_entropy(hidden, weight, nd.array([0, 4])).wait_to_read()
    with pytest.raises(ShapeError, match=r"label \(rows,\)"):
        nd.contrib.linear_cross_entropy(hidden, weight, nd.array([0]))
