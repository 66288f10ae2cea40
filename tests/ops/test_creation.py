"""Arrays from nothing, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_op

from hybridnet.base.errors import ParameterError


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int64", "uint8", "bool"])
def test_constants(dtype):
    for name, value in (("_zeros", 0), ("_ones", 1)):
        got = run_op(name, shape="(2, 3)", dtype=dtype)[0]
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, np.full((2, 3), value, dtype))
    assert run_op("_full", shape=3, value=2.5, dtype="int32")[0].tolist() == [2, 2, 2]
    assert run_op("_zeros", shape=(2, 0))[0].shape == (2, 0)


# The last three were measured with MXNet 1.9.1; NumPy has no repeat.
@pytest.mark.parametrize(
    "attrs,expected",
    [
        ({"start": 3}, [0, 1, 2]),
        ({"start": 3, "stop": "None"}, [0, 1, 2]),
        ({"start": 0.5, "stop": 5, "step": 2}, [0.5, 2.5, 4.5]),
        ({"start": 5, "stop": 0, "step": -2}, [5, 3, 1]),
        ({"start": 3, "stop": 0}, []),
        ({"start": 0, "stop": 3, "repeat": 2}, [0, 0, 1, 1, 2, 2]),
        ({"start": 0.5, "stop": 5, "step": 1.5, "dtype": "int32"}, [0, 1, 2]),
        ({"start": 1, "stop": 3, "step": 0.5, "repeat": 2}, [1, 1, 1.5, 1.5, 2, 2, 2.5, 2.5]),
    ],
)
def test_arange(attrs, expected):
    got = run_op("_arange", **attrs)[0]
    np.testing.assert_array_equal(got, np.array(expected, attrs.get("dtype", "float32")))


def test_arange_has_as_many_elements_as_that_of_numpy():
    got = run_op("_arange", start=0, stop=1, step=0.1)[0]
    np.testing.assert_allclose(got, np.arange(0, 1, 0.1), rtol=1e-6)
    assert run_op("_arange", start=3000, dtype="float16")[0][2500] == 2500


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
def test_linspace(num, endpoint):
    got = run_op("_linspace", start=2, stop=5, num=num, endpoint=endpoint, dtype="float64")[0]
    np.testing.assert_allclose(got, np.linspace(2, 5, num, endpoint=endpoint))


@pytest.mark.parametrize("attrs", [{"N": 3}, {"N": 3, "M": 4, "k": 1}, {"N": 3, "M": 2, "k": -1}])
def test_eye(attrs):
    expected = np.eye(attrs["N"], attrs.get("M"), attrs.get("k", 0))
    np.testing.assert_array_equal(run_op("_eye", **attrs)[0], expected)


@pytest.mark.parametrize(
    "attrs,message",
    [
        ({"start": 1, "stop": 2, "step": 0}, "_arange: step must not be 0"),
        ({"start": 1, "repeat": 0}, "_arange: parameter repeat must be an integer >= 1, got 0"),
        ({"start": 1, "infer_range": True}, "_arange: infer_range must be False"),
        ({}, r"_arange: parameter start \(a number\) is required"),
    ],
)
def test_wrong_ranges_are_refused(attrs, message):
    with pytest.raises(ParameterError, match=message):
        run_op("_arange", **attrs)
