"""Functions of one array, against NumPy, SciPy-free formulas and MXNet's dtype rules."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from helpers import run_gradient, run_op, run_script

from hybridnet.base.errors import DTypeError, ParameterError

_X = np.array([-2.3, -1.0, -0.4, 0.0, 0.4, 1.0, 2.3])
_POSITIVE = np.array([0.1, 0.5, 1.0, 2.5, 40.0])
_INSIDE = np.array([-1.0, -0.7, 0.0, 0.2, 1.0])

_CASES = [
    ("abs", np.abs, _X),
    ("sign", np.sign, _X),
    ("ceil", np.ceil, _X),
    ("floor", np.floor, _X),
    ("trunc", np.trunc, _X),
    ("fix", np.trunc, _X),
    ("negative", np.negative, _X),
    ("square", np.square, _X),
    ("sqrt", np.sqrt, _POSITIVE),
    ("rsqrt", lambda x: x**-0.5, _POSITIVE),
    ("cbrt", np.cbrt, _X),
    ("rcbrt", lambda x: 1 / np.cbrt(x), _POSITIVE),
    ("reciprocal", np.reciprocal, _POSITIVE),
    ("exp", np.exp, _X),
    ("expm1", np.expm1, np.append(_X, 1e-12)),
    ("log", np.log, _POSITIVE),
    ("log10", np.log10, _POSITIVE),
    ("log2", np.log2, _POSITIVE),
    ("log1p", np.log1p, np.append(_POSITIVE, 1e-12)),
    ("sin", np.sin, _X),
    ("cos", np.cos, _X),
    ("tan", np.tan, _X),
    ("arcsin", np.arcsin, _INSIDE),
    ("arccos", np.arccos, _INSIDE),
    ("arctan", np.arctan, _X),
    ("sinh", np.sinh, _X),
    ("cosh", np.cosh, _X),
    ("tanh", np.tanh, _X),
    ("arcsinh", np.arcsinh, _X),
    ("arccosh", np.arccosh, _POSITIVE + 1),
    ("arctanh", np.arctanh, _INSIDE[1:-1]),
    ("degrees", np.degrees, _X),
    ("radians", np.radians, _X),
    ("erf", np.vectorize(math.erf), _X),
    ("gamma", np.vectorize(math.gamma), np.append(_POSITIVE[:-1], [-0.5, -1.5])),
    ("gammaln", np.vectorize(math.lgamma), np.append(_POSITIVE, [-0.5, -1.5])),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), _X),
    ("softsign", lambda x: x / (1 + np.abs(x)), _X),
    ("relu", lambda x: np.maximum(x, 0), _X),
    ("logical_not", lambda x: (x == 0).astype(x.dtype), _X),
    ("_copy", lambda x: x, _X),
    ("BlockGrad", lambda x: x, _X),
    ("make_loss", lambda x: x, _X),
    ("zeros_like", np.zeros_like, _X),
    ("ones_like", np.ones_like, _X),
]


@pytest.mark.parametrize("name,expected,x", _CASES, ids=[one[0] for one in _CASES])
def test_values(name, expected, x):
    np.testing.assert_allclose(run_op(name, x)[0], expected(x), rtol=1e-12, atol=1e-15)
    single = x.astype(np.float32)
    got = run_op(name, single)[0]
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected(single), rtol=2e-6, atol=1e-6)


def test_erfinv_inverts_erf():
    y = np.array([-0.999, -0.3, 0.0, 1e-9, 0.8])
    np.testing.assert_allclose(run_op("erf", run_op("erfinv", y)[0])[0], y, rtol=1e-12)


# Measured with MXNet 1.9.1.
@pytest.mark.parametrize(
    "name,halves",
    [("round", [-3, -2, -1, 1, 2, 3]), ("rint", [-3, -2, -1, 0, 1, 2])],
)
def test_halves_round_as_in_mxnet(name, halves):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
    np.testing.assert_array_equal(run_op(name, x)[0], np.array(halves, np.float32))


@pytest.mark.parametrize("name", ["round", "rint"])
def test_rounding_is_exact_where_float32_has_no_halves(name):
    x = np.array([8388609.0, -8388609.0, 0.49999997, 16777216.0], np.float32)
    np.testing.assert_array_equal(run_op(name, x)[0], np.array([8388609, -8388609, 0, 16777216]))


# Measured with MXNet 1.9.1: integers stay integers, and lose the fraction.
@pytest.mark.parametrize(
    "name,expected",
    [
        ("exp", [2, 20, 7]),
        ("log", [0, 1, 0]),
        ("sqrt", [1, 1, 1]),
        ("cbrt", [1, 1, 1]),
        ("sigmoid", [0, 0, 0]),
        ("reciprocal", [1, 0, 0]),
        ("abs", [1, 3, 2]),
        ("round", [1, 3, 2]),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_integers_are_truncated(name, expected, dtype):
    got = run_op(name, np.array([1, 3, 2], dtype))[0]
    np.testing.assert_array_equal(got, np.array(expected, dtype))


def test_bool_arrays_are_refused_in_words():
    with pytest.raises(DTypeError, match=r"exp: inputs must be numeric, got bool\[2\]; cast"):
        run_op("exp", np.array([True, False]))


def test_logical_not_of_bool_is_bool():
    np.testing.assert_array_equal(run_op("logical_not", np.array([True, False]))[0], [False, True])


@pytest.mark.parametrize(
    "source,dtype,expected",
    [
        ([-1.0, -1.5, 300.0], "uint8", [255, 255, 44]),
        ([-1.5, 200.0, 2.9], "int8", [-1, -56, 2]),
        ([-1.5, 40000.0, 2.9], "int16", [-1, 40000 - 65536, 2]),
        ([1.5, 70000.0, 2.9], "uint16", [1, 70000 - 65536, 2]),
        ([-1.9, 2.9, 0.0], "int32", [-1, 2, 0]),
        ([3e9, 2.9, 0.0], "uint32", [3_000_000_000, 2, 0]),
        ([1e19, 2.9, 0.0], "uint64", [9_999_999_980_506_447_872, 2, 0]),
        ([0.0, 0.5, -2.0], "bool", [False, True, True]),
        ([1.0, 2.0], "bfloat16", [1, 2]),
    ],
)
def test_cast_is_that_of_c(source, dtype, expected):
    got = run_op("Cast", np.array(source, np.float32), dtype=dtype)[0]
    assert got.dtype == np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    np.testing.assert_array_equal(got, np.array(expected, got.dtype))


def test_cast_of_integers_wraps():
    got = run_op("Cast", np.array([-1, 256, 300]), dtype="uint8")[0]
    np.testing.assert_array_equal(got, np.array([255, 0, 44], np.uint8))


def test_cast_refuses_an_unknown_dtype():
    with pytest.raises(ParameterError, match="Cast: parameter dtype must be an element type"):
        run_op("Cast", _X, dtype="float8")
    with pytest.raises(ParameterError, match=r"Cast: parameter dtype \(an element type\) is req"):
        run_op("Cast", _X)


def test_gradient_passes_through_a_cast_to_integers():
    (grad,) = run_gradient("Cast", _X, heads=[np.arange(7)], dtype="int64")
    np.testing.assert_array_equal(grad, np.arange(7.0))


def test_clip_reads_text_and_keeps_nan():
    got = run_op("clip", np.array([-2, 0.5, 3, np.nan], np.float32), a_min="-1", a_max="2.0")[0]
    np.testing.assert_array_equal(got, np.array([-1, 0.5, 2, np.nan], np.float32))
    assert run_op("clip", np.array([-2, 5], np.int32), a_min=-1.5, a_max=2.5)[0].tolist() == [-1, 2]
    with pytest.raises(ParameterError, match=r"clip: parameter a_max \(a number\) is required"):
        run_op("clip", _X, a_min=0)


def test_smooth_l1_and_hard_sigmoid():
    s = 2.0
    expected = np.where(np.abs(_X) < 1 / s**2, 0.5 * (s * _X) ** 2, np.abs(_X) - 0.5 / s**2)
    np.testing.assert_allclose(run_op("smooth_l1", _X, scalar=s)[0], expected)
    np.testing.assert_allclose(run_op("hard_sigmoid", _X * 2)[0], np.clip(0.4 * _X + 0.5, 0, 1))


# Gradients at points where there is a choice; measured with MXNet 1.9.1.
@pytest.mark.parametrize(
    "name,expected,attrs",
    [
        ("abs", [-3, 0, 3, 3], {}),
        ("relu", [0, 0, 3, 3], {}),
        ("clip", [0, 3, 3, 0], {"a_min": 0, "a_max": 1}),
        ("smooth_l1", [-3, 0, 3, 3], {}),
        ("make_loss", [1, 1, 1, 1], {}),
        ("MakeLoss", [1, 1, 1, 1], {}),
        ("MakeLoss", [2, 2, 2, 2], {"grad_scale": 2, "normalization": "batch"}),
        (
            "MakeLoss",
            [1, 1, 1, 1],
            {"grad_scale": 2, "normalization": "valid", "valid_thresh": 0.5},
        ),
    ],
)
def test_gradient_at_special_points(name, expected, attrs):
    x = np.array([-1.0, 0, 1, 2])
    (grad,) = run_gradient(name, x, heads=[np.full(4, 3.0)], **attrs)
    np.testing.assert_allclose(grad, expected)


def test_make_loss_divides_by_the_number_of_rows():
    (grad,) = run_gradient(
        "MakeLoss",
        np.ones((4, 2, 3)),
        heads=[np.ones((4, 2, 3))],
        grad_scale=12,
        normalization="batch",
    )
    np.testing.assert_allclose(grad, np.full((4, 2, 3), 1.5))


@pytest.mark.parametrize("tier", ["only", "off"])
def test_whole_results_of_whole_numbers_are_not_one_too_small(tier: str) -> None:
    """They are computed in float64 and truncated: 2.9999999999999996 is 3 (as in MXNet 1.9.1)."""
    printed = run_script(
        """
        import math
        import numpy as np
        from hybridnet import nd

        def equal(function, given, wanted):
            made = function(nd.array(given, dtype="int64")).asnumpy()
            assert made.tolist() == list(wanted), (function, made)

        equal(nd.log2, [2**k for k in range(62)], range(62))
        equal(nd.log10, [10**k for k in range(18)], range(18))
        equal(nd.cbrt, [k**3 for k in range(2000)], range(2000))
        equal(nd.sqrt, [k**2 for k in range(2000)], range(2000))
        equal(nd.gamma, range(1, 19), map(math.factorial, range(18)))
        print("done")
        """,
        HYBRIDNET_HOST=tier,
    )
    assert printed.split() == ["done"]
