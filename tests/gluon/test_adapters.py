"""LoRA and weights in 8 bits: against the formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import ParameterError
from hybridnet.gluon import nn
from hybridnet.gluon.contrib.nn import (
    Int8Dense,
    LoRADense,
    add_lora,
    merge_lora,
    quantize_dense,
)
from hybridnet.gluon.model_zoo import text

_X = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")


def _net():
    net = nn.HybridSequential()
    net.add(nn.Dense(5, in_units=6), nn.Activation("tanh"), nn.Dense(3, in_units=5))
    net.initialize(hn.init.Normal(0.5))
    return net


def _train(net, steps=20):
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    for _ in range(steps):
        with autograd.record():
            loss = ((net(nd.array(_X)) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
    return loss.asscalar()


@pytest.mark.parametrize("hybridize", [False, True])
def test_only_the_small_parts_are_trained(hybridize):
    net = _net()
    before = net(nd.array(_X)).asnumpy()
    kept = {name: one.data().asnumpy() for name, one in net.collect_params().items()}
    add_lora(net, rank=2, alpha=6)
    net.hybridize(hybridize)
    np.testing.assert_allclose(net(nd.array(_X)).asnumpy(), before, rtol=1e-6)
    first = _train(net, 1)
    assert _train(net) < first / 2
    for name, value in kept.items():
        assert (net.collect_params()[name].data().asnumpy() == value).all()
    layer = net[2]
    assert type(layer) is LoRADense
    parts = [one.weight.data().asnumpy() for one in (layer.base, layer.down, layer.up)]
    x = nd.array(_X[:, :5])
    wanted = _X[:, :5] @ (parts[0] + 3 * parts[2] @ parts[1]).T + layer.base.bias.data().asnumpy()
    np.testing.assert_allclose(layer(x).asnumpy(), wanted, rtol=1e-4, atol=1e-5)

    trained = net(nd.array(_X)).asnumpy()
    merge_lora(net)
    assert [type(one) for one in (net[0], net[2])] == [nn.Dense] * 2
    np.testing.assert_allclose(net(nd.array(_X)).asnumpy(), trained, rtol=1e-4, atol=1e-5)
    assert {*net.collect_params()} == {*kept}


def test_layers_are_named_by_their_paths(tmp_path):
    net = text.llama(vocab_size=11, units=8, layers=2, heads=2, hidden_units=12, max_length=16)
    net.initialize()
    add_lora(net, 2, layers=r"layers\.1\.(queries|values)")
    trained = [name for name, one in net.collect_params().items() if one.grad_req != "null"]
    assert len(trained) == 4
    assert all("lora" in name for name in trained)
    with pytest.raises(ParameterError, match="is a LoRADense, which folders do not have; merge"):
        text.save(net, tmp_path / "folder")
    text.save(merge_lora(net), tmp_path / "folder")
    again = text.load(tmp_path / "folder")
    tokens = nd.array([[1, 2, 3]], dtype="int32")
    np.testing.assert_allclose(again(tokens).asnumpy(), net(tokens).asnumpy(), rtol=1e-6)


def test_what_lora_cannot_do_is_refused():
    with pytest.raises(ParameterError, match="no Dense layer whose path matches 'query'"):
        add_lora(_net(), layers="query")
    with pytest.raises(ParameterError, match="rank must be >= 1"):
        add_lora(_net(), rank=0)
    with pytest.raises(ParameterError, match="the layer's shape known"):
        LoRADense(nn.Dense(3), 2)
    with pytest.raises(ParameterError, match="added before an activation"):
        LoRADense(nn.Dense(3, activation="relu", in_units=2), 2)
    with pytest.raises(ParameterError, match="has no LoRADense"):
        merge_lora(_net())


@pytest.mark.parametrize("hybridize", [False, True])
def test_weights_in_eight_bits(hybridize, tmp_path):
    net = _net()
    weight, bias = (one.data().asnumpy() for one in (net[2].weight, net[2].bias))
    scale = np.abs(weight).max(1) / 127
    levels = np.round(weight / scale[:, None])
    quantize_dense(net, layers="2")
    net.hybridize(hybridize)
    layer = net[2]
    assert type(layer) is Int8Dense
    assert type(net[0]) is nn.Dense
    assert layer.weight.data().dtype == np.int8
    x = _X[:, :5]
    wanted = x @ (levels * scale[:, None]).T + bias
    np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    made = net(nd.array(_X)).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    net.collect_params().setattr("grad_req", "null")
    net.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_allclose(net(nd.array(_X)).asnumpy(), made, rtol=1e-6)
    net.cast("float16")
    assert layer.weight.data().dtype == np.int8
    half = net(nd.array(_X, dtype="float16"))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half.asnumpy(), made, rtol=2e-2, atol=2e-2)
