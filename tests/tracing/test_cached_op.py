"""`CachedOp`: a symbol as a function of arrays, with gradients, states and outputs to write to."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, nd, sym
from hybridnet.base.errors import ParameterError


def test_it_computes_what_the_symbol_does_on_any_shape():
    whole = sym.Convolution(kernel=(3, 3), num_filter=2) + 2
    op = nd.CachedOp(whole)
    for channels, size in ((4, 10), (2, 6)):
        data, weight = nd.ones((3, channels, size, size)), nd.ones((2, channels, 3, 3))
        bias = nd.array([1, 2])
        for array in (weight, bias):
            array.attach_grad()
        with autograd.record():
            made = op(data, weight, bias)
            loss = (made * 2).sum()
        loss.backward()
        assert made.asnumpy()[0, :, 0, 0].tolist() == [9 * channels + 3, 9 * channels + 4]
        count = 2.0 * 3 * (size - 2) ** 2
        assert bias.grad.asnumpy().tolist() == [count, count]
        assert (weight.grad == count).asnumpy().all()


def test_outputs_are_written_where_asked():
    x = sym.var("x")
    op = hn.CachedOp(sym.Group([x + 1, x * 2]))
    one, two = op(nd.ones((2,)))
    assert one.asnumpy().tolist() == two.asnumpy().tolist() == [2, 2]
    out = [nd.zeros((2,)), nd.zeros((2,))]
    assert op(nd.ones((2,)), out=out) is out
    assert out[0].asnumpy().tolist() == out[1].asnumpy().tolist() == [2, 2]
    with pytest.raises(ParameterError, match=r"needs 1 arrays \(x\), got 2"):
        op(one, two)


def test_auxiliary_states_are_changed_in_training():
    whole = sym.BatchNorm(sym.var("x"), momentum=0.5, fix_gamma=False, name="bn")
    op = nd.CachedOp(whole)
    values = {name: nd.ones((2,)) for name in whole.list_inputs()}
    values["x"] = nd.array(np.arange(6).reshape(3, 2))
    values["bn_gamma"].attach_grad()
    with autograd.record():
        out = op(*values.values())
    assert values["bn_moving_mean"].asnumpy().tolist() == [1, 1]
    out.backward()
    assert values["bn_moving_mean"].asnumpy().tolist() == [1.5, 2]
    op(*values.values())
    assert values["bn_moving_mean"].asnumpy().tolist() == [1.5, 2]
