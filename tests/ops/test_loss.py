"""Softmax and output layers, beyond MXNet's recorded answers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_gradient, run_op

import hybridnet as hn
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get


def _array(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _infer(name, *shapes, **attrs):
    types = (tensor_type(shape, np.dtype("float32")) for shape in shapes)
    return get(name).bind(attrs)[0].infer(tuple(types))


# Softmax ----------------------------------------------------------------------------------------


def test_softmax_of_no_elements_is_zero_with_a_finite_gradient():
    data, length = _array(3, 4), np.array([0, 2, 4], "int32")
    (output,) = run_op("softmax", data, length, use_length=True)
    np.testing.assert_array_equal(output[0], 0)
    np.testing.assert_allclose(output[1, :2], _softmax(data[1, :2]), rtol=1e-6)
    np.testing.assert_array_equal(output[1, 2:], 0)
    head = _array(3, 4, seed=1)
    gradient, _ = run_gradient("softmax", data, length, heads=[head], use_length=True)
    np.testing.assert_array_equal(gradient[0], 0)
    np.testing.assert_array_equal(gradient[1, 2:], 0)
    wanted = output * (head - (head * output).sum(-1, keepdims=True))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["uint8", "int64", "float32"])
def test_softmax_lengths_may_have_any_dtype(kind):
    data = _array(2, 300)
    (output,) = run_op("softmax", data, np.array([3, 250]).astype(kind), use_length=True)
    np.testing.assert_allclose(output.sum(-1), 1, rtol=1e-5)
    assert (output != 0).sum(-1).tolist() == [3, 250]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_of_halves_is_computed_wide(name):
    data = _array(2, 1000, dtype="float16")
    (output,) = run_op(name, data, dtype="float32")
    wide = data.astype("float64") * (-1 if name == "softmin" else 1)
    wanted = np.log(_softmax(wide)) if name == "log_softmax" else _softmax(wide)
    np.testing.assert_allclose(output, wanted, rtol=1e-5)
    (narrow,) = run_op(name, data)
    np.testing.assert_array_equal(narrow, output.astype("float16"))


def test_softmax_refuses():
    with pytest.raises(DTypeError, match=r"softmax: data must be floating point, got data int32"):
        run_op("softmax", np.ones((2, 3), "int32"))
    with pytest.raises(ShapeError, match=r"softmax: axis must be from -2 to 1 .* got 2"):
        _infer("softmax", (2, 3), axis=2)
    with pytest.raises(ShapeError, match=r"use_length=True requires length with shape \(2,\)"):
        _infer("softmax", (2, 3), (3,), use_length=True)


def test_cross_entropy_has_a_least_probability():
    data = np.array([[0, 1000], [1, 1]], "float32")
    (loss,) = run_op("softmax_cross_entropy", data, np.array([0, 1]))
    np.testing.assert_allclose(loss, [-np.log(1e-8) + np.log(2)], rtol=1e-6)
    gradient, _ = run_gradient("softmax_cross_entropy", data, np.array([0, 1]), heads=[[2.0]])
    np.testing.assert_allclose(gradient, [[-2, 2], [1, -1]])


# SoftmaxOutput ----------------------------------------------------------------------------------


def test_softmax_output_ignores_what_follows_it():
    data, label = hn.nd.array(_array(4, 3)), hn.nd.array([0, 2, 1, 2])
    data.attach_grad()
    with hn.autograd.record():
        loss = (hn.nd.SoftmaxOutput(data, label) * 7).sum() ** 2
    loss.backward()
    wanted = _softmax(data.asnumpy()) - np.eye(3)[[0, 2, 1, 2]]
    np.testing.assert_allclose(data.grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "label", "attrs"),
    [
        ((4, 3), [0, 2, 1, 2], {}),
        ((2, 3, 2), [[0, 2], [1, 1]], {"multi_output": True}),
        ((4, 3), np.full((4, 3), 1 / 3), {}),
    ],
)
def test_softmax_output_takes_the_head_gradient_where_asked(shape, label, attrs):
    # MXNet 1.9.1 multiplies by the output here, against its documentation.
    data, head = _array(*shape), _array(*shape, seed=1)
    label = np.array(label, "float32")
    plain, _ = run_gradient("SoftmaxOutput", data, label, heads=[head], **attrs)
    scaled, _ = run_gradient("SoftmaxOutput", data, label, heads=[head], out_grad=True, **attrs)
    np.testing.assert_allclose(scaled, plain * head, rtol=1e-5)


def test_softmax_output_flattens_more_axes():
    data = _array(2, 3, 4)
    (output,) = run_op("SoftmaxOutput", data, np.array([11.0, 5], "float32"))
    wanted = _softmax(data.reshape(2, 12))
    np.testing.assert_allclose(output.reshape(2, 12), wanted, rtol=1e-5)
    gradient, _ = run_gradient("SoftmaxOutput", data, np.array([11, 5]), heads=[data])
    np.testing.assert_allclose(
        gradient.reshape(2, 12), wanted - np.eye(12)[[11, 5]], rtol=1e-5, atol=1e-6
    )


def test_softmax_output_with_every_label_ignored_has_no_gradient():
    data = _array(2, 3)
    attrs = {"use_ignore": True, "normalization": "valid", "ignore_label": 1}
    gradient, _ = run_gradient("SoftmaxOutput", data, np.ones(2, "int32"), heads=[data], **attrs)
    np.testing.assert_array_equal(gradient, 0)


@pytest.mark.parametrize(
    ("attrs", "data", "label"),
    [
        ({}, (2, 3), (2,)),
        ({}, (2, 3, 4, 5), (2, 3, 4)),
        ({"multi_output": True}, (2, 3, 4, 5), (2, 20)),
        ({"preserve_shape": True}, (2, 3, 4), (2, 3)),
    ],
)
def test_softmax_output_completes_the_label(attrs, data, label):
    call, _ = get("SoftmaxOutput").bind(attrs)
    assert get("SoftmaxOutput").complete([data, None], **call.attrs) == [data, label]


def test_softmax_output_refuses_other_labels():
    message = r"label must have shape \(4,\) or \(4, 3\) .* got data float32\[4,3\] and label"
    with pytest.raises(ShapeError, match=message):
        _infer("SoftmaxOutput", (4, 3), (3,))
    with pytest.raises(ShapeError, match=r"label must have shape \(2, 20\) or \(2, 4, 5\)"):
        _infer("SoftmaxOutput", (2, 3, 4, 5), (2, 4), multi_output=True)


# Regression -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Linear", "Logistic", "MAE"])
def test_regression_of_halves_keeps_the_dtype(kind):
    data, label = _array(4, 3, dtype="float16"), _array(4, 3)
    (output,) = run_op(f"{kind}RegressionOutput", data, label)
    gradient, none = run_gradient(f"{kind}RegressionOutput", data, label, heads=[data])
    assert (output.dtype, gradient.dtype, none) == (np.float16, np.float16, None)


def test_regression_completes_and_refuses_labels():
    complete = get("LinearRegressionOutput").complete
    assert complete([(4, 1), None]) == [(4, 1), (4,)]
    assert complete([(4, 3), None]) == [(4, 3), (4, 3)]
    with pytest.raises(ShapeError, match="label must have the shape of data"):
        _infer("MAERegressionOutput", (4, 3), (12,))


# IdentityAttachKLSparseReg ----------------------------------------------------------------------


def test_units_that_are_active_too_often_are_penalized():
    activity = np.random.default_rng(0).uniform(0.1, 0.9, (5, 3)).astype("float32")
    layer = hn.sym.IdentityAttachKLSparseReg(
        hn.sym.var("data"), sparseness_target=0.2, penalty=0.5, momentum=0.6, name="kl"
    )
    assert layer.list_auxiliary_states() == ["kl_moving_avg"]
    bound = layer.simple_bind(hn.cpu(), data=(5, 3))
    head, average = np.full((5, 3), 2, "float32"), np.zeros(3)
    for _ in range(3):
        (made,) = bound.forward(is_train=True, data=activity)
        bound.backward(hn.nd.array(head))
        average = 0.6 * average + 0.4 * activity.mean(0)
        wanted = head + 0.5 * ((1 - 0.2) / (1 - average) - 0.2 / average)
        np.testing.assert_array_equal(made.asnumpy(), activity)
        np.testing.assert_allclose(bound.grad_dict["data"].asnumpy(), wanted, rtol=1e-5)
        np.testing.assert_allclose(bound.aux_dict["kl_moving_avg"].asnumpy(), average, rtol=1e-5)
    bound.forward(is_train=False, data=activity)
    np.testing.assert_allclose(bound.aux_dict["kl_moving_avg"].asnumpy(), average, rtol=1e-5)


def test_a_penalty_of_units_needs_rows_of_them():
    with pytest.raises(ShapeError, match=r"data must be \(batch, units\)"):
        hn.nd.IdentityAttachKLSparseReg(hn.nd.ones((2, 3, 4)), hn.nd.ones((3,)))
