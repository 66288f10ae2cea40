"""Symbolic recurrent cells: MXNet's recorded answers, checkpoints, buckets, training."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from oracle import symbol_rnn_cases as cases
from places import ORACLE

import hybridnet as hn
from hybridnet import nd, sym
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.rnn import rnn as checkpoints

RECORDED = json.loads((ORACLE / "symbol_rnn.json").read_text())["cells"]


@pytest.mark.filterwarnings("ignore:FusedRNNCell")
@pytest.mark.parametrize(("text", "merge", "wanted"), RECORDED)
def test_cells_are_mxnets(text: str, merge: bool | None, wanted: dict) -> None:
    found = cases.run(hn, text, merge)
    assert found["names"] == wanted["names"]
    assert found["shapes"] == wanted["shapes"]
    assert found["parts"].keys() == wanted["parts"].keys()
    for name, part in found["parts"].items():
        np.testing.assert_allclose(part, wanted["parts"][name], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["outputs"], wanted["outputs"], rtol=1e-4, atol=1e-4)


def test_zoneout_and_dropout_in_training() -> None:
    cell = hn.rnn.ZoneoutCell(hn.rnn.RNNCell(50), 0.5, 0.5)
    outputs, _ = cell.unroll(3, sym.var("x"), merge_outputs=True)
    executor = outputs.simple_bind(hn.cpu(), x=(1, 3, 2))
    for array in executor.arg_arrays:
        array[:] = 1
    hn.random.seed(2)
    steps = executor.forward(is_train=True)[0].asnumpy()[0]
    assert 0.2 < (steps[0] == 0).mean() < 0.8
    assert (steps[1] == steps[0]).any() and (steps[1] != steps[0]).any()


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_fused_checkpoints_are_loaded_for_single_cells(mode: str, tmp_path) -> None:
    fused = hn.rnn.FusedRNNCell(3, 2, mode, bidirectional=True, prefix="net_")
    whole, _ = fused.unroll(4, sym.var("x"), layout="TNC", merge_outputs=True)
    executor = whole.simple_bind(hn.cpu(), x=(4, 2, 5))
    init = hn.init.Uniform(1)
    vector = executor.arg_dict["net_parameters"]
    attrs = whole.attr_dict()["net_parameters"]
    init(hn.init.InitDesc("net_parameters", attrs), vector)
    x = nd.random.normal(shape=(4, 2, 5))
    wanted = executor.forward(x=x)[0].asnumpy()
    prefix = str(tmp_path / "net")
    callback = hn.rnn.do_rnn_checkpoint(fused, prefix, 2)
    for epoch in range(2):
        callback(epoch, whole, {"net_parameters": vector}, {})
    cells = fused.unfuse()
    _, arrays, _ = hn.rnn.load_rnn_checkpoint(cells, prefix, 2)
    single, _ = cells.unroll(4, sym.var("x"), layout="TNC", merge_outputs=True)
    found = single.bind(hn.cpu(), {**arrays, "x": x}).forward()[0].asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    _, again, _ = hn.rnn.load_rnn_checkpoint([fused], prefix, 2)
    np.testing.assert_array_equal(again["net_parameters"].asnumpy(), vector.asnumpy())


def test_forget_gates_have_their_own_bias() -> None:
    vector = nd.zeros((2 * 4 * 3 * (5 + 3 + 2),))
    init = hn.init.FusedRNN(hn.init.One(), 3, 1, "lstm", True, forget_bias=2.0)
    hn.init.create(init.dumps())(hn.init.InitDesc("all", {"__init__": init}), vector)
    parts = hn.rnn.FusedRNNCell(3, 1, "lstm", True).unpack_weights({"lstm_parameters": vector})
    assert {part.asnumpy().ravel()[0] for name, part in parts.items() if "_f_bias" in name} == {2}
    assert parts["lstm_r0_i2h_c_weight"].shape == (3, 5)
    assert all(part.asnumpy().min() == 1 for name, part in parts.items() if "weight" in name)
    assert parts["lstm_l0_h2h_i_bias"].asnumpy().tolist() == [0, 0, 0]


def test_sentences_become_numbers() -> None:
    coded, vocab = hn.rnn.encode_sentences([["a", "b"], ["b", "c"]], start_label=1, invalid_label=2)
    assert coded == [[1, 3], [3, 4]]
    assert vocab == {"\n": 2, "a": 1, "b": 3, "c": 4}
    coded, _ = hn.rnn.encode_sentences([["a", "x"]], {"a": 1}, unknown_token="?")
    assert coded == [[1, 0]]
    with pytest.raises(ParameterError, match="vocab must have all words, got 'x'"):
        hn.rnn.encode_sentences([["x"]], {"a": 1})


@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_buckets_of_sentences(layout: str, caplog) -> None:
    random.seed(0)
    np.random.seed(0)
    sentences = [[1, 2], [3, 4, 5], [6, 7, 8], [9, 9], [1, 2, 3, 4, 5]]
    batches = hn.rnn.BucketSentenceIter(sentences, 2, buckets=[3, 2], layout=layout)
    assert "1 sentences are longer" in caplog.text
    assert batches.default_bucket_key == 3
    assert batches.provide_data[0].shape == ((2, 3) if layout == "NT" else (3, 2))
    seen = []
    for batch in batches:
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        assert batch.provide_data[0].shape == data.shape
        if layout == "TN":
            data, label = data.T, label.T
        assert data.shape == (2, batch.bucket_key)
        np.testing.assert_array_equal(label[:, :-1], data[:, 1:])
        assert (label[:, -1] == -1).all()
        seen.extend(map(tuple, data.astype(int)))
    assert sorted(seen) == [(1, 2), (3, 4, 5), (6, 7, 8), (9, 9)]
    batches.reset()
    assert len(list(batches)) == 2


def test_misuse_is_refused() -> None:
    base = hn.rnn.GRUCell(2)
    hn.rnn.ResidualCell(base)
    with pytest.raises(ParameterError, match="call the modifier instead"):
        base.begin_state()
    with pytest.raises(NotImplementedError, match="use unroll"):
        hn.rnn.FusedRNNCell(2)(sym.var("x"), [])
    with pytest.raises(ParameterError, match="FusedRNNCell takes no single steps"):
        hn.rnn.ZoneoutCell(hn.rnn.FusedRNNCell(2))
    with pytest.raises(ShapeError, match="needs 3 inputs, one for each step, got 2"):
        hn.rnn.RNNCell(2).unroll(3, [sym.var("a"), sym.var("b")])
    with pytest.raises(ParameterError, match="unroll: needs length"):
        hn.rnn.RNNCell(2).unroll(None, sym.var("x"))
    with pytest.raises(ParameterError, match="h2h_kernel must be odd"):
        hn.rnn.ConvRNNCell((1, 3, 4, 4), 2, h2h_kernel=(2, 3))
    with pytest.raises(ParameterError, match="no length has 9 sentences"):
        hn.rnn.BucketSentenceIter([[1, 2]], 9)
    with pytest.warns(DeprecationWarning, match="call cell.unroll"):
        checkpoints.rnn_unroll(hn.rnn.RNNCell(2), 1, [sym.var("a")])
