"""Mixed precision: which operators are cast, and that networks give nearly the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.contrib import amp


def network():
    h = sym.Convolution(sym.var("data"), num_filter=4, kernel=(3, 3), name="conv")
    h = sym.BatchNorm(h, fix_gamma=False, name="bn")
    h = sym.Activation(h, act_type="relu", name="act")
    h = h + sym.exp(h * 0.1, name="exp")
    return sym.softmax(sym.FullyConnected(h, num_hidden=3, name="fc"), name="out")


def values(symbol, shape=(2, 3, 6, 6)):
    shapes, _, states = symbol.infer_shape(data=shape)
    random = np.random.default_rng(0)
    args = {
        name: nd.array(random.normal(size=shape) * 0.3)
        for name, shape in zip(symbol.list_arguments(), shapes, strict=True)
    }
    aux = {
        name: nd.ones(shape)
        for name, shape in zip(symbol.list_auxiliary_states(), states, strict=True)
    }
    return args, aux


def calls(symbol):
    found = {}
    for node in symbol.graph.nodes:
        if node.is_variable:
            continue
        kinds = [edge.node.call.name if edge.node.call else edge.node.name for edge in node.inputs]
        if "cast" not in node.call.name:
            found[node.name] = kinds
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_converted_symbol_gives_nearly_the_same(dtype):
    symbol = network()
    args, aux = values(symbol)
    wanted = symbol.bind(mx.cpu(), args, aux_states=aux).forward()[0].asnumpy()
    made = amp.convert_symbol(symbol, dtype)
    assert made.list_arguments() == symbol.list_arguments()
    assert made.list_outputs() == symbol.list_outputs()
    inputs = calls(made)
    assert inputs["conv"] == ["amp_cast"] * 3 and inputs["fc"] == ["amp_cast"] * 3
    assert inputs["exp"] == inputs["out"] == ["amp_cast"]
    assert inputs["bn"][3:] == ["bn_moving_mean", "bn_moving_var"]
    internals = made.get_internals()
    given = dict.fromkeys(made.list_arguments(), "float32")
    types = dict(zip(internals.list_outputs(), internals.infer_type(**given)[1], strict=True))
    assert types["conv_output"].__name__ == types["fc_output"].__name__ == dtype
    assert types["exp_output"] == types["out_output"] == np.float32
    found = made.bind(mx.cpu(), args, aux_states=aux).forward()[0].asnumpy()
    np.testing.assert_allclose(found, wanted, atol=2e-2)
    assert np.abs(found - wanted).max() > 0


def test_lists_and_names_say_what_is_cast():
    made = amp.convert_symbol(network(), excluded_sym_names=["conv"], target_dtype_ops=["exp"])
    inputs = calls(made)
    assert inputs["conv"][0] == "data" and inputs["exp"] == ["amp_cast"]
    with pytest.raises(ParameterError, match=r"must be in one list, got \['exp'\] in two"):
        amp.convert_symbol(network(), target_dtype_ops=["exp"], fp32_ops=["exp"])
    with pytest.raises(ParameterError, match="'float16' or 'bfloat16', got float64"):
        amp.convert_symbol(network(), "float64")
    with pytest.raises(ParameterError, match="needs a Symbol, got int"):
        amp.convert_symbol(3)
    soft = sym.Activation(sym.var("data"), act_type="softrelu", name="soft")
    assert calls(amp.convert_symbol(soft)) == {"soft": ["amp_cast"]}
    assert calls(amp.convert_symbol(sym.relu(sym.var("data"), name="r"))) == {"r": ["data"]}
    assert amp.list_lp16_ops("float16") == [
        "Convolution", "Deconvolution", "FullyConnected", "RNN",
    ]  # fmt: skip
    lists = [amp.list_fp32_ops(), amp.list_widest_type_cast(), amp.list_lp16_fp32_ops()]
    assert not set(lists[0]) & set(lists[1]) and "relu" in lists[2] and "exp" not in lists[2]
    assert "SoftmaxOutput" in amp.list_loss_output_functions("bfloat16")
    assert amp.list_lp16_use_fp32_params("float16") is None
    assert amp.list_conditional_fp32_ops()[0] == ("Activation", "act_type", ["softrelu"])


def test_a_checkpoint_is_converted_and_parameters_cast_for_good():
    symbol = network()
    args, aux = values(symbol)
    params = {name: value for name, value in args.items() if name != "data"}
    made, found, states = amp.convert_model(symbol, params, aux, cast_optional_params=True)
    assert {name for name, x in found.items() if x.dtype == np.float16} == {
        "conv_weight", "conv_bias", "fc_weight", "fc_bias",
    }  # fmt: skip
    assert states["bn_moving_mean"].dtype == np.float32
    out = made.bind(mx.cpu(), {**found, "data": args["data"]}, aux_states=states).forward()[0]
    wanted = symbol.bind(mx.cpu(), args, aux_states=aux).forward()[0].asnumpy()
    np.testing.assert_allclose(out.asnumpy(), wanted, atol=2e-2)


def test_a_block_is_converted():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="relu"), gluon.nn.Dense(3))
    net.initialize()
    net.hybridize()
    x = nd.random.normal(shape=(4, 5))
    wanted = net(x).asnumpy()
    made = amp.convert_hybrid_block(net, "bfloat16", cast_optional_params=True)
    assert made(x).dtype.__name__ == "bfloat16"
    np.testing.assert_allclose(made(x).astype("float32").asnumpy(), wanted, atol=5e-3)
    with pytest.raises(ParameterError, match="needs a HybridBlock, got int"):
        amp.convert_hybrid_block(3)


def test_a_module_of_buckets_is_converted():
    def make(key):
        return sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), ("data",), None

    module = mx.mod.BucketingModule(make, 4)
    with pytest.raises(MXNetError, match="bind and initialize"):
        amp.amp.convert_bucketing_module(module)
    module.bind([("data", (2, 4))])
    module.init_params(mx.init.One())
    made = amp.convert_bucketing_module(module)
    made.bind([("data", (2, 4))])
    batch = mx.io.DataBatch([nd.ones((2, 4))], bucket_key=4)
    made.forward(batch)
    assert made.get_outputs()[0].dtype == np.float16
    assert made.get_outputs()[0].asnumpy().tolist() == [[4, 4]] * 2


@pytest.fixture
def mixed():
    amp.init("float16")
    yield
    amp.stop()


def test_functions_cast_what_they_are_given(mixed):
    amp.init("bfloat16")  # it has begun already
    x, w = nd.ones((2, 3)), nd.ones((4, 3))
    y = nd.FullyConnected(x, w, no_bias=True, num_hidden=4)
    assert y.dtype == np.float16 and nd.exp(y).dtype == np.float32
    assert nd.elemwise_add(y, nd.ones((2, 4))).dtype == np.float32
    assert nd.elemwise_add(y, y).dtype == nd.relu(y).dtype == np.float16
    assert nd.Activation(y, act_type="softrelu").dtype == np.float32
    s = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
    assert s.list_arguments() == ["data", "fc_weight", "fc_bias"] and s.name == "fc"
    assert s.infer_type(**dict.fromkeys(s.list_arguments(), "float32"))[1] == [np.float16]


def test_what_was_cast_is_as_before_afterwards():
    before = nd.FullyConnected
    amp.init()
    assert nd.FullyConnected is not before
    amp.stop()
    assert nd.FullyConnected is before


def test_a_network_is_trained_with_a_scaled_loss(mixed):
    net = gluon.nn.Dense(1, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 100})
    loss_of = gluon.loss.L2Loss()
    x, y = nd.full((4, 3), 0.01), nd.zeros((4, 1))

    def step(scale=1.0):
        with autograd.record():
            loss = loss_of(net(x), y) * scale
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()

    with pytest.raises(MXNetError, match="call amp.init_trainer"):
        step()
    amp.init_trainer(trainer)
    step()
    raw = net.weight.grad().asnumpy()
    amp.unscale(trainer)
    np.testing.assert_allclose(net.weight.grad().asnumpy(), raw / 2**16)
    np.testing.assert_allclose(net.weight.grad().asnumpy(), [[0.0012] * 3], rtol=1e-2)
    trainer.step(4)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[0.97] * 3], rtol=1e-3)
    step(1e30)  # overflows: nothing is changed, and the scale is halved
    trainer.step(4)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[0.97] * 3], rtol=1e-3)
    step()
    trainer.step(4)
    assert trainer._amp_loss_scaler.loss_scale == 2**15
    assert net.weight.data().asnumpy()[0, 0] < 0.95
    with pytest.raises(ParameterError, match=r"needs a gluon.Trainer, got int"):
        amp.init_trainer(3)
