"""Gradients that are set: of output layers behind what stops gradients, and at kinks.

Output layers do not need any gradient from above, so theirs is computed there, too.
"""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym
from hybridnet import np as np_

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


_SCORES = np.array([[0.5, -2, 3, 1], [4, 2, 0.2, 2.0]], "float32")
_TARGETS = np.array([[1, 2, 3, 4], [1, 1, 1, 1.0]], "float32")
_SIGNS = np.array([[-1, 1, -1, -1], [1, -1, -1, -1]], "float32")  # of the labels 1 and 0
# What each layer brings for the scores, whatever is above it.
_LAYERS = {
    "LinearRegressionOutput": (
        lambda F, x, label, target: F.LinearRegressionOutput(x, target),
        (_SCORES - _TARGETS) / 4,
    ),
    "MAERegressionOutput": (
        lambda F, x, label, target: F.MAERegressionOutput(x, target),
        np.where(_SCORES > _TARGETS, 1, -1) / 4,
    ),
    "LogisticRegressionOutput": (
        lambda F, x, label, target: F.LogisticRegressionOutput(x, target),
        (1 / (1 + np.exp(-_SCORES)) - _TARGETS) / 4,
    ),
    "make_loss": (lambda F, x, label, target: F.make_loss(x * x), 2 * _SCORES),
    "MakeLoss": (
        lambda F, x, label, target: F.MakeLoss(x * x, grad_scale=3.0),
        6 * _SCORES,
    ),
    "SVMOutput": (
        lambda F, x, label, target: F.SVMOutput(x, label, use_linear=True),
        np.where(1 - _SIGNS * _SCORES > 0, -_SIGNS, 0),
    ),
}


class _Layer(gluon.HybridBlock):
    """An output layer, and what stops its gradient; twice its input beside it."""

    def __init__(self, layer, stop):
        super().__init__()
        self._layer, self._stop = layer, stop

    def hybrid_forward(self, F, x, label, target):
        """Returns the stopped layer and twice `x`."""
        return self._stop(F, self._layer(F, x, label, target)), x * 2


def _gradient(block, hybrid, use):
    """Returns the gradient of the third pass, for which everything is compiled."""
    if hybrid:
        block.hybridize()
    x = nd.array(_SCORES)
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            head = use(*block(x, nd.array(_LABEL), nd.array(_TARGETS)), x)
        head.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", _LAYERS)
