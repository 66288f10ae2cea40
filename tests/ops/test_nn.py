"""Dense and convolution layers, activations and dropout, beyond MXNet's recorded answers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from helpers import run_gradient, run_op

import hybridnet as hn
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get


def _array(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _types(*shapes, dtype="float32"):
    return tuple(tensor_type(shape, np.dtype(dtype)) for shape in shapes)


def _complete(name, shapes, **attrs):
    call, _ = get(name).bind(attrs)
    return get(name).complete(shapes, **call.attrs)


# Dense ------------------------------------------------------------------------------------------


def test_dense_of_halves_sums_wide():
    data, weight = np.full((1, 4096), 0.5, "float16"), np.full((1, 4096), 0.5, "float16")
    (output,) = run_op("FullyConnected", data, weight, num_hidden=1, no_bias=True)
    assert output == 1024  # a float16 sum would stop growing at 512


@pytest.mark.parametrize(
    ("shapes", "attrs", "error", "message"),
    [
        (
            [(2, 3), (4, 5), (4,)],
            {"num_hidden": 4},
            ShapeError,
            r"weight must have shape \(4, 3\) for num_hidden=4 and data float32\[2,3\]",
        ),
        ([(2, 3), (4, 3), (3,)], {"num_hidden": 4}, ShapeError, r"bias must have shape \(4,\)"),
        ([(2, 3), (4, 3)], {"num_hidden": 4}, ParameterError, "requires a bias unless no_bias"),
        ([(2, 3), (4, 3), (4,)], {"num_hidden": 0}, ParameterError, "an integer >= 1, got 0"),
    ],
)
def test_dense_refuses(shapes, attrs, error, message):
    with pytest.raises(error, match=f"FullyConnected: .*{message}"):
        get("FullyConnected").bind(attrs)[0].infer(_types(*shapes))


@pytest.mark.parametrize("shape", [(0, 3, 2), (0, 6)])
def test_dense_of_an_empty_batch_is_empty(shape):
    (made,) = run_op("FullyConnected", _array(*shape), _array(4, 6), num_hidden=4, no_bias=True)
    assert made.shape == (0, 4)


def test_dense_refuses_mixed_dtypes():
    call, _ = get("FullyConnected").bind({"num_hidden": 4, "no_bias": True})
    with pytest.raises(DTypeError, match=r"must have one dtype, got data float32.*float16"):
        call.infer((*_types((2, 3)), *_types((4, 3), dtype="float16")))


def test_dense_completes_shapes():
    known = [(2, 3, 4), None, None]
    assert _complete("FullyConnected", known, num_hidden=5) == [(2, 3, 4), (5, 12), (5,)]
    known = [(-1, 3, 4), (-1, 4)]
    attrs = {"num_hidden": 5, "no_bias": True, "flatten": False}
    assert _complete("FullyConnected", known, **attrs) == [(-1, 3, 4), (5, 4)]


# Windows ----------------------------------------------------------------------------------------


def test_channels_last_is_channels_first_turned():
    data, weight, bias = _array(2, 4, 6, 5), _array(6, 2, 3, 2), _array(6)
    attrs = {"kernel": (3, 2), "num_filter": 6, "num_group": 2, "pad": (1, 0), "stride": (2, 1)}
    (first,) = run_op("Convolution", data, weight, bias, **attrs)
    (last,) = run_op(
        "Convolution",
        np.moveaxis(data, 1, -1),
        np.moveaxis(weight, 1, -1),
        bias,
        layout="NHWC",
        **attrs,
    )
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), first, rtol=1e-5, atol=1e-5)


def test_deconvolution_is_the_gradient_of_convolution():
    data, weight = _array(2, 4, 7, 6), _array(3, 4, 3, 2)
    window = {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 0)}
    (output,) = run_op("Convolution", data, weight, num_filter=3, no_bias=True, **window)
    head = _array(*output.shape, seed=1)
    gradient, _ = run_gradient(
        "Convolution", data, weight, heads=[head], num_filter=3, no_bias=True, **window
    )
    (turned,) = run_op("Deconvolution", head, weight, num_filter=4, **window)
    assert turned.shape == gradient.shape
    np.testing.assert_allclose(turned, gradient, rtol=1e-4, atol=1e-5)


def test_window_layers_complete_shapes():
    attrs = {"kernel": (3, 2), "num_filter": 8, "num_group": 2}
    data = (2, 4, 9, 9)
    assert _complete("Convolution", [data, None, None], **attrs) == [data, (8, 2, 3, 2), (8,)]
    data = (-1, 9, 9, 4)
    assert _complete("Convolution", [data, None, None], layout="NHWC", **attrs)[1] == (8, 3, 2, 2)
    data = (2, 4, 9, 9)
    assert _complete("Deconvolution", [data, None], **attrs) == [data, (4, 4, 3, 2)]
    assert _complete("Convolution", [None, None, None], **attrs)[1:] == [(8, -1, 3, 2), (8,)]


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "error", "message"),
    [
        (
            "Convolution",
            [(2, 3), (4, 3, 5, 5), (4,)],
            {"kernel": (5, 5), "num_filter": 4},
            ShapeError,
            r"data must have 4 dimensions for kernel \(5, 5\), got data float32\[2,3\]",
        ),
        (
            "Convolution",
            [(2, 3, 4, 4), (4, 3, 5, 5), (4,)],
            {"kernel": (5, 5), "num_filter": 4},
            ShapeError,
            "the window must fit into the padded data, got data .* with kernel",
        ),
        (
            "Convolution",
            [(2, 3, 9, 9), (4, 3, 5, 5), (4,)],
            {"kernel": (5, 5), "num_filter": 4, "num_group": 2},
            ParameterError,
            "num_group must divide the 3 channels",
        ),
        (
            "Convolution",
            [(2, 3, 9, 9), (4, 3, 5, 5), (4,)],
            {"kernel": (5, 5), "num_filter": 4, "stride": (2,)},
            ParameterError,
            "stride must have one number >= 1 for each axis",
        ),
        (
            "Convolution",
            [(2, 3, 9, 9), (4, 3, 5, 5), (4,)],
            {"kernel": (5, 5), "num_filter": 4, "layout": "NCW"},
            ParameterError,
            "layout must be NCHW or NHWC",
        ),
        (
            "Convolution",
            [(2, 3, 9, 9), (4, 4, 5, 5), (4,)],
            {"kernel": (5, 5), "num_filter": 4},
            ShapeError,
            r"weight must have shape \(4, 3, 5, 5\)",
        ),
        (
            "Deconvolution",
            [(2, 3, 4, 4), (3, 4, 3, 3)],
            {"kernel": (3, 3), "num_filter": 4, "adj": (1, 1)},
            ParameterError,
            r"adj must be less than stride \(1, 1\)",
        ),
        ("Pooling", [(2, 3, 4, 4)], {}, ParameterError, "kernel must be a tuple of numbers >= 1"),
        (
            "Pooling",
            [(2, 3, 4, 4)],
            {"kernel": (2, 2), "pad": (2, 2)},
            ParameterError,
            "pad must be less than kernel",
        ),
        (
            "Pooling",
            [(2, 3, 4, 4)],
            {"kernel": (2, 2), "pool_type": "lp"},
            ParameterError,
            "p_value must be 1, 2 or 3",
        ),
    ],
)
def test_window_layers_refuse(name, shapes, attrs, error, message):
    with pytest.raises(error, match=f"{name}: .*{message}"):
        get(name).bind(attrs)[0].infer(_types(*shapes))


def test_costs_are_in_floating_point_operations():
    dense, _ = get("FullyConnected").bind({"num_hidden": 5})
    cost = get("FullyConnected").cost(*_types((2, 3), (5, 3), (5,)), **dense.attrs)
    assert cost == 2 * 2 * 3 * 5
    call, _ = get("Convolution").bind({"kernel": (3, 3), "num_filter": 8, "num_group": 2})
    cost = get("Convolution").cost(*_types((2, 4, 10, 10), (8, 2, 3, 3), (8,)), **call.attrs)
    assert cost == 2 * (2 * 8 * 8 * 8) * (2 * 3 * 3)


# Activations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("act_type", ["relu", "sigmoid", "softrelu", "softsign", "tanh"])
def test_activations_do_not_overflow(act_type):
    data = np.array([-1e4, -100, 100, 1e4], "float32")
    (output,) = run_op("Activation", data, act_type=act_type)
    (gradient,) = run_gradient("Activation", data, heads=[np.ones_like(data)], act_type=act_type)
    limits = {
        "relu": ([0, 0, 100, 1e4], [0, 0, 1, 1]),
        "sigmoid": ([0, 0, 1, 1], [0, 0, 0, 0]),
        "softrelu": ([0, 0, 100, 1e4], [0, 0, 1, 1]),
        "softsign": (data / (1 + abs(data)), 1 / (1 + abs(data)) ** 2),
        "tanh": ([-1, -1, 1, 1], [0, 0, 0, 0]),
    }
    np.testing.assert_allclose(output, limits[act_type][0], atol=1e-6)
    np.testing.assert_allclose(gradient, limits[act_type][1], atol=1e-6)


def _softrelu_inputs():
    generator = np.random.default_rng(0)
    near = [generator.normal(size=50_000) * scale for scale in (0.01, 0.3, 1, 3, 10, 30)]
    return np.concatenate([*near, np.linspace(-87, 100, 100_001)])


@pytest.mark.parametrize(
    ("dtype", "ulps"), [("float32", 2), ("float64", 3), ("float16", 0.51), ("bfloat16", 0.51)]
)
def test_softrelu_is_exact_to_units_in_the_last_place(dtype, ulps):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = _softrelu_inputs().astype(dtype)
    (got,) = run_op("Activation", x, act_type="softrelu")
    exact = x.astype(np.longdouble)
    wanted = np.maximum(exact, 0) + np.log1p(np.exp(-np.abs(exact)))
    normal = wanted > ml_dtypes.finfo(dtype).tiny
    unit = 2.0 ** np.floor(np.log2(wanted)) * ml_dtypes.finfo(dtype).eps
    assert got.dtype == dtype
    assert (np.abs(got.astype(np.longdouble) - wanted) / unit)[normal].max() < ulps


def test_softrelu_derivatives_are_those_of_the_sigmoid():
    x = _softrelu_inputs().astype("float32")
    (gradient,) = run_gradient("Activation", x, heads=[np.ones_like(x)], act_type="softrelu")
    exact = x.astype(np.longdouble)
    sigmoid = 1 / (1 + np.exp(-exact))
    np.testing.assert_allclose(gradient, sigmoid.astype("f8"), rtol=1e-6, atol=1e-37)
    second = hn.nd.array(x)
    second.attach_grad()
    with hn.autograd.record():
        y = hn.nd.Activation(second, act_type="softrelu")
        (first,) = hn.autograd.grad(y, [second], create_graph=True)
        first.backward()
    np.testing.assert_allclose(
        second.grad.asnumpy(), (sigmoid * (1 - sigmoid)).astype("f8"), rtol=1e-4, atol=1e-7
    )


def test_softrelu_at_the_ends_of_the_numbers():
    x = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 3e38, -3e38], "float32")
    (got,) = run_op("Activation", x, act_type="softrelu")
    np.testing.assert_allclose(got, [np.inf, 0, np.nan, np.log(2), np.log(2), 3e38, 0], rtol=1e-7)


def test_random_slopes_stay_in_their_bounds():
    data = -np.ones(10000, "float32")
    output, slopes, _ = run_op(
        "LeakyReLU", data, act_type="rrelu", lower_bound=0.2, upper_bound=0.6, train=True
    )
    np.testing.assert_array_equal(output, -slopes)
    assert 0.2 <= slopes.min() < 0.201 < 0.599 < slopes.max() <= 0.6
    assert abs(slopes.mean() - 0.4) < 0.01


def test_learned_slopes_need_gamma_by_channel():
    with pytest.raises(ShapeError, match=r"gamma must have shape \(1,\) or \(3,\)"):
        get("LeakyReLU").bind({"act_type": "prelu"})[0].infer(_types((2, 3), (2,)))
    assert _complete("LeakyReLU", [(2, 3, 4), None], act_type="prelu") == [(2, 3, 4), (3,)]


def test_only_the_random_rectifier_takes_a_state():
    assert not get("LeakyReLU").bind({})[0].takes_state
    assert get("LeakyReLU").bind({"act_type": "rrelu"})[0].takes_state


# Dropout ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
def test_dropout_drops_its_share_and_scales_the_rest(p):
    output, mask, _ = run_op("Dropout", np.ones((200, 500), "float32"), p=p, train=True)
    np.testing.assert_allclose(np.unique(output), [0, 1 / (1 - p)], rtol=1e-6)
    np.testing.assert_array_equal(output != 0, mask)
    # Four standard deviations of the share of 100,000 elements.
    assert abs((output == 0).mean() - p) < 4 * np.sqrt(p * (1 - p) / 1e5)


def test_dropout_is_decided_once_along_axes():
    _, mask, _ = run_op("Dropout", np.ones((50, 3, 4), "float32"), axes=(1, -1), train=True)
    assert mask.shape == (50, 1, 1)
    assert 0 < mask.sum() < 50


@pytest.mark.parametrize("attrs", [{"train": False}, {"train": True, "p": 0}, {}])
def test_dropout_outside_training_is_the_identity(attrs):
    data = _array(3, 4)
    output, _, state = run_op("Dropout", data, **attrs)
    np.testing.assert_array_equal(output, data)
    assert state[2] == 0  # nothing was drawn
    (gradient, _) = run_gradient("Dropout", data, heads=[data], **attrs)
    np.testing.assert_array_equal(gradient, data)


def test_dropout_of_everything_is_zero():
    data = _array(3, 4)
    assert not run_op("Dropout", data, p=1, train=True)[0].any()
    assert not run_gradient("Dropout", data, heads=[data], p=1, train=True)[0].any()


def test_dropout_has_the_gradient_of_its_own_mask():
    data = hn.nd.ones((40, 50))
    data.attach_grad()
    with hn.autograd.record():
        first, second = hn.nd.Dropout(data, p=0.4), hn.nd.Dropout(data, p=0.4)
        total = first + 10 * second
    total.backward()
    np.testing.assert_allclose(data.grad.asnumpy(), total.asnumpy(), rtol=1e-6)
    assert (first.asnumpy() != second.asnumpy()).any()


def test_dropout_refuses():
    with pytest.raises(ParameterError, match="Dropout: parameter p must be a number from 0 to 1"):
        get("Dropout").bind({"p": 1.5})
    with pytest.raises(DTypeError, match="Dropout: data must be floating point"):
        run_op("Dropout", np.ones(3, "int32"))


@pytest.mark.parametrize("rows", [1, 4, 5, 8, 23, 24, 40])
def test_dense_layers_of_few_rows_are_the_products_they_are(rows):
    """Some row counts are kept from a step of XLA's; infinity, NaN and -0.0 pass as they are."""
    numbers = np.random.default_rng(rows)
    x = numbers.normal(size=(rows, 6)).astype(np.float32)
    w = np.eye(6, dtype=np.float32) * 2
    (y,) = run_op("FullyConnected", x, w, num_hidden=6, no_bias=True)
    np.testing.assert_array_equal(y, x * 2)
    special = np.float32([[np.inf], [-np.inf], [np.nan], [-0.0], [2e-38]] * 8)[:rows]
    (y,) = run_op("FullyConnected", special, np.float32([[1]]), num_hidden=1, no_bias=True)
    np.testing.assert_array_equal(y, special)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(special))
    attrs = {"num_hidden": 6, "no_bias": True}
    grads = run_gradient("FullyConnected", x, w, heads=[np.ones_like(x)], **attrs)
    np.testing.assert_allclose(grads[0], np.full((rows, 6), 2, np.float32))


