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


def test_networks_nest() -> None:
    net = gluon.model_zoo.vision.squeezenet1_1(classes=2)
    assert net.features[3][1].axis == 1
