"""Reductions and broadcasting, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_gradient, run_op
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridnet.base.errors import ParameterError, ShapeError

_REDUCERS = {
    "sum": np.sum,
    "nansum": np.nansum,
    "prod": np.prod,
    "nanprod": np.nanprod,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
}


@st.composite
def _reduction(draw):
    """A shape, some of its axes (also negative), and keepdims."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    signed = tuple(i - len(shape) if draw(st.booleans()) else i for i in axes)
    return shape, signed, draw(st.booleans())


@settings(max_examples=40, deadline=None)
@given(_reduction(), st.sampled_from(sorted(_REDUCERS)))
def test_reductions_are_those_of_numpy(reduction, name):
    shape, axes, keepdims = reduction
    x = np.random.default_rng(1).normal(size=shape)
    got = run_op(name, x, axis=axes, keepdims=keepdims)[0]
    expected = np.asarray(_REDUCERS[name](x, axis=axes, keepdims=keepdims))
    np.testing.assert_allclose(got, expected.reshape(expected.shape or (1,)), rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(_reduction())
def test_exclude_reduces_the_other_axes(reduction):
    shape, axes, keepdims = reduction
    x = np.random.default_rng(1).normal(size=shape)
    others = tuple(i for i in range(len(shape)) if i not in {one % len(shape) for one in axes})
    got = run_op("sum", x, axis=axes, keepdims=keepdims, exclude=True)[0]
    expected = np.asarray(x.sum(axis=others, keepdims=keepdims))
    np.testing.assert_allclose(got, expected.reshape(expected.shape or (1,)))


@pytest.mark.parametrize("axis", [None, (), "None", "()"])
def test_all_axes_give_one_element_not_zero_dimensions(axis):
    assert run_op("sum", np.ones((2, 3)), axis=axis)[0].tolist() == [6.0]
    assert run_op("max", np.ones((2, 3)), axis=axis, keepdims=True)[0].shape == (1, 1)


# As in MXNet 1.9.1, results keep the dtype: they wrap around and lose fractions.
@pytest.mark.parametrize(
    "name,dtype,expected",
    [
        ("sum", "uint8", 300 % 256),
        ("sum", "int32", 300),
        ("mean", "int32", 100),
        ("prod", "uint8", 120 * 100 * 80 % 256),
        ("max", "int8", 120),
        ("norm", "int32", 175),
        ("sum", "bool", True),
    ],
)
def test_results_keep_the_dtype(name, dtype, expected):
    got = run_op(name, np.array([120, 100, 80]).astype(dtype))[0]
    assert got.dtype == np.dtype(dtype)
    assert got.tolist() == [expected]


def test_half_sums_are_accurate():
    x = np.ones(5000, np.float16)
    assert run_op("sum", x)[0].tolist() == [5000]


def test_nan_is_ignored_or_not():
    x = np.array([[1, np.nan], [np.nan, np.nan]])
    assert run_op("nansum", x, axis=1)[0].tolist() == [1, 0]
    assert run_op("nanprod", x, axis=1)[0].tolist() == [1, 1]
    assert np.isnan(run_op("max", x, axis=1)[0]).all()
    assert run_op("argmax", x, axis=1)[0].tolist() == [1, 0]
    (grad,) = run_gradient("nansum", x, heads=[np.ones(1)])
    np.testing.assert_array_equal(grad, [[1, 0], [0, 0]])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_positions_have_the_dtype_of_the_data(name, keepdims, axis):
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    got = run_op(name, x, axis=axis, keepdims=keepdims)[0]
    expected = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims), np.float32)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, expected.reshape(expected.shape or (1,)))


def test_first_of_equal_elements_counts():
    assert run_op("argmax", np.array([1.0, 3, 3]))[0].tolist() == [1]
    assert run_op("argmax_channel", np.array([[1.0, 3, 3], [5, 5, 0]]))[0].tolist() == [1, 0]


# Measured with MXNet 1.9.1.
@pytest.mark.parametrize("name,expected", [("max", [0, 3, 3]), ("min", [3, 0, 0])])
def test_gradient_of_equal_extremes_goes_to_each(name, expected):
    (grad,) = run_gradient(name, np.array([1.0, 2, 2]), heads=[np.array([3.0])])
    np.testing.assert_array_equal(grad, expected)


