"""Names of MXNet's that old programs use, and what became of them."""

from types import SimpleNamespace

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import base, context
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.runtime.platform import device_memory


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


def test_what_was_recorded_becomes_a_symbol():
    x, c = mx.nd.array([3.0, -1.0]), mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.relu(x * 2) + c * x[1:2]
    symbol = mx.autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0", "null0"]
    assert symbol.list_outputs() == [f"{symbol.name}_output"]
    np.testing.assert_array_equal(symbol.eval(var0=x, null0=c)[0].asnumpy(), y.asnumpy())
    other = mx.nd.array([5.0, 7.0])
    expected = np.array([10.0, 14.0]) + c.asnumpy() * 7
    np.testing.assert_array_equal(symbol.eval(var0=other, null0=c)[0].asnumpy(), expected)


def test_what_was_recorded_may_draw_random_numbers():
    x = mx.nd.ones((100,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Dropout(x, p=0.5) * 3
    symbol = mx.autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0"]
    executor = symbol.bind(mx.cpu(), {"var0": x})
    assert set(executor.forward(is_train=True)[0].asnumpy()) == {0.0, 6.0}
    assert set(executor.forward(is_train=False)[0].asnumpy()) == {3.0}


def test_arrays_with_gradients_are_variables():
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    symbol = mx.autograd.get_symbol(x)
    assert symbol.list_arguments() == symbol.list_outputs() == ["var0"]
    np.testing.assert_array_equal(symbol.eval(var0=x)[0].asnumpy(), x.asnumpy())


def test_get_symbol_refuses_what_is_not_recorded():
    class Twice(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 2

    x = mx.nd.ones((2,))
    with pytest.raises(MXNetError, match="get_symbol: the array was not computed inside"):
        mx.autograd.get_symbol(x)
    x.attach_grad()
    with mx.autograd.record():
        y, z = x * 2, Twice()(x)
    y.backward()
    with pytest.raises(MXNetError, match=r"_mul_scalar was used up by backward\(\)"):
        mx.autograd.get_symbol(y)
    with pytest.raises(MXNetError, match="is no operator, so it is in no symbol"):
        mx.autograd.get_symbol(z)


def test_division_of_python_2():
    assert mx.nd.array([4.0]).__div__(2).asscalar() == 2
    assert mx.sym.var("x").__div__(2).eval(x=mx.nd.array([4.0]))[0].asscalar() == 2


def test_the_memory_of_a_gpu_is_what_jax_says(monkeypatch):
    said = {"bytes_in_use": 30, "bytes_limit": 100}
    device = SimpleNamespace(memory_stats=lambda: said)
    monkeypatch.setattr(context, "check_device", lambda ctx: None)
    monkeypatch.setattr(device_memory, "device_of", lambda ctx: device)
    assert context.gpu_memory_info(1) == mx.util.get_gpu_memory(0) == (70, 100)
    assert mx.util.get_gpu_count() == mx.num_gpus()
    said.clear()
    with pytest.raises(mx.MXNetError, match=r"does not tell that of gpu\(0\)"):
        context.gpu_memory_info()
