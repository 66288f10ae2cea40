"""`gluon.contrib`: branches and pixel shuffles against NumPy, cells against each other."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.gluon_cases import numbers

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.errors import ParameterError
from hybridnet.gluon import contrib, nn, rnn


def test_branches_are_joined() -> None:
    x = numbers(0, (2, 3))
    for kind in (contrib.nn.Concurrent, contrib.nn.HybridConcurrent):
        net = kind(axis=1)
        net.add(nn.Dense(2), contrib.nn.Identity())
        net.initialize()
        net.hybridize()
        out = net(nd.array(x)).asnumpy()
        wanted = net[0](nd.array(x)).asnumpy()
        np.testing.assert_allclose(out, np.concatenate([wanted, x], 1), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "factor", "sizes"),
    [
        (contrib.nn.PixelShuffle1D, 2, (3,)),
        (contrib.nn.PixelShuffle2D, (2, 3), (3, 5)),
        (contrib.nn.PixelShuffle3D, (2, 3, 4), (2, 3, 2)),
    ],
)
def test_pixels_are_made_of_channels(kind, factor, sizes) -> None:
    n = len(sizes)
    factors = factor if isinstance(factor, tuple) else (factor,) * n
    x = numbers(0, (2, 3 * int(np.prod(factors)), *sizes))
    layer = kind(factor)
    axes = [axis for at in range(n) for axis in (2 + n + at, 2 + at)]
    wanted = x.reshape(2, 3, *factors, *sizes).transpose(0, 1, *axes)
    wanted = wanted.reshape(2, 3, *(f * size for f, size in zip(factors, sizes, strict=True)))
    np.testing.assert_array_equal(layer(nd.array(x)).asnumpy(), wanted)
    layer.hybridize()
    np.testing.assert_array_equal(layer(nd.array(x)).asnumpy(), wanted)
    _, (shape,), _ = layer(sym.var("x")).infer_shape(x=x.shape)
    assert shape == wanted.shape


def test_texts_and_misuse() -> None:
    assert repr(contrib.nn.PixelShuffle1D(2)) == "PixelShuffle1D(2)"
    assert repr(contrib.nn.PixelShuffle2D((2, 3))) == "PixelShuffle2D((2, 3))"
    with pytest.raises(ParameterError, match="factor must be a whole number or 3 of them"):
        contrib.nn.PixelShuffle3D((2, 3))
    with pytest.warns(UserWarning, match="num_devices is taken to be 1"):
        contrib.nn.SyncBatchNorm()


def test_batch_norm_over_devices_is_batch_norm_on_one() -> None:
    x = nd.array(numbers(0, (4, 3, 2)))
    found = []
    for layer in (contrib.nn.SyncBatchNorm(3, 1, epsilon=1e-3), nn.BatchNorm(epsilon=1e-3)):
        layer.initialize()
        with autograd.record():
            out = layer(x)
        found.append((out.asnumpy(), layer.running_mean.data().asnumpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_cell_with_a_projection_is_a_layer_with_one() -> None:
    layer = rnn.LSTM(4, projection_size=2, input_size=3, prefix="net_")
    cells = rnn.HybridSequentialRNNCell(prefix="net_", params=layer.params)
    with cells.name_scope():
        cells.add(contrib.rnn.LSTMPCell(4, 2, prefix="l0_"))
    layer.initialize(hn.init.Normal(1))
    x = nd.array(numbers(1, (5, 2, 3)))
    wanted, states = layer(x, layer.begin_state(2))
    out, ends = cells.unroll(5, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(out.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
    for state, end in zip(states, ends, strict=True):
        np.testing.assert_allclose(state.asnumpy()[0], end.asnumpy(), rtol=1e-5, atol=1e-6)
    assert repr(cells[0]) == "LSTMPCell(3 -> 16 -> 2)"


@pytest.mark.parametrize("states", [0.0, 0.5])
@pytest.mark.parametrize("hybridize", [False, True])
def test_the_same_elements_are_dropped_in_all_steps(states: float, hybridize: bool) -> None:
    cell = contrib.rnn.VariationalDropoutCell(
        rnn.RNNCell(50, "relu", input_size=1), 0.0, states, 0.5
    )
    cell.initialize(hn.init.One())
    if hybridize:
        cell.hybridize()
    hn.random.seed(3)
    with autograd.record():
        out, _ = cell.unroll(4, nd.ones((2, 4, 1)), merge_outputs=True)
        again, _ = cell.unroll(4, nd.ones((2, 4, 1)), merge_outputs=True)
    kept, others = (one.asnumpy() > 0 for one in (out, again))
    assert (kept == kept[:, :1]).all()
    assert 0.3 < kept.mean() < 0.7
    assert (kept != others).any()
    outside, _ = cell.unroll(4, nd.ones((2, 4, 1)), merge_outputs=True)
    assert (outside.asnumpy() > 0).all()


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("lengths", [None, [2, 5]])
def test_a_loop_takes_the_same_steps(layout: str, lengths: list[int] | None) -> None:
    cell = rnn.LSTMCell(3, input_size=2)
    cell.initialize(hn.init.Normal(1))
    x = numbers(1, (5, 2, 2) if layout == "TNC" else (2, 5, 2))
    valid = None if lengths is None else nd.array(lengths)
    found = contrib.rnn.rnn_cell.dynamic_unroll(
        cell, nd.array(x), cell.begin_state(2), layout=layout, valid_length=valid
    )
    wanted = cell.unroll(5, nd.array(x), layout=layout, merge_outputs=True, valid_length=valid)
    for one, other in zip([found[0], *found[1]], [wanted[0], *wanted[1]], strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("plain", [True, False])
def test_taps_that_do_not_move_are_those_of_a_convolution(plain: bool) -> None:
    kinds = contrib.cnn.DeformableConvolution, contrib.cnn.ModulatedDeformableConvolution
    layer = kinds[not plain](4, (3, 2), padding=1, strides=(1, 2), activation="relu", prefix="d_")
    layer.initialize(hn.init.Uniform(1))
    x = nd.array(numbers(1, (2, 3, 6, 5)))
    out = layer(x)
    weight = layer.deformable_conv_weight.data()
    wanted = nd.Convolution(
        x, weight, num_filter=4, kernel=(3, 2), pad=(1, 1), stride=(1, 2), no_bias=True
    )
    # The mask is twice the sigmoid of 0. At its borders the image ends elsewhere.
    inner = (slice(None), slice(None), slice(1, -1), slice(1, -1))
    np.testing.assert_allclose(
        out.asnumpy()[inner], nd.relu(wanted).asnumpy()[inner], rtol=1e-4, atol=1e-5
    )
    assert list(layer.collect_params()) == [
        "d_" + name
        for part in (("offset", "deformable_conv") if plain else ("deformable_conv", "offset"))
        for name in (f"{part}_weight", f"{part}_bias")
    ]
    layer.offset_bias.set_data(nd.ones(layer.offset_bias.shape))
    assert np.abs(layer(x).asnumpy()[inner] - out.asnumpy()[inner]).max() > 0.1


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_cells_over_pictures_of_one_pixel_are_the_plain_ones(kind: str, axes: int) -> None:
    cell = getattr(contrib.rnn, f"Conv{axes}D{kind}Cell")((3, *(1,) * axes), 2, 1, 1)
    plain = getattr(rnn, f"{kind}Cell")(2, input_size=3)
    cell.initialize(hn.init.Uniform(1))
    plain.initialize()
    pairs = zip(cell.collect_params().values(), plain.collect_params().values(), strict=True)
    for one, other in pairs:
        other.set_data(one.data().reshape(other.shape))
    x = nd.array(numbers(1, (2, 4, 3)))
    wanted, _ = plain.unroll(4, x, merge_outputs=True)
    cell.hybridize()
    out, states = cell.unroll(4, x.reshape((2, 4, 3, *(1,) * axes)), merge_outputs=True)
    np.testing.assert_allclose(out.asnumpy().reshape(2, 4, 2), wanted.asnumpy(), rtol=1e-5)
    assert states[0].shape == (2, 2, *(1,) * axes)


def test_states_of_pictures_have_the_size_of_what_comes_in() -> None:
    cell = contrib.rnn.Conv2DLSTMCell((3, 8, 7), 4, (3, 2), (1, 3), i2h_pad=(1, 0))
    assert cell.state_info(2)[1] == {"shape": (2, 4, 8, 6), "__layout__": "NCHW"}
    assert repr(cell) == "Conv2DLSTMCell(3 -> 16, tanh, NCHW)"
    cell.initialize()
    out, _ = cell.unroll(2, [nd.ones((2, 3, 8, 7))] * 2)
    assert out[1].shape == (2, 4, 8, 6)
    with pytest.raises(ParameterError, match="h2h_kernel must be odd"):
        contrib.rnn.Conv2DLSTMCell((3, 8, 8), 4, 3, 2)
    with pytest.raises(ParameterError, match="i2h_pad must be a whole number or 2 of them"):
        contrib.rnn.Conv2DGRUCell((3, 8, 8), 4, 3, 3, i2h_pad=(1, 1, 1))


def test_samples_in_steps() -> None:
    sampler = contrib.data.IntervalSampler(7, 3)
    assert list(sampler) == [0, 3, 6, 1, 4, 2, 5] and len(sampler) == 7
    sampler = contrib.data.IntervalSampler(7, 3, rollover=False)
    assert list(sampler) == [0, 3, 6] and len(sampler) == 3


def test_tables_of_which_only_rows_are_fetched() -> None:
    layer = contrib.nn.SparseEmbedding(20, 3)
    layer.initialize(hn.init.Uniform(1))
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1}, kvstore="local")
    x = nd.array([1, 7, 1])
    with autograd.record():
        before = layer(x)
    before.backward()
    trainer.step(1)
    np.testing.assert_allclose(
        layer(x).asnumpy(), before.asnumpy() - np.array([[2], [1], [2]]), rtol=1e-5
    )
    assert repr(layer) == "SparseEmbedding(20 -> 3, float32)"


def test_networks_nest() -> None:
    net = gluon.model_zoo.vision.squeezenet1_1(classes=2)
    assert net.features[3][1].axis == 1
