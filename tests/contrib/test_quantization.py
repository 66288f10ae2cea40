"""Networks of 8-bit whole numbers: graphs, ranges, and answers beside those of floats."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import gluon, nd, sym
from hybridnet.base.errors import ParameterError
from hybridnet.contrib import quantization
from hybridnet.contrib.quantization._calibration import entropy_threshold
from hybridnet.gluon import nn


def _drawn(*shape, seed=0, scale=1.0):
    return nd.array(np.random.default_rng(seed).normal(0, scale, shape))


def _network():
    """Returns a symbol of three dense layers, and its parameters."""
    x = sym.Flatten(sym.var("data"), name="flat")
    arrays, features = {}, 36
    for number, hidden in enumerate((16, 8, 3), 1):
        name = f"fc{number}"
        x = sym.FullyConnected(x, num_hidden=hidden, name=name)
        arrays[f"{name}_weight"] = _drawn(hidden, features, seed=number, scale=features**-0.5)
        arrays[f"{name}_bias"] = _drawn(hidden, seed=number + 9, scale=0.1)
        features = hidden
        if number < 3:
            x = sym.Activation(x, act_type="relu", name=f"relu{number}")
    return sym.softmax(x, name="softmax"), arrays


def _answers(symbol, arrays, data):
    bound = symbol.simple_bind(hn.cpu(), grad_req="null", data=data.shape)
    bound.copy_params_from({n: x for n, x in arrays.items() if n in bound.arg_dict})
    return bound.forward(is_train=False, data=data)[0].asnumpy()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["smart", "full"])
@pytest.mark.parametrize("calibration", ["none", "naive", "entropy"])
def test_a_quantized_network_answers_nearly_as_one_of_floats(calibration, mode):
    network, arrays = _network()
    data = _drawn(64, 1, 6, 6)
    made, params, states = quantization.quantize_model(
        network,
        arrays,
        {},
        label_names=None,
        calib_mode=calibration,
        calib_data=hn.io.NDArrayIter(data, batch_size=16),
        quantize_mode=mode,
    )
    assert states == {}
    assert set(params) == set(made.list_arguments()) - {"data"}
    assert params["fc1_weight_quantize"].dtype == np.int8
    found, wanted = _answers(made, params, data), _answers(network, arrays, data)
    assert abs(found - wanted).max() < 0.05
    # Whole numbers do compute it: the answers are not the same.
    assert abs(found - wanted).max() > 1e-6


def _operators(symbol):
    return [node.call.name for node in symbol.graph.nodes if node.call is not None]


def test_between_two_large_layers_nothing_becomes_floats():
    network, arrays = _network()
    made, *_ = quantization.quantize_model(network, arrays, {}, calib_mode="none")
    layer = ["_contrib_quantized_fully_connected", "_contrib_requantize"]
    assert _operators(made) == [
        "Flatten",
        "_contrib_quantize_v2",
        *[*layer, "_contrib_quantized_act"] * 2,
        *layer,
        "_contrib_dequantize",
        "softmax",
    ]
    whole, *_ = quantization.quantize_model(
        network, arrays, {}, calib_mode="none", quantize_mode="full"
    )
    assert _operators(whole)[:2] == ["_contrib_quantize_v2", "_contrib_quantized_flatten"]


@pytest.mark.parametrize("dtype", ["int8", "auto"])
def test_branches_are_joined_and_added_in_whole_numbers(dtype):
    """data -> fc0 -> (fc1, fc2), their sum and fc1 joined -> fc3: floats at both ends alone."""
    x = sym.FullyConnected(sym.var("data"), num_hidden=8, name="fc0")
    one, other = (sym.FullyConnected(x, num_hidden=8, name=f"fc{n}") for n in (1, 2))
    joined = sym.Concat(one + other, one, dim=1, name="joined")
    network = sym.FullyConnected(joined, num_hidden=3, name="fc3")
    arrays = {}
    for n, (out, features) in enumerate([(8, 6), (8, 8), (8, 8), (3, 16)]):
        arrays[f"fc{n}_weight"] = _drawn(out, features, seed=n, scale=features**-0.5)
        arrays[f"fc{n}_bias"] = _drawn(out, seed=n + 9, scale=0.1)
    data = _drawn(64, 6)
    made, params, _ = quantization.quantize_model(
        network,
        arrays,
        {},
        calib_mode="naive",
        calib_data=hn.io.NDArrayIter(data, batch_size=16),
        quantized_dtype=dtype,
    )
    operators = _operators(made)
    assert "Concat" not in operators and "elemwise_add" not in operators
    assert operators.count("_contrib_dequantize") == 1
    assert operators.count("_contrib_quantize_v2") == 1
    found, wanted = _answers(made, params, data), _answers(network, arrays, data)
    assert 1e-6 < abs(found - wanted).max() < 0.03 * abs(wanted).max()


def test_what_is_excluded_stays_in_floats():
    network, arrays = _network()
    made, params, _ = quantization.quantize_model(
        network, arrays, {}, calib_mode="none", excluded_sym_names=["fc2"]
    )
    assert _operators(made).count("_contrib_quantized_fully_connected") == 2
    assert params["fc2_weight"] is arrays["fc2_weight"]
    made, params, _ = quantization.quantize_model(
        network, arrays, {}, calib_mode="none", excluded_op_names=["FullyConnected"]
    )
    assert _operators(made) == _operators(network)
    assert params == arrays


def test_naive_ranges_are_the_ends_of_what_was_seen():
    network, arrays = _network()
    data = _drawn(32, 1, 6, 6)
    made, *_ = quantization.quantize_model(
        network,
        arrays,
        {},
        calib_mode="naive",
        calib_data=hn.io.NDArrayIter(data, batch_size=8),
        num_calib_examples=16,
    )
    attributes = made.attr_dict()
    seen = data.asnumpy()[:16]
    first = seen.reshape(16, 36) @ arrays["fc1_weight"].asnumpy().T + arrays["fc1_bias"].asnumpy()
    for name, values in (("flat_output_quantize", seen), ("requantize_fc1", first)):
        ends = [float(attributes[name][f"{end}_calib_range"]) for end in ("min", "max")]
        np.testing.assert_allclose(ends, [values.min(), values.max()], rtol=1e-5)


def test_thresholds_by_entropy_are_mxnets():
    # What MXNet 1.9.1's calibrate_entropy says of these histograms.
    draws = np.random.RandomState(5)
    for values, bins, wanted in (
        (draws.randn(20000), 8001, _NORMAL),
        (draws.standard_t(3, 20000), 2001, _HEAVY),
    ):
        end = abs(values).max()
        counts, edges = np.histogram(values, bins=bins, range=(-end, end))
        found = entropy_threshold(counts, edges.astype("float32"))
        np.testing.assert_allclose(found, wanted, rtol=2e-3)


_NORMAL = (3.612293, 0.08925316)
_HEAVY = (15.113561, 0.006803086)


def test_histograms_grow_with_what_they_count():
    values = np.random.default_rng(0).normal(size=(2, 1000))
    values[1] *= 3
    end = abs(values[0]).max()
    counts, edges = np.histogram(values[0], bins=101, range=(-end, end))
    old = counts, edges, values[0].min(), values[0].max(), end
    low, high = values[1].min(), values[1].max()
    made = quantization.combine_histogram(old, values[1], low, high, abs(values[1]).max())
    counts, edges, low, high, end = made
    assert counts.sum() == 2000
    assert len(edges) == len(counts) + 1
    assert len(counts) % 2 == 1
    assert (low, high) == (values.min(), values.max())
    assert end >= abs(values).max()
    narrow = quantization.combine_histogram(made, values[0], 0.0, 1.0, 1.0)
    assert (len(narrow[0]), narrow[0].sum()) == (len(counts), 3000)


_SCALES = np.array([1, 0.01, 0.1, 3, 0.02, 0.5, 0.05, 2])
# The largest errors of each output of the layer below in MXNet 1.9.1, quantized channel-wise.
_MXNETS_ERRORS = np.array([0.06277, 0.00051, 0.00423, 0.07442, 0.00135, 0.03957, 0.00487, 0.17551])


@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
def test_channels_of_different_scale(granularity):
    """With a range for each channel small ones are as exact as MXNet's; with one they are lost."""
    draws = np.random.RandomState(7)
    data = draws.randn(64, 12).astype("float32")
    weight, bias = draws.randn(8, 12) * _SCALES[:, None], draws.randn(8) * _SCALES
    network = sym.FullyConnected(sym.var("data"), num_hidden=8, name="fc1")
    arrays = {"fc1_weight": nd.array(weight), "fc1_bias": nd.array(bias)}
    made, params, _ = quantization.quantize_model(
        network,
        arrays,
        {},
        calib_mode="naive",
        calib_data=hn.io.NDArrayIter(nd.array(data), batch_size=16),
        quantize_granularity=granularity,
    )
    assert {params[name].dtype for name in ("fc1_weight_quantize", "fc1_bias_quantize")} == {
        np.int8
    }
    errors = abs(_answers(made, params, nd.array(data)) - (data @ weight.T + bias)).max(0)
    if granularity == "channel-wise":
        assert np.all(errors < 1.5 * _MXNETS_ERRORS)
        assert params["fc1_weight_quantize_max"].shape == (8,)
    else:
        assert errors[1] > 50 * _MXNETS_ERRORS[1]