def test_prelu_with_a_slope_for_each_element():
    x, slopes = np.array([[-1, 2], [-3, -4]], np.float32), np.array([[1, 2], [3, 4]], np.float32)
    made = hn.nd.LeakyReLU(hn.nd.array(x), hn.nd.array(slopes), act_type="prelu")
    np.testing.assert_array_equal(made.asnumpy(), np.where(x > 0, x, slopes * x))


def test_target_shape_replaces_pad_and_adj():
    data, weight = hn.nd.ones((1, 1, 4, 4)), hn.nd.ones((1, 1, 3, 3))
    shared = {"kernel": (3, 3), "stride": (2, 2), "target_shape": (8, 8), "num_filter": 1}
    made = hn.nd.Deconvolution(data, weight, pad=(99, 99), adj=(101, 101), **shared)
    np.testing.assert_array_equal(
        made.asnumpy(), hn.nd.Deconvolution(data, weight, **shared).asnumpy()
    )


def test_prelu_with_a_slope_for_each_of_the_first_axes():
    x, slopes = _array(3, 4, 2, 5), np.abs(_array(3, 4, seed=1))
    expected = np.where(x > 0, x, slopes[:, :, None, None] * x)
    made = run_op("LeakyReLU", x, slopes, act_type="prelu")[0]
    np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_numbers_for_axes_that_are_not_there_say_nothing():
    attrs = {"kernel": 2, "stride": 2, "pool_type": "max"}
    x = _array(1, 1, 10)
    made = run_op("Pooling", x, pad=(0, 0, 0), pooling_convention="same", **attrs)[0]
    np.testing.assert_array_equal(made, x.reshape(1, 1, 5, 2).max(3))
    with pytest.raises(ParameterError, match="pad must have one number"):
        run_op("Pooling", x, pad=(0, 1), **attrs)
