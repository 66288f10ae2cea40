"""Recurrent cells and layers: MXNet's recorded answers, each other, and what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle import gluon_rnn_cases as cases
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.gluon import rnn

RECORDED = json.loads((ORACLE / "gluon_rnn.json").read_text())
NUMBERS = np.load(ORACLE / "gluon_rnn.npz")


def compare(text: str, found: dict[str, np.ndarray]) -> None:
    wanted = {key: NUMBERS[key] for key in NUMBERS.files if key.startswith(text + " ")}
    assert {f"{text} {name}" for name in found} == set(wanted)
    for name, array in found.items():
        np.testing.assert_allclose(array, wanted[f"{text} {name}"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", cases.CELLS)
def test_cells_give_what_mxnets_do(text: str) -> None:
    compare(text, cases.run_cell(hn, text))
    compare(text, cases.run_cell(hn, text, hybridize=True))


@pytest.mark.parametrize("text", cases.LAYERS)
def test_layers_give_what_mxnets_do(text: str) -> None:
    compare(text, cases.run_layer(hn, text))
    compare(text, cases.run_layer(hn, text, hybridize=True))


def test_texts_and_names_are_mxnets() -> None:
    for text, wanted in RECORDED["names"].items():
        assert cases.names(hn, text) == wanted, text


def test_symbols_have_mxnets_names() -> None:
    for text, wanted in RECORDED["symbols"].items():
        assert cases.outputs_of_symbols(hn, text) == wanted, text


@pytest.mark.parametrize("kind", [rnn.LSTM, rnn.GRU, rnn.RNN])
def test_a_layer_and_its_cells_read_each_others_files(kind: type, tmp_path) -> None:
    layer = kind(3, 2, bidirectional=True, input_size=2, prefix="net_")
    layer.initialize(hn.init.Normal(1))
    cells = layer._unfuse()
    assert dict(cells.collect_params().items()) == dict(layer.collect_params().items())
    other = kind(3, 2, bidirectional=True, prefix="net_")
    layer.save_parameters(tmp_path / "layer")
    other.load_parameters(tmp_path / "layer")
    x = nd.array(cases.numbers(3, (5, 4, 2)))
    wanted, states = layer(x, layer.begin_state(4))
    np.testing.assert_array_equal(other(x).asnumpy(), wanted.asnumpy())
    out, ends = cells.unroll(5, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(out.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
    hidden = np.stack([end.asnumpy() for end in ends[:: len(states)]])
    np.testing.assert_allclose(hidden, states[0].asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_hybridized_layer_takes_calls_with_and_without_states() -> None:
    layer = rnn.GRU(2, layout="NTC")
    layer.initialize()
    layer.hybridize()
    x = nd.array(cases.numbers(3, (2, 3, 4)))
    for _ in range(2):
        alone = layer(x)
        out, states = layer(x, nd.zeros((1, 2, 2)))
        np.testing.assert_array_equal(alone.asnumpy(), out.asnumpy())
        np.testing.assert_array_equal(states[0].asnumpy()[0], out.asnumpy()[:, -1])
    assert layer.l0_i2h_weight.shape == (6, 4)


def test_lengths_of_a_layer_are_those_of_its_cells() -> None:
    layer = rnn.LSTM(3, use_sequence_length=True)
    layer.initialize(hn.init.Normal(1))
    x, lengths = nd.array(cases.numbers(3, (4, 2, 2))), nd.array([2, 4])
    out, states = layer(x, layer.begin_state(2), lengths)
    wanted, ends = layer._unfuse().unroll(
        4, x, layout="TNC", merge_outputs=True, valid_length=lengths
    )
    np.testing.assert_allclose(out.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)
    for state, end in zip(states, ends, strict=True):
        np.testing.assert_allclose(state.asnumpy()[0], end.asnumpy(), rtol=1e-5, atol=1e-6)


def test_half_precision_cells_begin_with_states_of_their_dtype() -> None:
    cell = rnn.LSTMCell(2)
    cell.cast("float16")
    cell.initialize()
    out, states = cell.unroll(2, nd.ones((1, 2, 3), dtype="float16"))
    assert {array.dtype for array in (*out, *states)} == {np.float16}


def test_zoneout_keeps_the_step_before_also_where_the_cell_inside_is_traced() -> None:
    cell = rnn.ZoneoutCell(rnn.RNNCell(200, input_size=1), zoneout_outputs=0.5)
    cell.initialize(hn.init.One())
    cell.hybridize()
    hn.random.seed(1)
    with autograd.record():
        outputs, _ = cell.unroll(3, nd.ones((1, 3, 1)), merge_outputs=False)
    one, two, three = (step.asnumpy()[0] for step in outputs)
    assert set(np.unique(one).round(3)) == {0, np.float32(np.tanh(1)).round(3)}
    for before, after in ((one, two), (two, three)):
        assert 0.4 < (before == after).mean() < 0.9  # half are kept, and others are 1 in both


def test_networks_of_layers_train_and_export() -> None:
    net = gluon.nn.HybridSequential()
    net.add(rnn.LSTM(4, bidirectional=True), gluon.nn.Dense(1))
    net.initialize(hn.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    x, y = nd.array(cases.numbers(4, (6, 3, 2))), nd.array(cases.numbers(5, (6, 1)))
    losses = []
    for _ in range(12):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y)
        loss.backward()
        trainer.step(6)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("kind", [rnn.RNNCell, rnn.LSTMCell, rnn.GRUCell])
def test_cells_on_symbols_find_the_batch_and_are_saved(kind: type, tmp_path) -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.cell = kind(3)

        def hybrid_forward(self, F, x):
            return self.cell.unroll(2, x, merge_outputs=True)[0]

    net = Net()
    net.initialize(hn.init.Normal(1))
    net.hybridize()
    x = nd.array(cases.numbers(3, (4, 2, 5)))
    wanted = net(x).asnumpy()
    symbol = net(sym.var("data"))
    arguments, (shape,), _ = symbol.infer_shape(data=(7, 2, 5))
    assert shape == (7, 2, 3)
    assert all(0 not in one for one in arguments)
    files = net.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    np.testing.assert_allclose(loaded(x).asnumpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(loaded(x[:1]).asnumpy(), wanted[:1], rtol=1e-5)  # another batch


@pytest.mark.parametrize("both", [False, True])
def test_layers_on_symbols_find_all_shapes(both: bool) -> None:
    layer = rnn.LSTM(3, 2, bidirectional=both)
    symbol = layer(sym.var("data"))
    arguments, (shape,), _ = symbol.infer_shape(data=(4, 2, 5))
    assert shape == (4, 2, 6 if both else 3)
    found = dict(zip(symbol.list_arguments(), arguments, strict=True))
    layer.initialize()
    layer(nd.ones((4, 2, 5)))
    for param in layer.collect_params().values():
        assert found[param.name] == param.shape


def test_states_are_made_by_any_function() -> None:
    cell = rnn.LSTMCell(2, prefix="c_")
    first, second = cell.begin_state(func=sym.var)
    assert [first.name, second.name] == ["c_begin_state_0", "c_begin_state_1"]
    assert cell.begin_state(3, func=nd.ones, dtype="float64")[1].asnumpy().sum() == 6
    with pytest.raises(TypeError, match="unexpected keyword argument 'shap'"):
        nd.zeros((1,), shap=2)


def test_misuse_is_refused() -> None:
    base = rnn.GRUCell(2)
    rnn.ResidualCell(base)
    with pytest.raises(ParameterError, match="belongs to another modifier"):
        rnn.ZoneoutCell(base)
    with pytest.raises(ParameterError, match="call the modifier instead"):
        base.begin_state(1)
    both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
    with pytest.raises(NotImplementedError, match="use unroll"):
        both(nd.ones((1, 2)), [])
    with pytest.raises(ParameterError, match="takes no single steps"):
        rnn.ZoneoutCell(both)
    with pytest.raises(ShapeError, match="length must be the inputs' size 3 along axis 1, got 2"):
        rnn.GRUCell(2).unroll(2, nd.ones((1, 3, 2)))
    with pytest.raises(ParameterError, match="layout must be 'TNC' or 'NTC', got 'CNT'"):
        rnn.LSTM(2, layout="CNT")
    layer = rnn.LSTM(2)
    layer.initialize()
    with pytest.raises(ShapeError, match=r"states must have shapes \[\(1, 3, 2\), \(1, 3, 2\)\]"):
        layer(nd.ones((4, 3, 2)), layer.begin_state(2))


def test_a_step_without_states_names_the_cell() -> None:
    cell = rnn.LSTMCell(4)
    cell.initialize()
    with pytest.raises(TypeError, match="LSTMCell: takes inputs and states"):
        cell(nd.ones((2, 3)))
