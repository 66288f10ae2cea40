"""Attention: against loops over scores in NumPy, in blocks and at once, and what it refuses."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest
from helpers import numeric_gradient, run_gradient, run_op
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.errors import DTypeError, OutOfBoundsError, ParameterError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.alternatives import OperandType, Site, alternatives_of
from hybridnet.ops.core.registry import get
from hybridnet.ops.nn.attention import tiles

_NAME = "_contrib_dot_product_attention"
_BACKWARD = "_backward_dot_product_attention"
_OPTIONAL = ("mask", "bias", "lengths", "starts")


def _reference(q, k, v, *, mask, bias, lengths, starts, causal, window, scale):
    """Attention score by score."""
    batch, queries, heads, units = q.shape
    keys, key_heads = k.shape[1:3]
    full = (batch, heads, queries, keys)
    output = np.zeros((*q.shape[:3], v.shape[3]))
    if mask is not None and mask.ndim == 3:
        mask = mask[:, None]
    columns = np.arange(keys)
    for b, h, i in np.ndindex(batch, heads, queries):
        of = h // (heads // key_heads)
        scores = k[b, :, of] @ q[b, i, h] * (units**-0.5 if scale is None else scale)
        place = i + (keys - queries if starts is None else starts[b])
        seen = np.ones(keys, bool)
        if bias is not None:
            scores = scores + np.broadcast_to(bias, full)[b, h, i]
        if mask is not None:
            seen &= np.broadcast_to(mask, full)[b, h, i] != 0
        if lengths is not None:
            seen &= columns < (lengths[b] if lengths.ndim == 1 else lengths[b, i])
        if causal:
            seen &= columns <= place
        if window is not None:
            seen &= abs(place - columns) < window
        if seen.any():
            shares = np.where(seen, np.exp(scores - scores[seen].max()), 0)
            output[b, i, h] = shares / shares.sum() @ v[b, :, of]
    return output


@st.composite
def _attentions(draw, lengths):
    """Draws inputs, float64, and parameters."""
    batch, key_heads, group = (draw(st.integers(1, 2)) for _ in range(3))
    units, value_units = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    queries, keys = draw(lengths), draw(lengths)
    heads = key_heads * group
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    inputs = [
        random.normal(size=(batch, queries, heads, units)),
        random.normal(size=(batch, keys, key_heads, units)),
        random.normal(size=(batch, keys, key_heads, value_units)),
    ]
    full = (batch, heads, queries, keys)
    ones = st.tuples(*(st.booleans() for _ in full))

    def shape():
        return tuple(1 if one else size for one, size in zip(draw(ones), full, strict=True))

    given = {}
    if draw(st.booleans()):
        mask = random.random(shape()) < 0.7
        given["mask"] = mask[:, 0] if draw(st.booleans()) and mask.shape[1] == 1 else mask
    if draw(st.booleans()):
        given["bias"] = random.normal(size=shape())
    if draw(st.booleans()):
        size = (batch, queries) if draw(st.booleans()) else batch
        given["lengths"] = random.integers(0, keys + 1, size)
    if draw(st.booleans()):
        given["starts"] = random.integers(0, keys + 1, batch)
    attrs = {
        "causal": draw(st.booleans()),
        "window": draw(st.none() | st.integers(1, 2 * keys)),
        "scale": draw(st.none() | st.floats(0.1, 2)),
    }
    return inputs, given, attrs


def _flags(given):
    return {f"use_{name}": True for name in given}


@pytest.mark.slow
@settings(max_examples=60)
@given(_attentions(st.integers(1, 7)))
def test_attention_is_what_loops_give(drawn):
    inputs, given, attrs = drawn
    rest = {name: given.get(name) for name in _OPTIONAL}
    wanted = _reference(*inputs, **rest, **attrs)
    found = run_op(_NAME, *inputs, *given.values(), **attrs, **_flags(given))[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    arrays = [nd.array(one, dtype=one.dtype) for one in inputs]
    others = {name: nd.array(one, dtype=one.dtype) for name, one in given.items()}
    eager = nd.contrib.dot_product_attention(*arrays, **others, **attrs)
    np.testing.assert_allclose(eager.asnumpy(), wanted, rtol=1e-9, atol=1e-9)


def _both(name, arrays, params):
    """Runs an operator's own lowering and the one in blocks, compiled."""
    option = alternatives_of(name).by_name["blocks"]
    keywords = dict(get(name).bind(params, False)[0].attrs)
    with jax.enable_x64(True):
        return [
            [
                np.asarray(one)
                for one in jax.jit(
                    lambda *inputs, run=run: run(*inputs, train=False, platform="cpu", **keywords)
                )(*arrays)
            ]
            for run in (get(name).lowering, option.lowering)
        ]


