"""Output layers behind what stops gradients: theirs does not need any, so it is computed."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym

_DATA = np.array([[1, 1, 1, 1], [4, 2, 2, 2.0]], "float32")
_LABEL = np.array([1, 0], "float32")


def _wanted(scale=1.0):
    """Returns the gradient of the cross entropy: the softmax, less one at the label."""
    exponents = np.exp(_DATA)
    softmax = exponents / exponents.sum(1, keepdims=True)
    softmax[np.arange(2), _LABEL.astype(int)] -= 1
    return softmax * scale


class _Loss(gluon.HybridBlock):
    def hybrid_forward(self, F, scores, label):
        """Shows the cross entropy, whose gradient SoftmaxOutput brings."""
        softmax = F.SoftmaxOutput(scores, label)
        return F.sum(-F.log(F.pick(F.BlockGrad(softmax), label)))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_loss_of_a_stopped_softmax_output_trains(hybrid):
    loss = _Loss()
    if hybrid:
        loss.hybridize()
    x = nd.array(_DATA)
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            shown = loss(x * 2 / 2, nd.array(_LABEL))
        shown.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), _wanted(), rtol=1e-5)


@pytest.mark.parametrize("head", [lambda s: sym.BlockGrad(s).sum(), lambda s: s == 1])
def test_executors_compute_it_too(head):
    softmax = sym.SoftmaxOutput(sym.var("data"), sym.var("label"), grad_scale=2)
    bound = head(softmax).simple_bind(hn.cpu(), data=(2, 4), label=(2,))
    bound.forward(is_train=True, data=_DATA, label=_LABEL)
    bound.backward([nd.ones(one.shape) for one in bound.outputs])
    np.testing.assert_allclose(bound.grad_dict["data"].asnumpy(), _wanted(2), rtol=1e-5)


def test_what_multiplies_with_the_gradient_from_above_gets_none():
    x = nd.array(_DATA)
    x.attach_grad()
    with autograd.record():
        softmax = nd.SoftmaxOutput(x, nd.array(_LABEL), out_grad=True)
        total = nd.BlockGrad(softmax).sum() + (x * 0).sum()
    total.backward()
    assert not x.grad.asnumpy().any()


def test_what_no_head_depends_on_is_left_out():
    x = nd.array(_DATA)
    x.attach_grad()
    with autograd.record():
        nd.LinearRegressionOutput(x, x * 3)
        total = x.sum()
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.ones((2, 4)))