@pytest.mark.parametrize("calibration", ["none", "naive"])
def test_a_block_quantized_by_channel(calibration):
    """Convolutions, a channel of zeros among them, and layers behind them."""
    hn.random.seed(2)
    block, x = _block(), nd.random.uniform(shape=(32, 3, 8, 8))
    wanted = block(x).asnumpy()
    weight = block[0].weight
    weight.set_data(
        weight.data()
        * nd.array(_SCALES).reshape((8, 1, 1, 1))
        * nd.array([0] + [1] * 7).reshape((8, 1, 1, 1))
    )
    wanted = block(x).asnumpy()
    examples = gluon.data.DataLoader(gluon.data.ArrayDataset(x, nd.zeros((32,))), 8)
    made = quantization.quantize_net_v2(
        block,
        "int8",
        "smart",
        "channel-wise",
        calib_data=examples,
        calib_mode=calibration,
    )
    found = made(x).asnumpy()
    assert 1e-6 < abs(found - wanted).max() < 0.05 * abs(wanted).max()


def test_a_weight_that_is_data_elsewhere_has_one_range():
    x, w = sym.var("data"), sym.var("w")
    one = sym.FullyConnected(x, w, num_hidden=6, no_bias=True, name="one")
    other = sym.FullyConnected(w, sym.var("v"), num_hidden=6, no_bias=True, name="other")
    arrays = {"w": _drawn(6, 6, seed=1), "v": _drawn(6, 6, seed=2)}
    made, params, _ = quantization.quantize_model(
        sym.Group([one, other]), arrays, {}, calib_mode="none", quantize_granularity="channel-wise"
    )
    assert params["w_quantize_max"].shape == (1,)
    assert params["v_quantize_max"].shape == (6,)
    data = _drawn(4, 6)
    wanted = data.asnumpy() @ arrays["w"].asnumpy().T
    found = _answers(made, params, data)
    assert abs(found - wanted).max() < 0.05 * abs(wanted).max()