@pytest.mark.slow
@settings(max_examples=12)
@given(_attentions(st.integers(65, 330)))
def test_blocks_give_what_all_scores_give(drawn):
    inputs, given, attrs = drawn
    params = {**attrs, **_flags(given)}
    arrays = [*inputs, *given.values()]
    plain, blocks = _both(_NAME, arrays, params)
    for one, other in zip(plain, blocks, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    grad = np.random.default_rng(1).normal(size=plain[0].shape)
    wanted = tuple(i for i, one in enumerate((*"qkv", *given)) if one in (*"qkv", "bias"))
    params["wanted"] = wanted
    plain, blocks = _both(_BACKWARD, [*arrays, *plain, grad], params)
    for one, other, number in zip(plain, blocks, wanted, strict=True):
        assert one.shape == arrays[number].shape
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("keys", [130, 132, 131, 129])
def test_dropout_draws_what_the_operator_dropout_draws(keys):
    random = np.random.default_rng(0)
    inputs = [random.normal(size=(2, n, 3, 4)).astype("float32") for n in (150, keys, keys)]
    state = np.array([1, 2, 0], np.uint32)  # as run_op begins
    keywords = dict(get(_NAME).bind({"dropout": 0.3}, True)[0].attrs)
    keywords.update(train=True, state=state)
    q, k, v = (one.transpose(0, 2, 1, 3) for one in inputs)
    scores = np.exp(q @ k.transpose(0, 1, 3, 2) / 2)
    shares = scores / scores.sum(-1, keepdims=True)
    dropped = run_op("Dropout", shares, p=0.3, train=True, seed=(1 << 32) + 2)[0]
    wanted = (dropped @ v).transpose(0, 2, 1, 3)
    on_host = run_op(_NAME, *inputs, train=True, dropout=0.3, seed=(1 << 32) + 2)[0]
    np.testing.assert_allclose(on_host, wanted, rtol=1e-3, atol=1e-5)
    runs = get(_NAME).lowering, alternatives_of(_NAME).by_name["blocks"].lowering
    with jax.enable_x64(True):
        made = [
            jax.jit(lambda *x, run=run: run(*x, platform="cpu", **keywords))(*inputs)[0]
            for run in runs
        ]
    for one in made:
        np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-5)


def test_dropout_keeps_the_mean_and_is_off_outside_training():
    ones = nd.ones((4, 64, 2, 8))
    with autograd.record():
        made = nd.contrib.dot_product_attention(ones, ones, ones, dropout=0.5).asnumpy()
    assert abs(made.mean() - 1) < 0.05
    assert made.std() > 0.01
    still = nd.contrib.dot_product_attention(ones, ones, ones, dropout=0.5).asnumpy()
    np.testing.assert_allclose(still, 1, rtol=1e-6)
    with autograd.record():
        none = nd.contrib.dot_product_attention(ones, ones, ones, dropout=1.0).asnumpy()
    assert (none == 0).all()


def test_gradients_of_second_order():
    random = np.random.default_rng(3)
    inputs = [random.normal(size=(1, 3, 2, 2)) for _ in range(3)]
    weights = random.normal(size=(1, 3, 2, 2))

    def slope(q, k, v):
        """Returns the sum of squares of the gradient by the queries."""
        arrays = [nd.array(one, dtype="float64") for one in (q, k, v)]
        for one in arrays:
            one.attach_grad()
        with autograd.record():
            made = nd.contrib.dot_product_attention(*arrays, causal=True)
            head = (made * nd.array(weights, dtype="float64")).sum()
            (grad,) = autograd.grad(head, [arrays[0]], create_graph=True)
            total = (grad * grad).sum()
        total.backward()
        return total.asscalar(), [one.grad.asnumpy() for one in arrays]

    _, found = slope(*inputs)
    for number in range(3):
        wanted = numeric_gradient(lambda *x: slope(*x)[0], inputs, number, step=1e-5)
        np.testing.assert_allclose(found[number], wanted, rtol=1e-4, atol=1e-6)


