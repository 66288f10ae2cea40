"""BatchNorm's running averages move when MXNet moves them, in the cases of `average_cases.py`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle.average_cases import CASES
from places import ORACLE

import hybridnet as mx
from hybridnet import autograd, nd
from hybridnet.gluon import nn

ANSWERS = json.loads((ORACLE / "averages.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_averages_move_as_mxnets(name: str) -> None:
    np.testing.assert_allclose(CASES[name](mx), ANSWERS[name], rtol=1e-5, atol=1e-6)


@pytest.fixture
def layer() -> nn.BatchNorm:
    made = nn.BatchNorm(in_channels=2)
    made.initialize()
    return made


X = np.arange(8, dtype="float32").reshape(4, 2)


def means(layer: nn.BatchNorm) -> list[float]:
    return [round(float(one), 5) for one in layer.running_mean.data().asnumpy()]


def test_a_step_that_is_traced_moves_them(layer: nn.BatchNorm) -> None:
    @mx.function
    def step(x: nd.NDArray) -> nd.NDArray:
        with autograd.record():
            loss = layer(x).sum()
        loss.backward()
        return loss

    for _ in range(2):
        step(nd.array(X))
    assert means(layer) == [0.57, 0.76]


def test_a_function_whose_gradient_is_asked_for_outside_moves_them(layer: nn.BatchNorm) -> None:
    function = mx.function(lambda x: (layer(x), layer(2 * x)))
    for is_traced in (False, True):
        layer.running_mean.data()[:] = 0
        with autograd.record():
            one, two = function(nd.array(X)) if is_traced else function.python_function(nd.array(X))
            loss = one + two
        assert means(layer) == [0, 0]
        loss.backward()
        assert means(layer) == [0.84, 1.12]


def test_averages_that_are_arguments_move(layer: nn.BatchNorm) -> None:
    """Whole ones, and such as are parts of others."""
    norm = mx.function(lambda x, *rest: nd.BatchNorm(x, *rest, fix_gamma=False))
    gamma, beta = nd.ones((2,)), nd.zeros((2,))
    gamma.attach_grad()
    whole = nd.zeros((2, 2))
    for mean, var in ((nd.zeros((2,)), nd.zeros((2,))), (whole[0], whole[1])):
        with autograd.record():
            y = norm(nd.array(X), gamma, beta, mean, var)
        y.backward()
        np.testing.assert_allclose(mean.asnumpy(), [0.3, 0.4], rtol=1e-6)
        np.testing.assert_allclose(var.asnumpy(), [0.5, 0.5], rtol=1e-6)
    np.testing.assert_allclose(whole.asnumpy(), [[0.3, 0.4], [0.5, 0.5]], rtol=1e-6)


def test_a_loop_in_a_traced_function_moves_them_as_it_runs(layer: nn.BatchNorm) -> None:
    """Where a gradient is wanted of it: its turns are one operator, and so is their gradient."""

    @mx.function
    def net(x: nd.NDArray) -> nd.NDArray:
        outputs, _ = nd.contrib.foreach(lambda row, states: (layer(row), states), x, [])
        return outputs

    x = nd.array(np.stack([X, 2 * X]))
    with autograd.record():
        y = net(x)
    y.backward()
    assert means(layer) == [0.87, 1.16]
    net(x)
    assert means(layer) == [0.87, 1.16]


@pytest.mark.parametrize("is_hybrid", [False, True])
def test_a_training_loop_equals_numpy(is_hybrid: bool) -> None:
    """Also as the steps are prepared, compiled, and dispatched as they are."""
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.BatchNorm(in_channels=3), nn.Dense(1, in_units=3))
    net.initialize(mx.init.Xavier())
    if is_hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    random = np.random.default_rng(0)
    mean, var = np.zeros(3), np.ones(3)
    for _ in range(30):
        x = random.normal(size=(5, 2)).astype("float32")
        weight, bias = net[0].weight.data().asnumpy(), net[0].bias.data().asnumpy()
        with autograd.record():
            loss = (net(nd.array(x)) ** 2).mean()
        loss.backward()
        trainer.step(1)
        made = x @ weight.T + bias
        mean, var = 0.9 * mean + 0.1 * made.mean(0), 0.9 * var + 0.1 * made.var(0)
        np.testing.assert_allclose(net[1].running_mean.data().asnumpy(), mean, 1e-4, 1e-5)
        np.testing.assert_allclose(net[1].running_var.data().asnumpy(), var, 1e-4, 1e-5)


def test_averages_that_are_parts_inside_of_a_function_move(layer: nn.BatchNorm) -> None:
    """Of an argument, and of an array from outside."""
    gamma, beta = nd.ones((2,)), nd.zeros((2,))
    gamma.attach_grad()
    outside = nd.zeros((2, 2))

    @mx.function
    def of_argument(x: nd.NDArray, states: nd.NDArray) -> nd.NDArray:
        return nd.BatchNorm(x, gamma, beta, states[0], states[1], fix_gamma=False)

    @mx.function
    def of_outside(x: nd.NDArray, _: nd.NDArray) -> nd.NDArray:
        return nd.BatchNorm(x, gamma, beta, outside[0], outside[1], fix_gamma=False)

    for function, states in ((of_argument, nd.zeros((2, 2))), (of_outside, outside)):
        with autograd.record():
            y = function(nd.array(X), states)
        y.backward()
        np.testing.assert_allclose(states.asnumpy(), [[0.3, 0.4], [0.5, 0.5]], rtol=1e-6)


def test_averages_move_where_their_layer_is() -> None:
    """A bound symbol on two devices."""
    with mx.AttrScope(ctx_group="first"):
        made = mx.sym.var("data") * 1
    with mx.AttrScope(ctx_group="second"):
        symbol = mx.sym.BatchNorm(made, fix_gamma=False, name="bn")
    places = {"first": mx.cpu(0), "second": mx.cpu(1)}
    executor = symbol.simple_bind(mx.cpu(0), group2ctx=places, data=X.shape)
    executor.arg_dict["data"][:] = X
    executor.arg_dict["bn_gamma"][:] = 1
    mean = executor.aux_dict["bn_moving_mean"]
    executor.forward(is_train=True)
    assert mean.asnumpy().tolist() == [0, 0]
    executor.backward(nd.ones(X.shape, ctx=mx.cpu(1)))
    assert mean.context == mx.cpu(1)
    np.testing.assert_allclose(mean.asnumpy(), [0.3, 0.4], rtol=1e-6)
