"""`contrib.autograd`, the names from before `mx.autograd`."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import nd
from hybridnet.base.errors import ParameterError
from hybridnet.contrib import autograd as old


def test_gradients_and_values_of_functions():
    x, y = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    grads, out = old.grad_and_loss(lambda a, b: a * b)(x, y)
    assert [grad.asnumpy().tolist() for grad in grads] == [[3, 4], [1, 2]]
    assert out.asnumpy().tolist() == [3, 8]
    (grad,) = old.grad(lambda a, b: a * a * b, argnum=0)(x, y)
    np.testing.assert_allclose(grad.asnumpy(), [6, 16])
    (grad,) = old.grad(lambda a, b: a * b, argnum=[1])(x, y)
    np.testing.assert_allclose(grad.asnumpy(), [1, 2])
    with pytest.raises(ParameterError, match="must be NDArrays, got int"):
        old.grad(lambda a: a)(3)


def test_sections_switch_recording_and_training():
    x, grad = nd.array([2.0]), nd.zeros((1,))
    old.mark_variables([x], [grad])
    with old.train_section():
        assert mx.autograd.is_recording() and mx.autograd.is_training()
        y = x * x
        with old.test_section():
            assert not mx.autograd.is_recording() and not mx.autograd.is_training()
            x * 3
        assert mx.autograd.is_recording()
    assert not mx.autograd.is_recording() and not mx.autograd.is_training()
    old.backward([y], [nd.array([10.0])], retain_graph=True)
    assert grad.asscalar() == 40
    old.compute_gradient([y])
    assert grad.asscalar() == 4
    assert old.set_is_training(True) is False and old.set_is_training(False) is True
