"""Names of MXNet's that old programs use, and what became of them."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import base, context
from hybridnet.base.errors import MXNetError, ParameterError


def test_context_counts_gpus_and_has_a_default():
    assert context.num_gpus() == mx.num_gpus() >= 0
    assert context.Context.default_ctx == mx.cpu(0)
    try:
        context.Context.default_ctx = mx.gpu(0)
        assert mx.current_context() == mx.gpu(0) == context.Context.default_ctx
        with mx.cpu(0):
            assert context.Context.default_ctx == mx.cpu(0)
    finally:
        context.Context.default_ctx = mx.cpu(0)


def test_errors_of_base_name_function_and_arguments():
    error = base.NotImplementedForSymbol(np.sort, "sort", 3)
    assert isinstance(error, MXNetError)
    assert str(error) == "sort (namely sort): requires an NDArray, and not a symbol, got 3"


def test_data_dir_is_mxnets_own(monkeypatch):
    monkeypatch.setenv("MXNET_HOME", "/somewhere")
    assert base.data_dir() == "/somewhere"
    monkeypatch.delenv("MXNET_HOME")
    assert base.data_dir().endswith(".mxnet")


def test_backends_of_symbols_change_nothing():
    symbol = mx.sym.relu(mx.sym.var("x"), name="y")
    for other in (symbol.optimize_for("MKLDNN"), symbol.get_backend_symbol("MKLDNN")):
        assert other is not symbol
        assert other.tojson() == symbol.tojson()
    with pytest.raises(ParameterError, match="backend must be 'MKLDNN' .* got 'foo'"):
        symbol.get_backend_symbol("foo")


def test_memory_is_not_lent_for_writing():
    x = mx.nd.ones((2,))
    for lend in (x.to_dlpack_for_write, lambda: mx.nd.to_dlpack_for_write(x)):
        with pytest.raises(MXNetError, match="bring what was changed back with"):
            lend()


def test_division_of_python_2():
    assert mx.nd.array([4.0]).__div__(2).asscalar() == 2
    assert mx.sym.var("x").__div__(2).eval(x=mx.nd.array([4.0]))[0].asscalar() == 2
