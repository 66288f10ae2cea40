"""Checkpoints: two files, of symbols and arrays, as MXNet writes and reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from places import ORACLE

import hybridnet as hn
from hybridnet import model, nd, sym
from hybridnet.base.errors import FormatError, ParameterError

FILES = ORACLE / "files"


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    prefix = str(tmp_path / "net")
    args = {"fc_weight": nd.array([[1.0, 2.0]] * 2), "fc_bias": nd.array([3, 4], dtype="int32")}
    model.save_checkpoint(prefix, 12, net, args, {"mean": nd.ones((1,))})
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net-0012.params", "net-symbol.json"]
    assert list(nd.load(prefix + "-0012.params")) == ["arg:fc_weight", "arg:fc_bias", "aux:mean"]
    symbol, loaded, aux = model.load_checkpoint(prefix, 12)
    assert symbol.tojson() == net.tojson()
    assert {name: one.asnumpy().tolist() for name, one in loaded.items()} == {
        "fc_weight": [[1, 2], [1, 2]],
        "fc_bias": [3, 4],
    }
    assert loaded["fc_bias"].dtype is np.int32
    assert aux["mean"].asnumpy().tolist() == [1]


def test_arrays_alone(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    model.save_checkpoint(prefix, 0, None, {"w": nd.ones((1,))}, {})
    assert [one.name for one in tmp_path.iterdir()] == ["net-0000.params"]
    args, aux = model.load_params(prefix, 0)
    assert (list(args), aux) == (["w"], {})
    with pytest.raises(FileNotFoundError, match=r"net-symbol.json"):
        model.load_checkpoint(prefix, 0)
    with pytest.raises(FileNotFoundError, match=r"net-0001.params"):
        model.load_params(prefix, 1)


def test_mxnets_checkpoints_give_its_outputs() -> None:
    symbol, args, aux = model.load_checkpoint(str(FILES / "mlp"), 0)
    io = nd.load(FILES / "mlp-io.params")
    bound = symbol.bind(hn.cpu(), {**args, "data": io["in:data"]}, aux_states=aux)
    (out,) = bound.forward(is_train=False)
    np.testing.assert_allclose(out.asnumpy(), io["out:0"].asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("names", [["w"], ["arg:"], ["foo:w"], None])
def test_files_that_are_no_checkpoints(tmp_path: Path, names: list[str] | None) -> None:
    arrays = [nd.ones((1,))]
    path = tmp_path / "net-0000.params"
    nd.save(path, arrays if names is None else dict(zip(names, arrays, strict=True)))
    with pytest.raises(FormatError, match=r"net-0000.params: (names must be|holds arrays without)"):
        model.load_params(str(tmp_path / "net"), 0)


def test_damaged_files(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    model.save_checkpoint(prefix, 0, sym.var("x") + 1, {"w": nd.ones((9,))}, {})
    params, symbol = tmp_path / "net-0000.params", tmp_path / "net-symbol.json"
    whole = params.read_bytes()
    params.write_bytes(whole[:-5])
    with pytest.raises(FormatError, match=r"net-0000.params.*damaged"):
        model.load_checkpoint(prefix, 0)
    params.write_bytes(whole)
    symbol.write_text(symbol.read_text()[:-9])
    with pytest.raises(FormatError, match=r"net-symbol.json"):
        model.load_checkpoint(prefix, 0)


def test_a_checkpoint_of_no_arrays(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    model.save_checkpoint(prefix, 0, sym.var("x") + 1, {}, {})
    _, args, aux = model.load_checkpoint(prefix, 0)
    assert (args, aux) == ({}, {})


def test_what_is_no_array_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    with pytest.raises(ParameterError, match="'arg:w' must be an NDArray, got int"):
        model.save_checkpoint(prefix, 0, sym.var("x"), {"w": 3}, {})  # type: ignore[dict-item]
    assert not list(tmp_path.iterdir())
