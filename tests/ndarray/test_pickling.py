"""Pickles and states of arrays and symbols: what comes back is the same, of its own."""

from __future__ import annotations

import copy
import pickle

import numpy as onp
import pytest

from hybridnet import nd, np, sym
from hybridnet.base.context import Context, cpu

_DENSE = onp.array([[0, 1, 0], [2, 0, 3]], "float32")
_ARRAYS = {
    "nd": nd.array(_DENSE, ctx=cpu(1), dtype="float64"),
    "view": nd.array(_DENSE)[1:],
    "np": np.array(_DENSE),
    "csr": nd.array(_DENSE).tostype("csr"),
    "row_sparse": nd.array(_DENSE).tostype("row_sparse"),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", _ARRAYS)
def test_arrays_come_back(name, protocol):
    array = _ARRAYS[name]
    made = pickle.loads(pickle.dumps(array, protocol))
    assert type(made) is type(array)
    assert made.dtype == array.dtype
    assert made.context == array.context
    assert made.asnumpy().tolist() == array.asnumpy().tolist()


def test_an_array_becomes_another_by_its_state():
    array, other = nd.array(_DENSE), nd.zeros((5,), dtype="int8")
    same = other
    other.__setstate__(array.__getstate__())
    assert same.shape == (2, 3)
    other[:] = 7
    assert array.asnumpy().tolist() == _DENSE.tolist()


def test_an_array_of_a_device_that_is_not_here_comes_to_the_cpu():
    state = nd.array(_DENSE).__getstate__() | {"context": Context("gpu", 99)}
    made = nd.zeros((1,))
    made.__setstate__(state)
    assert made.context == cpu(0)
    assert made.asnumpy().tolist() == _DENSE.tolist()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_symbols_come_back(protocol):
    out = sym.FullyConnected(sym.var("x"), num_hidden=3, name="fc") * 2
    made = pickle.loads(pickle.dumps(out, protocol))
    assert made.tojson() == out.tojson()
    other = sym.var("y")
    other.__setstate__(out.__getstate__())
    assert other.list_arguments() == ["x", "fc_weight", "fc_bias"]


def test_symbols_of_numpy_semantics_stay_so():
    out = sym.var("x").as_np_ndarray() + 1
    for made in (copy.deepcopy(out), pickle.loads(pickle.dumps(out))):
        assert type(made) is type(out) is not sym.Symbol
        assert made.tojson() == out.tojson()