def _block():
    block = nn.HybridSequential()
    block.add(
        nn.Conv2D(8, 3, padding=1, activation="relu"),
        nn.MaxPool2D(),
        nn.Conv2D(8, 3, groups=2, use_bias=False),
        nn.BatchNorm(),
        nn.Flatten(),
        nn.Dense(5),
    )
    block.initialize(hn.init.Xavier(magnitude=3))
    return block


@pytest.mark.parametrize("dtype", ["int8", "uint8", "auto"])
def test_a_quantized_block_answers_nearly_as_one_of_floats(dtype):
    hn.random.seed(2)
    block, x = _block(), nd.random.uniform(shape=(32, 3, 8, 8))
    wanted = block(x).asnumpy()
    examples = gluon.data.DataLoader(gluon.data.ArrayDataset(x, nd.zeros((32,))), 8)
    made = quantization.quantize_net_v2(
        block, dtype, "smart", calib_data=examples, calib_mode="naive"
    )
    found = made(x).asnumpy()
    assert abs(found - wanted).max() < 0.08 * abs(wanted).max()
    kinds = {param.dtype for param in made.collect_params().values()}
    assert {np.dtype(kind).name for kind in kinds} == {"float32", "int8"}


def test_a_block_without_examples_needs_shapes():
    block = _block()
    with pytest.raises(ParameterError, match="requires data_shapes"):
        quantization.quantize_net(block)
    made = quantization.quantize_net(
        block, data_shapes=[hn.io.DataDesc("data", (2, 3, 8, 8))], exclude_layers_match=["conv"]
    )
    names = _operators(made(sym.var("data")))
    assert "Convolution" in names
    assert "_contrib_quantized_fully_connected" in names


class _Tens:
    def __init__(self):
        self.min_max_dict = {}

    def collect(self, name, arr):
        """Says that everything is between -10 and 10."""
        self.min_max_dict[name] = (-10.0, 10.0)


def test_a_collector_of_ones_own():
    network, arrays = _network()
    tens = _Tens()
    made, *_, collector = quantization.quantize_graph(
        network, arrays, {}, calib_mode="customize", LayerOutputCollector=tens
    )
    assert collector is tens
    bound = network.simple_bind(hn.cpu(), data=(2, 1, 6, 6))
    bound.set_monitor_callback(collector.collect, monitor_all=True)
    bound.forward()
    made, *_ = quantization.calib_graph(made, arrays, {}, collector, "customize", logger=None)
    found = made.attr_dict()["requantize_fc2"]
    assert (float(found["min_calib_range"]), float(found["max_calib_range"])) == (-10, 10)


def test_what_is_refused():
    network, arrays = _network()
    with pytest.raises(ParameterError, match="requires calib_data"):
        quantization.quantize_model(network, arrays, {})
    with pytest.raises(ParameterError, match="must be 'int8', 'uint8' or 'auto'"):
        quantization.quantize_model(network, arrays, {}, calib_mode="none", quantized_dtype="int4")
    with pytest.raises(ParameterError, match="must be 'tensor-wise', one range for each array, or"):
        quantization.quantize_graph(network, arrays, {}, quantize_granularity="row-wise")
    with pytest.raises(ParameterError, match="must be 'full' or 'smart'"):
        quantization.quantize_graph(network, arrays, {}, quantize_mode="some")
    with pytest.raises(ParameterError, match="calib_mode must be 'naive'"):
        quantization.calib_graph(network, arrays, {}, None, "none")
    with pytest.raises(ParameterError, match="ctx must be a CPU"):
        quantization.quantize_model_mkldnn(network, arrays, {}, ctx=hn.gpu(0))
