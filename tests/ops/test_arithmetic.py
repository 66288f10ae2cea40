"""Arithmetic and comparison: three forms of each, dtypes, broadcasting, gradients at ties."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from helpers import run_gradient, run_op
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from hybridnet.base.dtype import promote
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError

_A = np.array([[5.0, -5.0, 5.5], [-7.5, 0.5, 2.0]])
_B = np.array([[-3.0, 3.0, 2.0], [2.0, -0.5, 2.0]])

_ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": np.mod,
    "power": lambda a, b: np.power(np.abs(a), b),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "hypot": np.hypot,
}
_COMPARISON = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
_ALL = {**_ARITHMETIC, **_COMPARISON}
_ELEMWISE = {key: f"elemwise_{key}" for key in ("add", "sub", "mul", "div")}


def _left(key):
    return np.abs(_A) if key == "power" else _A


@pytest.mark.parametrize("key", _ALL)
def test_elementwise_and_broadcast_forms(key):
    a, expected = _left(key), _ALL[key]
    elemwise = _ELEMWISE.get(key, f"_{key}")
    np.testing.assert_allclose(run_op(elemwise, a, _B)[0], expected(a, _B))
    np.testing.assert_allclose(run_op(f"broadcast_{key}", a, _B[:1])[0], expected(a, _B[:1]))
    np.testing.assert_allclose(run_op(f"broadcast_{key}", a[0], _B)[0], expected(a[0], _B))


@pytest.mark.parametrize("key", _ALL)
def test_scalar_form(key):
    name = {"add": "_plus_scalar", "sub": "_minus_scalar"}.get(key, f"_{key}_scalar")
    got = run_op(name, _left(key), scalar=2.0)[0]
    np.testing.assert_allclose(got, _ALL[key](_left(key), 2.0))


@pytest.mark.parametrize(
    "name,expected",
    [
        ("_rminus_scalar", lambda x: 2 - x),
        ("_rdiv_scalar", lambda x: 2 / x),
        ("_rmod_scalar", lambda x: np.mod(2, x)),
        ("_rpower_scalar", lambda x: 2.0**x),
        ("_npi_rarctan2_scalar", lambda x: np.arctan2(2, x)),
        ("_npi_arctan2_scalar", lambda x: np.arctan2(x, 2)),
    ],
)
def test_reversed_scalar_form(name, expected):
    np.testing.assert_allclose(run_op(name, _A, scalar=2)[0], expected(_A))


@settings(max_examples=25, deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3, min_side=1))
def test_broadcasting_is_that_of_numpy(shapes):
    first, second = shapes.input_shapes
    a = np.arange(np.prod(first), dtype=np.float32).reshape(first)
    b = np.arange(np.prod(second), dtype=np.float32).reshape(second) - 2
    np.testing.assert_array_equal(run_op("broadcast_mul", a, b)[0], a * b)


@settings(max_examples=15, deadline=None)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=1))
def test_gradient_sums_over_broadcast_axes(shapes):
    first, second = shapes.input_shapes
    a, b = np.full(first, 2.0), np.full(second, 5.0)
    head = np.arange(np.prod(shapes.result_shape), dtype=float).reshape(shapes.result_shape)

    def summed(full, shape):
        extra = full.ndim - len(shape)
        full = full.sum(axis=tuple(range(extra)))
        wide = tuple(i for i, n in enumerate(shape) if n == 1)
        return full.sum(axis=wide, keepdims=True)

    grads = run_gradient("broadcast_mul", a, b, heads=[head])
    np.testing.assert_allclose(grads[0], summed(head * 5, first))
    np.testing.assert_allclose(grads[1], summed(head * 2, second))


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(
        ShapeError,
        match=r"broadcast_add: lhs and rhs must broadcast: dimension 1 is 3 and 4, "
        r"got lhs float64\[2,3\] and rhs float64\[2,4\]",
    ):
        run_op("broadcast_add", _A, np.ones((2, 4)))


def test_elementwise_form_requires_equal_shapes():
    with pytest.raises(
        ShapeError,
        match=r"elemwise_add: lhs and rhs must have equal shapes, got lhs float64\[2,3\] and rhs",
    ):
        run_op("elemwise_add", _A, _B[:1])
    with pytest.raises(ShapeError, match=r"add_n: args0 and args1 must have equal shapes"):
        run_op("add_n", _A, _B[:1])


def test_bool_arithmetic_is_refused_and_bool_comparison_is_bool():
    mask = np.array([True, False])
    with pytest.raises(DTypeError, match=r"broadcast_add: inputs must be numeric, got bool\[2\]"):
        run_op("broadcast_add", mask, mask)
    got = run_op("broadcast_equal", mask, np.array([True, True]))[0]
    assert got.dtype == bool
    np.testing.assert_array_equal(got, mask)


@pytest.mark.parametrize(
    "first,second",
    list(
        itertools.product(
            ["uint8", "uint16", "int32", "int64", "float16", "bfloat16", "float64"], repeat=2
        )
    ),
)
def test_mixed_dtypes_are_promoted(first, second):
    dtypes = [np.dtype(ml_dtypes.bfloat16 if one == "bfloat16" else one) for one in (first, second)]
    a, b = np.array([1, 2, 3]).astype(dtypes[0]), np.array([3, 2, 1]).astype(dtypes[1])
    got = run_op("broadcast_add", a, b)[0]
    assert got.dtype == promote(*dtypes)
    np.testing.assert_array_equal(got.astype(float), [4, 4, 4])
    assert run_op("broadcast_equal", a, b)[0].dtype == promote(*dtypes)


def test_gradient_of_mixed_dtypes_has_the_dtype_of_each_input():
    a, b = np.ones(3, np.float32), np.full(3, 2.0)
    for name in ("elemwise_add", "elemwise_mul", "broadcast_sub"):
        grads = run_gradient(name, a, b, heads=[np.ones(3)])
        assert [one.dtype for one in grads] == [np.float32, np.float64]


# Measured with MXNet 1.9.1.
@pytest.mark.parametrize(
    "name,scalar,expected",
    [
        ("_plus_scalar", 2.5, [3, 0, 5]),
        ("_mul_scalar", 2.5, [2, -4, 6]),
        ("_rminus_scalar", 2.5, [1, 4, -1]),
        ("_div_scalar", 2, [0, -1, 1]),
        ("_rdiv_scalar", 2, [2, -1, 0]),
        ("_mod_scalar", 2.5, [1, 0, 1]),
        ("_power_scalar", 2, [1, 4, 9]),
        ("_power_scalar", 0.5, [1, 1, 1]),
        ("_power_scalar", -1, [1, 0, 0]),
        ("_maximum_scalar", 2.5, [2, 2, 3]),
        ("_greater_scalar", 1.5, [0, 0, 1]),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_numbers_beside_integers_lose_their_fraction(name, scalar, expected, dtype):
    got = run_op(name, np.array([1, -2, 3], dtype), scalar=scalar)[0]
    np.testing.assert_array_equal(got, np.array(expected, dtype))


def test_number_declared_as_float_makes_integers_float64():
    got = run_op("_plus_scalar", np.array([1, -2], np.int32), scalar=2.5, is_int=False)[0]
    np.testing.assert_array_equal(got, [3.5, 0.5])
    assert got.dtype == np.float64


def test_bool_beside_a_number_becomes_int64():
    got = run_op("_plus_scalar", np.array([True, False]), scalar=2.5)[0]
    np.testing.assert_array_equal(got, np.array([3, 2]))
    assert got.dtype == np.int64


def test_negative_number_beside_uint8_wraps():
    got = run_op("_minus_scalar", np.array([1, 254], np.uint8), scalar=5)[0]
    np.testing.assert_array_equal(got, np.array([252, 249], np.uint8))
    got = run_op("_plus_scalar", np.array([1, 254], np.uint8), scalar=-5)[0]
    np.testing.assert_array_equal(got, np.array([252, 249], np.uint8))


# Measured with MXNet 1.9.1, except that it crashes where integers are divided by zero.
def test_integer_division_and_remainder():
    a, b = np.array([5, -5, 4, 7], np.int32), np.array([-3, 3, -3, 0], np.int32)
    np.testing.assert_array_equal(run_op("broadcast_div", a, b)[0], [-1, -1, -1, 0])
    np.testing.assert_array_equal(run_op("broadcast_mod", a, b)[0], [-1, 1, -2, 0])
    np.testing.assert_array_equal(run_op("broadcast_power", a, b)[0], [0, -125, 0, 1])


def test_remainder_of_zero_divisor_is_zero():
    x = np.array([1.0, -2.0, 3.5])
    np.testing.assert_array_equal(run_op("_mod_scalar", x, scalar=0)[0], [0, 0, 0])
    np.testing.assert_array_equal(
        run_op("broadcast_div", x, np.zeros(3))[0], [np.inf, -np.inf, np.inf]
    )


@pytest.mark.parametrize("name", ["_maximum", "_minimum"])
def test_nan_passes_through_extremes(name):
    got = run_op(name, np.array([np.nan, 1.0, 2.0]), np.array([1.0, np.nan, 2.0]))[0]
    np.testing.assert_array_equal(got, [np.nan, np.nan, 2.0])


# Measured with MXNet 1.9.1.
@pytest.mark.parametrize(
    "name,to_lhs,to_rhs",
    [("broadcast_maximum", [0, 3, 3, 3], [3, 0, 0, 0]), ("_minimum", [3, 3, 3, 0], [0, 0, 0, 3])],
)
def test_gradient_of_a_tie_goes_to_lhs(name, to_lhs, to_rhs):
    a, b = np.array([-1.0, 0, 1, 2]), np.array([0.0, 0, 1, 1])
    lhs, rhs = run_gradient(name, a, b, heads=[np.full(4, 3.0)])
    np.testing.assert_array_equal(lhs, to_lhs)
    np.testing.assert_array_equal(rhs, to_rhs)


def test_gradient_of_scalar_extremes_at_a_tie():
    for name in ("_maximum_scalar", "_minimum_scalar"):
        (grad,) = run_gradient(name, np.array([1.0]), heads=[np.array([3.0])], scalar=1)
        np.testing.assert_array_equal(grad, [3.0])


def test_power_zero_has_gradient_zero_at_zero():
    (grad,) = run_gradient("_power_scalar", np.array([0.0, 2.0]), heads=[np.ones(2)], scalar=0)
    np.testing.assert_array_equal(grad, [0.0, 0.0])


def test_add_n_of_many_and_of_mixed_dtypes():
    got = run_op("add_n", *[np.full((2,), i, np.float32) for i in range(9)], num_args=9)[0]
    np.testing.assert_array_equal(got, [36.0, 36.0])
    assert run_op("add_n", np.ones(2, np.float32), np.ones(2))[0].dtype == np.float64
    with pytest.raises(ParameterError, match="add_n: requires at least 1 input"):
        run_op("add_n")


@settings(max_examples=20, deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(-100, 100))
def test_int64_sums_are_exact(a, b):
    wide = np.array([a * 2**20], np.int64)
    np.testing.assert_array_equal(run_op("_plus_scalar", wide, scalar=b)[0], wide + b)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 3.0, -1.0, 1.7])
def test_power_scalar_and_its_derivatives(exponent):
    x = np.array([0.3, 1.0, 2.5])
    np.testing.assert_allclose(run_op("_power_scalar", x, scalar=exponent)[0], x**exponent)
    (grad,) = run_gradient("_power_scalar", x, heads=[np.ones(3)], scalar=exponent)
    np.testing.assert_allclose(grad, exponent * x ** (exponent - 1))
