"""Attention that is written out is one operator in graphs that are run, and gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd, passes, sym
from hybridnet.base.tensor_type import tensor_type
from hybridnet.runtime.graphs import graph_call

_OPERATOR = "_contrib_dot_product_attention"
_BATCH, _QUERIES, _KEYS, _UNITS = 3, 130, 140, 4


class _Written(gluon.HybridBlock):
    """Attention as gluonnlp's cells write it out."""

    def __init__(self, kind: str = "", p: float = 0.0, fill: float = -1e18) -> None:
        super().__init__()
        self._kind, self._fill = kind, fill
        self.dropout = gluon.nn.Dropout(p)

    def hybrid_forward(self, F: Any, q: Any, k: Any, v: Any, extra: Any) -> Any:
        if self._kind == "div_sqrt_dim":
            q = F.contrib.div_sqrt_dim(q)
        scores = F.batch_dot(q, k, transpose_b=True)
        if "scale" in self._kind:
            scores = scores * 0.4 / 1.5
        if "bias" in self._kind:
            scores = F.broadcast_add(scores, extra)
        if "mask" in self._kind:
            scores = F.where(extra, scores, self._fill * F.ones_like(scores))
        shares = F.softmax(scores, axis=-1)
        if "mask" in self._kind and "twice" not in self._kind:
            shares = shares * extra
        made = F.batch_dot(self.dropout(shares), v)
        return (made, shares) if "shares" in self._kind else F.Dropout(made, p=0.2)


class _Interleaved(gluon.HybridBlock):
    def __init__(self, p: float) -> None:
        super().__init__()
        self.dropout = gluon.nn.Dropout(p)

    def hybrid_forward(self, F: Any, x: Any, lengths: Any) -> Any:
        scores = F.contrib.interleaved_matmul_selfatt_qk(x, heads=2)
        shares = F.softmax(scores, length=lengths, use_length=True, axis=-1)
        return F.contrib.interleaved_matmul_selfatt_valatt(x, self.dropout(shares), heads=2)


class _Crossed(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, q: Any, kv: Any) -> Any:
        shares = F.softmax(F.contrib.interleaved_matmul_encdec_qk(q, kv, heads=2), axis=-1)
        return F.contrib.interleaved_matmul_encdec_valatt(kv, shares, heads=2)


class _Heads(gluon.HybridBlock):
    """Several heads, side by side in the batch; shares get another shape and theirs again."""

    def __init__(self, heads: int, p: float) -> None:
        super().__init__()
        self._heads = heads
        self.dense = gluon.nn.Dense(8, flatten=False, in_units=8)
        self.dropout = gluon.nn.Dropout(p)

    def _apart(self, F: Any, x: Any) -> Any:
        x = F.transpose(F.reshape(x, shape=(0, 0, self._heads, -1)), axes=(0, 2, 1, 3))
        return F.reshape(x, shape=(-1, 0, 0), reverse=True)

    def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
        q = k = v = self._apart(F, self.dense(x))
        mask = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=self._heads)
        mask = F.reshape(mask, shape=(-1, 0, 0), reverse=True)
        scores = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
        scores = F.where(mask, scores, -1e18 * F.ones_like(scores))
        shares = self.dropout(F.softmax(scores, axis=-1) * mask)
        shares = F.reshape(shares, shape=(-1, self._heads, 0, 0), reverse=True)
        made = F.batch_dot(F.reshape(shares, shape=(-1, 0, 0), reverse=True), v)
        made = F.reshape(made, shape=(-1, self._heads, 0, 0), reverse=True)
        return F.reshape(F.transpose(made, axes=(0, 2, 1, 3)), shape=(0, 0, -1))


@pytest.fixture
def fused(monkeypatch):
    """Collects how many operators of attention each graph has that is made to be run."""
    counts: list[int] = []
    joined = graph_call._with_attention

    def noted(graph, types):
        made = joined(graph, types)
        counts.append(
            sum(node.call is not None and node.call.name == _OPERATOR for node in made.nodes)
        )
        return made

    monkeypatch.setattr(graph_call, "_with_attention", noted)
    return counts


def _run(net, arrays, hybridize, fixed=()):
    """Returns the results of a step in training, the gradients, and a result outside of it."""
    net.hybridize(hybridize)
    given = [nd.array(one, dtype=one.dtype) for one in arrays]
    trained = [one for number, one in enumerate(given) if number not in fixed]
    for one in trained:
        one.attach_grad()
    hn.random.seed(11)
    with autograd.record():
        made = net(*given)
        total = (made * made).sum()
    total.backward()
    found = [made, *(one.grad for one in trained), net(*given)]
    return [one.asnumpy() for one in found]


