"""Files of every release of MXNet from 0.9.5 on are read, and give that release's numbers.

`oracle/make_releases.py` wrote them, with the releases themselves.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ORACLE

import hybridnet as mx
from hybridnet import autograd, gluon, nd

RELEASES = sorted((ORACLE / "files" / "releases").glob("*.zip"))
DATA, CLASSES = (4, 1, 8, 8), 3


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def files(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of a release's files, which are in the current folder."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(request.param) as packed:
        packed.extractall()
        return set(packed.namelist())


def numbers(shape: Any, seed: int) -> Any:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def assert_same(got: Any, wanted: Any, name: str = "") -> None:
    np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=2e-5, atol=2e-6, err_msg=name)


def test_a_module_goes_on_from_a_checkpoint(files: set[str]) -> None:
    if "net-answers.params" not in files:
        pytest.skip("MXNet 2 has no Module")
    answers = nd.load("net-answers.params")
    module = mx.mod.Module.load("net", 2, load_optimizer_states=True)
    module.bind([("data", DATA)], [("softmax_label", DATA[:1])])
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3}
    )
    label = nd.array(np.arange(DATA[0]) % CLASSES)
    batch = mx.io.DataBatch([nd.array(numbers(DATA, 1))], [label])
    module.forward(batch, is_train=False)
    assert_same(module.get_outputs()[0], answers["out"])
    module.forward(batch, is_train=True)
    module.backward()
    module.update()
    for kind, found in zip(("arg", "aux"), module.get_params(), strict=True):
        for name, one in found.items():
            assert_same(one, answers[f"{kind}:{name}"], name)


def test_attributes_of_a_symbol_are_kept(files: set[str]) -> None:
    if "net-symbol.json" not in files:
        pytest.skip("MXNet 2 has no Module")
    symbol = mx.sym.load("net-symbol.json")
    attrs = symbol.attr_dict()
    assert attrs["fc1"]["ctx_group"] == "stage2"
    own = attrs["fc1_weight"]
    assert {own.get("lr_mult", own.get("__lr_mult__")), own.get("__wd_mult__")} == {"0.5", "2.0"}


@pytest.mark.parametrize("name", ["rnn", "exported"])
def test_a_symbol_computes_what_it_did(files: set[str], name: str) -> None:
    if f"{name}-symbol.json" not in files:
        pytest.skip("this release had no export, or no mx.rnn")
    symbol = mx.sym.load(f"{name}-symbol.json")
    (saved,) = (one for one in files if one.startswith(f"{name}-") and one[-11:-7].isdigit())
    arrays = nd.load(saved)
    if name == "rnn":
        answers = nd.load("rnn-answers.params")
        data, out = answers["data"], answers["out"]
    else:
        data, out = nd.array(numbers(DATA, 2)), nd.load("gluon-answers.params")["out"]
    args = {key[4:]: one for key, one in arrays.items() if key.startswith("arg:")}
    auxs = {key[4:]: one for key, one in arrays.items() if key.startswith("aux:")}
    bound = symbol.bind(mx.cpu(), {**args, "data": data}, aux_states=auxs)
    assert_same(bound.forward(is_train=False)[0], out)
    if name == "exported":
        block = gluon.SymbolBlock.imports(f"{name}-symbol.json", ["data"], saved)
        assert_same(block(data), out)


def test_what_it_exports_to_onnx_computes_what_it_did(files: set[str]) -> None:
    if "exported.onnx" not in files:
        pytest.skip("only the last release's file is kept")
    pytest.importorskip("onnx")
    block = mx.contrib.onnx.import_to_gluon("exported.onnx", mx.cpu())
    assert_same(block(nd.array(numbers(DATA, 2))), nd.load("gluon-answers.params")["out"])


def test_arrays_are_read(files: set[str]) -> None:
    arrays = nd.load("arrays.params")
    with np.load("arrays.npz") as wanted:
        assert set(arrays) == set(wanted.files)
        for name, one in arrays.items():
            assert one.asnumpy().dtype == wanted[name].dtype
            np.testing.assert_array_equal(one.asnumpy(), wanted[name])
    first, second = nd.load("list.params")
    assert first.shape == (2, 1) and second.asnumpy().tolist() == [0, 1, 2]
    if "sparse.params" in files:
        for kind, one in nd.load("sparse.params").items():
            assert one.stype == kind
            assert one.asnumpy().tolist() == [[0, 1.5, 0], [0, 0, 0], [2, 0, -1]]


def test_records_are_read(files: set[str]) -> None:
    reader = mx.recordio.MXIndexedRecordIO("records.idx", "records.rec", "r")
    for number in reversed(range(5)):
        header, text = mx.recordio.unpack(reader.read_idx(number))
        assert text == b"x" * number + b"\n\xce\xd7\x23\x0a" and header.id == number
        label = float(number) if number % 2 else np.arange(number + 1)
        np.testing.assert_array_equal(header.label, label)


def test_a_trainer_goes_on(files: set[str]) -> None:
    if "gluon-answers.params" not in files:
        pytest.skip("this release had no Gluon")
    answers = nd.load("gluon-answers.params")
    for way in ("save_params", "save_parameters"):
        if f"gluon-{way}.params" not in files:
            continue
        net = gluon.nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(gluon.nn.Conv2D(2, 3, activation="relu"))
            net.add(gluon.nn.BatchNorm())
            net.add(gluon.nn.Flatten())
            net.add(gluon.nn.Dense(CLASSES))
        net.load_parameters(f"gluon-{way}.params")
        data = nd.array(numbers(DATA, 2))
        assert_same(net(data), answers["out"])
        if "trainer.states" not in files or "after:0.weight" in answers:
            continue  # MXNet 2 numbers parameters by the structure, which a trainer does not know
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05, "wd": 1e-3})
        trainer.load_states("trainer.states")
        with autograd.record():
            out = net(data)
            loss = nd.sum(out * out)
        loss.backward()
        trainer.step(DATA[0])
        for name, one in net.collect_params().items():
            assert_same(one.data(), answers[f"after:{name}"], name)
