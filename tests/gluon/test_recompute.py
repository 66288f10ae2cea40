"""`HybridBlock.recompute`: the same gradients from less that is kept."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.gluon.model_zoo import text
from hybridnet.runtime.calls import Run, allocation_of

_SIZES = {"vocab_size": 40, "units": 32, "layers": 4, "heads": 2, "max_length": 32}


def _gpt2(again, **options):
    hn.random.seed(3)
    net = text.gpt2(**_SIZES, **options)
    net.initialize(hn.init.Normal(0.3))
    for layer in net.features.layers:
        layer.recompute(again)
    return net


def _tokens(batch=4):
    drawn = np.random.default_rng(0).integers(0, 40, (batch, 32))
    return nd.array(drawn, dtype="int32")


def _step(net, x):
    """Returns the scores, and the gradients of all weights; what is dropped follows the seed."""
    hn.random.seed(5)
    with autograd.record():
        scores = net(x)
        loss = (scores * scores).sum()
    loss.backward()
    weights = [one for one in net.collect_params().values() if one.grad_req != "null"]
    return [scores.asnumpy(), *[one.grad().asnumpy() for one in weights]]


def _trained(net, x, how):
    if how == "hybridized":
        net.hybridize()
    if how == "in a function":
        return hn.function(lambda x: _recorded(net, x))(x)
    return _step(net, x)


def _recorded(net, x):
    with autograd.record():
        scores = net(x)
        loss = (scores * scores).sum()
    loss.backward()
    return [scores, *[one.grad() for one in net.collect_params().values()]]


def _assert_near(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        one, other = (part.asnumpy() if hasattr(part, "asnumpy") else part for part in (one, other))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["eager", "hybridized", "in a function"])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_gradients_are_the_same_without_dropout(how, family):
    def made(again):
        hn.random.seed(3)
        options = {"dropout": 0.0, "attention_dropout": 0.0, "embedding_dropout": 0.0}
        options = options if family == "gpt2" else {"hidden_units": 48, "key_heads": 1}
        net = getattr(text, family)(**_SIZES, **options)
        net.initialize(hn.init.Normal(0.2))
        for layer in net.features.layers:
            layer.recompute(again)
        return net

    _assert_near(_trained(made(True), _tokens(), how), _trained(made(False), _tokens(), how))


@pytest.mark.parametrize("how", ["eager", "hybridized"])
def test_the_same_is_dropped_again(how):
    """A gradient through another mask than the scores' would be far off."""
    net = _gpt2(True, dropout=0.3, attention_dropout=0.3)
    if how == "hybridized":
        net.hybridize()
    x, weight = _tokens(1), net.features.layers[0].hidden.weight
    _step(net, x)
    gradient, value = weight.grad().asnumpy(), weight.data().asnumpy()
    direction = np.random.default_rng(1).normal(size=value.shape).astype("float32")

    def loss(step):
        weight.set_data(nd.array(value + step * direction))
        return (_step(net, x)[0].astype("float64") ** 2).sum()

    numeric = (loss(1e-3) - loss(-1e-3)) / 2e-3
    np.testing.assert_allclose((gradient * direction).sum(), numeric, rtol=0.02)


def _call(net, x):
    """Returns the call of a hybridized network for training."""
    net.hybridize()
    with autograd.record():
        net(x)
    (concrete,) = net._HybridBlock__traced._traces.values()
    (call,) = concrete._training.values()
    return call


def _temporary(call):
    """Returns the bytes that XLA plans for both passes as one program."""
    scalars = (0.0,) * call.num_scalars
    results = call.first_residual(call.split)
    run = Run(call, scalars, 1, (), False, (), results)
    return allocation_of(run, call.input_types, hn.cpu()).temporary


@pytest.mark.slow
def test_less_is_kept_and_the_compiled_program_takes_less():
    plain, again = (_call(_gpt2(mode), _tokens(16)) for mode in (False, True))
    kept, total = again.kept_for_gradient()[0], plain.kept_for_gradient()[0]
    assert kept < total / 5
    assert _temporary(again) < _temporary(plain) / 2


def test_a_network_that_was_traced_is_traced_anew():
    net = _gpt2(False)
    before = _call(net, _tokens()).kept_for_gradient()[0]
    net.features.layers[1].recompute()
    fewer = _call(net, _tokens()).kept_for_gradient()[0]
    net.features.layers[1].recompute(False)
    assert fewer < before == _call(net, _tokens()).kept_for_gradient()[0]


def test_of_blocks_in_one_another_the_outermost_counts():
    once, twice = _gpt2(False), _gpt2(True)
    for net in (once, twice):
        net.features.layers[0].recompute()
    twice.features.recompute()
    once.features.recompute()
    for layer in once.features.layers:
        layer.recompute(False)
    sizes = [_call(net, _tokens()).kept_for_gradient()[0] for net in (once, twice)]
    assert sizes[0] == sizes[1]


def test_running_averages_move_once():
    def moved(again):
        hn.random.seed(1)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(8, in_units=4), gluon.nn.BatchNorm(in_channels=8))
        net.initialize()
        net.recompute(again)
        x = nd.array(np.random.default_rng(0).normal(size=(16, 4)))
        _step(net, x)
        _step(net, x)
        return net[1].running_mean.data().asnumpy()

    assert np.abs(moved(False)).max() > 0
    np.testing.assert_allclose(moved(True), moved(False), rtol=1e-6)


def test_symbols_carry_it():
    net = gluon.nn.HybridSequential()
    net.add(*[gluon.nn.Dense(4, activation="tanh", in_units=4) for _ in range(3)])
    net[1].recompute()
    attrs = net(hn.sym.var("data")).attr_dict()
    asked = {name for name, one in attrs.items() if one.get("force_mirroring") == "True"}
    assert asked
    assert all(name.startswith(net[1].prefix) for name in asked)


def test_a_scope_in_a_traced_function_asks_for_it():
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()

    def kept(**attrs):
        @hn.function
        def run(x):
            with hn.AttrScope(**attrs):
                return nd.square(nd.tanh(x))

        with autograd.record():
            y = run(x)
        y.backward()
        (concrete,) = run._traces.values()
        (call,) = concrete._training.values()
        return call.split.num_residuals, x.grad.asnumpy()

    (plain, wanted), (again, found) = kept(), kept(force_mirroring="True")
    assert (plain, again) == (1, 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