def test_output_layers_bring_their_gradient_through_a_stop(name, inside, hybrid):
    layer, wanted = _LAYERS[name]
    block = _Layer(layer, (lambda F, y: F.BlockGrad(y)) if inside else (lambda F, y: y))
    found = _gradient(block, hybrid, lambda y, _, x: nd.BlockGrad(y).sum() + x.sum())
    np.testing.assert_allclose(found, wanted + 1, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_comparisons_stop_a_gradient_as_well(inside, hybrid):
    layer, wanted = _LAYERS["make_loss"]
    block = _Layer(layer, (lambda F, y: F.argmax(y, axis=1)) if inside else (lambda F, y: y == 1))
    np.testing.assert_allclose(_gradient(block, hybrid, lambda y, _, x: y.sum()), wanted)


@pytest.mark.parametrize("hybrid", [False, True])
def test_an_output_that_no_head_depends_on_brings_nothing(hybrid):
    block = _Layer(_LAYERS["make_loss"][0], lambda F, y: F.BlockGrad(y))
    np.testing.assert_array_equal(_gradient(block, hybrid, lambda _, y, x: y.sum()), 2)


class _Sevens(hn.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        """Copies."""
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Sevens, and the gradient from above."""
        self.assign(in_grad[0], req[0], out_grad[0] + 7)


@hn.operator.register("own_gradients_sevens")
class _SevensProp(hn.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        """There is one kind."""
        return _Sevens()


class _Fives(autograd.Function):
    def forward(self, x):
        """Doubles."""
        return x * 2

    def backward(self, dy):
        """Fives, and the gradient from above."""
        return dy + 5


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_users_operator_behind_a_stop_is_given_zeros(hybrid):
    block = _Layer(
        lambda F, x, *_: F.Custom(x, op_type="own_gradients_sevens"), lambda F, y: F.BlockGrad(y)
    )
    np.testing.assert_array_equal(_gradient(block, hybrid, lambda y, _, x: y.sum()), 7)


def test_a_users_function_behind_a_stop_is_given_zeros():
    x = nd.array(_SCORES)
    x.attach_grad()
    with autograd.record():
        total = nd.BlockGrad(_Fives()(x)).sum()
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 5)


_P, _Z = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], [-1.0, 0.0, 1.0]
_INF = float("inf")
# Calls, what they are of, and the gradients that MXNet 1.9.1 gives them.
_KINKS = {
    "relu": (lambda x: nd.relu(x), [_Z], [[0, 0, 1]]),
    "abs": (lambda x: nd.abs(x), [_Z], [[-1, 0, 1]]),
    "sign": (lambda x: nd.sign(x), [_Z], [[0, 0, 0]]),
    "clip": (lambda x: nd.clip(x, -1, 1), [_P], [[0, 1, 1, 1, 1, 1, 0]]),
    "hard_sigmoid": (
        lambda x: nd.hard_sigmoid(x),
        [[-2.5, -2.4, 0, 2.4, 2.5]],
        [[0, 0.2, 0.2, 0.2, 0]],
    ),
    "cbrt": (lambda x: nd.cbrt(x), [[-8.0, 0, 1]], [[1 / 12, _INF, 1 / 3]]),
    "rcbrt": (lambda x: nd.rcbrt(x), [[-8.0, 0, 1]], [[-1 / 48, -_INF, -1 / 3]]),
    "sqrt": (lambda x: nd.sqrt(x), [[0.0, 1]], [[_INF, 0.5]]),
    "rsqrt": (lambda x: nd.rsqrt(x), [[0.0, 1]], [[-_INF, -0.5]]),
    "log": (lambda x: nd.log(x), [[0.0, 1]], [[_INF, 1]]),
    "maximum": (lambda x, y: nd.maximum(x, y), [_Z, [-1.0, 1, 0]], [[1, 0, 1], [0, 1, 0]]),
    "minimum": (lambda x, y: nd.minimum(x, y), [_Z, [-1.0, 1, 0]], [[1, 1, 0], [0, 0, 1]]),
    "max": (lambda x: nd.max(x), [[1.0, 3, 3]], [[0, 1, 1]]),
    "min": (lambda x: nd.min(x), [[1.0, 1, 3]], [[1, 1, 0]]),
    "norm, ord 1": (lambda x: nd.norm(x, ord=1), [_Z], [[-1, 0, 1]]),
    "smooth_l1": (lambda x: nd.smooth_l1(x, scalar=1), [_P], [[-1, -1, -0.5, 0, 0.5, 1, 1]]),
    "leaky": (lambda x: nd.LeakyReLU(x, slope=0.3), [_Z], [[0.3, 0.3, 1]]),
    "elu": (lambda x: nd.LeakyReLU(x, act_type="elu", slope=0.3), [[0.0, 1]], [[0.3, 1]]),
    "selu": (lambda x: nd.LeakyReLU(x, act_type="selu"), [[0.0, 1]], [[1.7581, 1.0507]]),
    "Pooling": (
        lambda x: nd.Pooling(x, kernel=(2,), stride=(2,)),
        [[[[1.0, 1, 0, 0]]]],
        [[1, 0, 1, 0]],
    ),
    "topk": (lambda x: nd.topk(x, k=1, ret_typ="value"), [[[1.0, 2, 2]]], [[0, 1, 0]]),
    "MAERegressionOutput": (
        lambda x: nd.MAERegressionOutput(x, nd.array([[0, 1, 0.5]])),
        [[[0.0, 0, 1]]],
        [[-1 / 3, -1 / 3, 1 / 3]],
    ),
    "Hinge": (
        lambda x, y: gluon.loss.HingeLoss()(x, y),
        [[[1.0, 0, -1]], [[1.0, 1, -1]]],
        [[0, -1 / 3, 0], [0, 0, 0]],
    ),
    "Huber": (
        lambda x, y: gluon.loss.HuberLoss()(x, y),
        [[[1.0, 0, -1]], [[0.0, 0, 0]]],
        [[1 / 3, 0, -1 / 3], [-1 / 3, 0, 1 / 3]],
    ),
    "L1": (lambda x, y: gluon.loss.L1Loss()(x, y), [[[1.0, 0]], [[0.0, 0]]], [[0.5, 0], [-0.5, 0]]),
    "SigmoidBCE": (
        lambda x: gluon.loss.SigmoidBCELoss()(x, nd.array([[0.0, 1, 0.25]])),
        [[[0.0, 0, 0]]],
        [[0, -1 / 3, -1 / 12]],
    ),
    "np.linalg.norm, ord 1": (
        lambda x: np_.linalg.norm(x.as_np_ndarray(), ord=1).as_nd_ndarray(),
        [_Z],
        [[-1, 0, 1]],
    ),
    "np.cbrt": (lambda x: np_.cbrt(x.as_np_ndarray()).as_nd_ndarray(), [[0.0, 1]], [[_INF, 1 / 3]]),
}


@pytest.mark.parametrize("name", _KINKS)
def test_gradients_at_kinks_ties_and_poles_are_mxnets(name):
    """Where two slopes meet MXNet takes one, and which one differs from operator to operator."""
    function, given, wanted = _KINKS[name]
    arrays = [nd.array(one) for one in given]
    for one in arrays:
        one.attach_grad()
    with autograd.record():
        made = function(*arrays)
    made.backward()
    for one, right in zip(arrays, wanted, strict=True):
        np.testing.assert_allclose(one.grad.asnumpy().ravel(), right, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("operator", ["cbrt", "hard_sigmoid", "MAERegressionOutput"])
def test_gradients_of_symbols_at_kinks_are_those_of_arrays(operator):
    """The program of a symbol has the slopes that the operator has when it runs alone."""
    given, wanted = {
        "cbrt": ([-8.0, 0, 1], [1 / 12, _INF, 1 / 3]),
        "hard_sigmoid": ([-2.5, 0, 2.5], [0, 0.2, 0]),
        "MAERegressionOutput": ([0.0, 1, 2], [-1, 1, 1]),
    }[operator]
    more = [sym.zeros((3,))] if operator == "MAERegressionOutput" else []
    made = getattr(sym, operator)(sym.var("x"), *more)
    bound = made.simple_bind(hn.cpu(), x=(3,))
    bound.arg_dict["x"][:] = given
    bound.forward(is_train=True)
    bound.backward(nd.ones(3))
    np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), wanted, rtol=1e-4)