def test_gradient_of_norm_and_prod_at_zero():
    (grad,) = run_gradient("norm", np.zeros(2), heads=[np.ones(1)])
    np.testing.assert_array_equal(grad, [0, 0])
    (grad,) = run_gradient("norm", np.array([0.0, -2.0]), heads=[np.ones(1)], ord=1)
    np.testing.assert_array_equal(grad, [0, -1])
    (grad,) = run_gradient("prod", np.array([0.0, 2.0, 3.0]), heads=[np.ones(1)])
    np.testing.assert_array_equal(grad, [6, 0, 0])


def test_norm_order_and_dtype():
    x = np.array([[3.0, -4.0]], np.float32)
    assert run_op("norm", x, ord=1, axis=1)[0].tolist() == [7]
    assert run_op("norm", x, out_dtype="float64")[0].dtype == np.float64
    with pytest.raises(ParameterError, match="norm: parameter ord must be one of 1, 2, got 3"):
        run_op("norm", x, ord=3)


def test_moments_and_cumsum():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    mean, variance = run_op("moments", x, axes=(0, 2))
    np.testing.assert_allclose(mean, x.mean((0, 2)))
    np.testing.assert_allclose(variance, x.var((0, 2)))
    np.testing.assert_allclose(run_op("cumsum", x, axis=-2)[0], x.cumsum(-2))
    np.testing.assert_allclose(run_op("cumsum", x)[0], x.cumsum())
    assert run_op("cumsum", np.ones(2, np.int32), axis=0, dtype="float32")[0].dtype == np.float32


@pytest.mark.parametrize(
    "attrs,error,message",
    [
        ({"axis": 2}, ShapeError, r"sum: axis must be from -2 to 1 for data float64\[2,3\], got 2"),
        ({"axis": (0, -3)}, ShapeError, "got -3"),
        ({"axis": (1, -1)}, ParameterError, r"sum: axis must name each axis once, got \(1, -1\)"),
        ({"axis": "x"}, ParameterError, "sum: parameter axis must be an axis"),
        ({"axes": 1}, ParameterError, "unknown parameter 'axes'; it takes axis, keepdims, exclude"),
    ],
)
def test_wrong_axes_are_refused(attrs, error, message):
    with pytest.raises(error, match=message):
        run_op("sum", np.ones((2, 3)), **attrs)


def test_broadcast_to_axis_and_like():
    x = np.arange(3.0).reshape(3, 1)
    np.testing.assert_array_equal(
        run_op("broadcast_to", x, shape=(0, 4))[0], np.broadcast_to(x, (3, 4))
    )
    np.testing.assert_array_equal(
        run_op("broadcast_axis", x, axis=-1, size=4)[0], np.broadcast_to(x, (3, 4))
    )
    np.testing.assert_array_equal(
        run_op("broadcast_like", x, np.ones((3, 4)))[0], np.broadcast_to(x, (3, 4))
    )
    np.testing.assert_array_equal(
        run_op("broadcast_like", x, np.ones((5, 4)), lhs_axes=1, rhs_axes=-1)[0],
        np.broadcast_to(x, (3, 4)),
    )


def test_an_axis_is_broadcast_to_no_elements():
    """A size of 0 is the size that the axis has for broadcast_to alone (MXNet 1.9.1, np_shape)."""
    x = np.ones((2, 1))
    assert run_op("broadcast_to", x, shape=(2, 0))[0].shape == (2, 1)
    assert run_op("broadcast_axis", x, axis=1, size=0)[0].shape == (2, 0)
    assert run_op("broadcast_like", x, np.ones((2, 0)))[0].shape == (2, 0)
    with pytest.raises(ShapeError, match="dimension 1 is 3 and should become 0"):
        run_op("broadcast_like", np.ones((2, 3)), np.ones((2, 0)))


@pytest.mark.parametrize(
    "name,inputs,attrs,message",
    [
        ("broadcast_to", 1, {"shape": (3, 3)}, "dimension 0 is 2 and should become 3"),
        ("broadcast_to", 1, {"shape": (2,)}, "shape must have as many dimensions as data"),
        ("broadcast_axis", 1, {"axis": 0, "size": 3}, "dimension 0 is 2 and should become 3"),
        ("broadcast_axis", 1, {"axis": 0, "size": (3, 2)}, "axis and size must have equal lengths"),
        ("broadcast_like", 2, {"lhs_axes": 1}, "lhs_axes and rhs_axes must both be given"),
    ],
)
def test_impossible_broadcasts_are_refused(name, inputs, attrs, message):
    with pytest.raises((ShapeError, ParameterError), match=f"{name}: .*{message}"):
        run_op(name, *[np.ones((2, 1))] * inputs, **attrs)