def test_numpy_computes_many_scores_in_blocks(monkeypatch):
    random = np.random.default_rng(4)
    inputs = [random.normal(size=(1, 70, 2, 3)) for _ in range(3)]
    bias, grad = random.normal(size=(1, 2, 70, 70)), random.normal(size=(1, 70, 2, 3))

    def both():
        attrs = {"causal": True, "window": 9, "use_bias": True}
        made = run_op(_NAME, *inputs, bias, **attrs)[0]
        return [made, *run_gradient(_NAME, *inputs, bias, heads=[grad], **attrs)]

    plain = both()
    for name, most in (("_MANY", 4000), ("_TILE", 512), ("_LEAST", 8)):
        monkeypatch.setattr(tiles, name, most)
    for one, other in zip(plain, both(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_scores_are_never_there_all_at_once():
    """A hundred thousand times the scores of a block would be 4 GB."""
    length = 32768
    sizes = jax.ShapeDtypeStruct((1, length, 1, 8), "float32")
    keywords = dict(get(_NAME).bind({"causal": True}, False)[0].attrs)
    run = alternatives_of(_NAME).by_name["blocks"].lowering
    lowered = jax.jit(lambda *x: run(*x, train=False, platform="cpu", **keywords)).lower(
        *[sizes] * 3
    )
    used = lowered.compile().memory_analysis().temp_size_in_bytes
    assert used < length * length * 4 / 50


def test_long_sequences_are_cut_and_short_ones_are_not():
    def chosen(queries, keys, wanted=None):
        operands = tuple(
            OperandType((2, length, 4, 8), np.dtype("float32")) for length in (queries, keys, keys)
        )
        call, _ = get(_NAME).bind({"causal": True}, False)
        site = Site("cpu", call, operands, wanted)
        of = alternatives_of(_NAME)
        name = of.choose(site)
        return name if name == "plain" or of.by_name[name].applies(site) else "plain"

    assert chosen(256, 256) == "blocks"
    assert chosen(1, 4096) == chosen(64, 64) == "plain"
    assert chosen(256, 256, wanted=(0,)) == "plain"


def test_masks_of_what_nobody_sees_and_infinite_biases():
    ones = nd.ones((1, 2, 1, 3))
    hidden = nd.array(np.full((2, 2), -np.inf, "float32"))
    hidden[0, 0] = 0
    for one in (ones, hidden):
        one.attach_grad()
    with autograd.record():
        made = nd.contrib.dot_product_attention(ones, ones, ones, bias=hidden)
    made.backward()
    assert made.asnumpy()[0, :, 0].tolist() == [[1, 1, 1], [0, 0, 0]]
    assert np.isfinite(ones.grad.asnumpy()).all()
    assert np.isfinite(hidden.grad.asnumpy()).all()


def test_halves_are_computed_wide():
    x = nd.array(np.random.default_rng(0).normal(size=(1, 40, 2, 16)), dtype="float16")
    wide = x.astype("float32")
    made = nd.contrib.dot_product_attention(x, x, x, causal=True)
    assert made.dtype == np.float16
    wanted = nd.contrib.dot_product_attention(wide, wide, wide, causal=True).asnumpy()
    np.testing.assert_allclose(made.asnumpy(), wanted, rtol=2e-3, atol=2e-3)


def test_symbols_say_which_inputs_they_have():
    names = ("q", "k", "v", "b")
    made = hn.sym.contrib.dot_product_attention(
        *(hn.sym.var(name) for name in names[:3]), bias=hn.sym.var("b"), causal=True
    )
    again = hn.sym.load_json(made.tojson())
    assert made.list_arguments() == again.list_arguments() == [*names]
    arrays = {name: nd.random.normal(shape=(1, 3, 2, 4)) for name in names[:3]}
    arrays["b"] = nd.random.normal(shape=(3, 3))
    found = again.bind(hn.cpu(), arrays).forward()[0].asnumpy()
    attrs = {"causal": True, "window": None, "scale": None}
    rest = {"mask": None, "lengths": None, "starts": None, "bias": arrays["b"].asnumpy()}
    wanted = _reference(*(arrays[name].asnumpy() for name in names[:3]), **rest, **attrs)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


_CUBE = ((2, 3, 4, 8),) * 3


@pytest.mark.parametrize(
    ("shapes", "attrs", "error", "message"),
    [
        ([(2, 3, 4)] * 3, {}, ShapeError, r"(batch, length, heads, units), got queries float32[2,"),
        ([(2, 3, 4, 8), *[(2, 5, 3, 8)] * 2], {}, ShapeError, "heads of keys must divide"),
        (
            [(2, 3, 4, 8), *[(1, 5, 4, 8)] * 2],
            {},
            ShapeError,
            "have the batch and units of queries",
        ),
        ([*_CUBE, (3, 2)], {"use_mask": True}, ShapeError, "mask must have shape (2, 4, 3, 3)"),
        ([*_CUBE, (3,)], {"use_lengths": True}, ShapeError, "lengths must have shape (2,)"),
        ([*_CUBE], {"use_starts": True}, ParameterError, "as use_starts says, got 3 inputs"),
        ([*_CUBE], {"window": 0}, ParameterError, "window must be an integer >= 1 or None"),
    ],
)
def test_what_does_not_fit_is_refused(shapes, attrs, error, message):
    types = tuple(tensor_type(shape, np.dtype("float32")) for shape in shapes)
    with pytest.raises(error, match=re.escape(message)):
        get(_NAME).bind(attrs, False)[0].infer(types)


def test_whole_numbers_are_refused():
    x = nd.ones((1, 2, 1, 2))
    with pytest.raises(DTypeError, match="queries must be floating point"):
        nd.contrib.dot_product_attention(x.astype("int32"), x, x)
    with pytest.raises(DTypeError, match="bias is added to the scores"):
        nd.contrib.dot_product_attention(x, x, x, bias=nd.ones((2, 2), dtype="int32"))


# What is beside it ------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 99))
def test_rotary_embedding_turns_complex_numbers(count, rest, interleaved, by_row, seed):
    random = np.random.default_rng(seed)
    data = random.normal(size=(2, 4, 3, 2 * count + rest - 1))
    positions = random.integers(0, 50, (2, 4) if by_row else 4)
    frequencies = random.uniform(0, 1, count)
    turned = data[..., : 2 * count]
    x, y = (
        (turned[..., ::2], turned[..., 1::2])
        if interleaved
        else (turned[..., :count], turned[..., count:])
    )
    angles = positions[..., None] * frequencies
    z = (x + 1j * y) * np.exp(1j * angles)[..., None, :]
    wanted = data.copy()
    if interleaved:
        wanted[..., : 2 * count : 2], wanted[..., 1 : 2 * count : 2] = z.real, z.imag
    else:
        wanted[..., :count], wanted[..., count : 2 * count] = z.real, z.imag
    found = run_op(
        "_contrib_rotary_embedding", data, positions, frequencies, interleaved=interleaved
    )
    np.testing.assert_allclose(found[0], wanted, rtol=1e-9, atol=1e-9)


def test_a_cache_is_written_where_each_sequence_ends():
    cache, starts = nd.zeros((2, 5, 3)), nd.array([1, 3], dtype="int32")
    data = nd.array(np.arange(1, 13).reshape(2, 2, 3))
    made = nd.contrib.cache_write(cache, data, starts).asnumpy()
    wanted = np.zeros((2, 5, 3))
    wanted[0, 1:3], wanted[1, 3:5] = data[0].asnumpy(), data[1].asnumpy()
    assert (made == wanted).all()
    with pytest.raises(OutOfBoundsError, match="index 4 is out of bounds: it must be from 0 to 3"):
        nd.contrib.cache_write(cache, data, nd.array([1, 4], dtype="int32"))
    with pytest.raises(ShapeError, match="data .batch, as many or fewer"):
        nd.contrib.cache_write(cache, nd.ones((2, 6, 3)), starts)