def _assert_same(net, arrays, fixed=()):
    eager, hybrid = (_run(net, arrays, hybridize, fixed) for hybridize in (False, True))
    for one, other in zip(eager, hybrid, strict=True):
        scale = np.abs(one).max(initial=1e-6)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-5 * scale)


def _arrays(kind, keys=_KEYS):
    random = np.random.default_rng(0)
    made = [
        random.normal(size=(_BATCH, length, _UNITS)).astype("float32")
        for length in (_QUERIES, keys, keys)
    ]
    if "mask" in kind:
        mask = random.random((_BATCH, _QUERIES, keys)) < 0.8
        mask[0, 3] = False  # who sees nothing gives 0
        return [*made, mask.astype("float32")]
    return [*made, random.normal(size=(_BATCH, 1, keys)).astype("float32")]


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["", "div_sqrt_dim", "scale", "bias", "bias scale", "mask"])
def test_what_is_written_out_is_one_operator(fused, kind, p):
    _assert_same(_Written(kind, p), _arrays(kind), () if "bias" in kind else (3,))
    assert fused == [1, 1]  # in training and outside of it


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_heads_of_gluonnlps_cells_are_one_operator(fused, p):
    random = np.random.default_rng(2)
    x = random.normal(size=(2, 140, 8)).astype("float32")
    mask = (np.arange(140) < np.array([140, 100])[:, None, None]) * np.ones((2, 140, 140))
    net = _Heads(2, p)
    net.initialize(hn.init.Normal(0.5))
    _assert_same(net, [x, mask.astype("float32")], (1,))
    assert fused == [1, 1]


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_mxnets_operators_on_interleaved_arrays_are_one(fused, p):
    random = np.random.default_rng(1)
    x = random.normal(size=(132, 2, 2 * 3 * 4)).astype("float32")
    lengths = random.integers(1, 133, (4, 132)).astype("int32")
    _assert_same(_Interleaved(p), [x, lengths], (1,))
    assert fused == [1, 1]


def test_an_encoders_and_a_decoders_are_one(fused):
    random = np.random.default_rng(1)
    q = random.normal(size=(130, 2, 8)).astype("float32")
    kv = random.normal(size=(140, 2, 16)).astype("float32")
    _assert_same(_Crossed(), [q, kv])
    assert fused == [1, 1]


@pytest.mark.parametrize(
    ("kind", "fill", "keys"),
    [
        ("shares", -1e18, _KEYS),  # the shares are a result, too
        ("mask", -1.0, _KEYS),  # what is hidden has a share
        ("mask twice", -1e18, _KEYS),  # a row without any key has equal shares
        ("", -1e18, 100),  # few keys
    ],
)
def test_what_is_something_else_stays(fused, kind, fill, keys):
    net = _Written(kind, 0.0, fill)
    net.hybridize()
    net(*(nd.array(one) for one in _arrays(kind, keys)))
    assert fused == [0]


def test_bound_symbols_have_it_and_the_pass_can_be_asked_for(fused):
    names = ("q", "k", "v")
    scores = sym.batch_dot(sym.var("q"), sym.var("k"), transpose_b=True)
    made = sym.batch_dot(sym.softmax(scores, name="shares"), sym.var("v"), name="mixed")
    arrays = dict(zip(names, map(nd.array, _arrays("")[:3]), strict=True))
    found = made.bind(hn.cpu(), arrays).forward()[0].asnumpy()
    assert fused == [1]
    shares = nd.softmax(nd.batch_dot(arrays["q"], arrays["k"], transpose_b=True))
    wanted = nd.batch_dot(shares, arrays["v"]).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)

    types = tuple(tensor_type(arrays[name].shape, np.dtype("float32")) for name in names)

    def operators(**options):
        context = passes.PassContext(types, **options)
        better, _ = passes.optimize(made.graph, context, [passes.pipeline["attention"]])
        return [node.call.name for node in better.nodes if node.call is not None]

    assert _OPERATOR in operators()
    assert _OPERATOR not in operators(tolerance=0)
    assert _OPERATOR not in operators(keep=frozenset({"shares"}))


def test_passes_that_are_off_leave_it(fused, monkeypatch):
    monkeypatch.setenv("HYBRIDNET_PASSES", "off")
    net = _Written()
    net.hybridize()
    net(*(nd.array(one) for one in _arrays("")))
    assert fused == []
