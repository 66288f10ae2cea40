"""Shapes that users give: what is none is refused by the function that was asked."""

from __future__ import annotations

import numpy as onp
import pytest

import hybridnet as mx
from hybridnet import nd, np, sym
from hybridnet.base.errors import ParameterError, ShapeError

_NONE = "the shape must be a whole number or a tuple of them, got"
_SIZES = "the sizes must be whole numbers, got"


@pytest.mark.parametrize(
    "where,call",
    [
        ("nd.zeros", lambda shape: nd.zeros(shape)),
        ("nd.zeros", lambda shape: nd.zeros(shape, stype="csr")),
        ("nd.zeros", lambda shape: nd.empty(shape)),
        ("nd.zeros", lambda shape: nd.full(shape, 1)),
        ("nd.ones", lambda shape: nd.ones(shape)),
        ("np.zeros", lambda shape: np.zeros(shape)),
        ("np.zeros", lambda shape: np.empty(shape)),
        ("np.zeros", lambda shape: sym.np.zeros(shape)),
        ("np.ones", lambda shape: np.ones(shape)),
        ("np.full", lambda shape: np.full(shape, 1)),
        ("np.indices", lambda shape: np.indices(shape)),
        ("np.resize", lambda shape: np.resize(np.ones(3), shape)),
        ("var 'x'", lambda shape: sym.var("x", shape=shape)),
    ],
)
@pytest.mark.parametrize(
    "shape,told",
    [
        ("a", f"{_NONE} 'a'"),
        ("3", f"{_NONE} '3'"),
        (2.5, f"{_NONE} 2.5"),
        ((2, "a"), f"{_SIZES} 'a'"),
        ([None, 2], f"{_SIZES} None"),
        ((2.5, 1), f"{_SIZES} 2.5"),
        ((float("nan"),), f"{_SIZES} nan"),
        ((float("inf"),), f"{_SIZES} inf"),
    ],
)
def test_what_is_no_shape_is_refused_by_name(where, call, shape, told):
    with pytest.raises(ParameterError) as error:
        call(shape)
    assert str(error.value) == f"{where}: {told}"


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda: nd.ones((2, 3)).reshape("a"), f"reshape: {_SIZES} 'a'"),
        (lambda: nd.ones((2, 3)).reshape(2, 3.5), f"reshape: {_SIZES} 3.5"),
        (lambda: nd.eye("a"), f"nd.eye: {_SIZES} 'a'"),
        (lambda: nd.eye(2, 2.5), f"nd.eye: {_SIZES} 2.5"),
        (lambda: nd.linspace(0, 1, "a"), f"nd.linspace: {_SIZES} 'a'"),
    ],
)
def test_what_is_no_size_is_refused_by_name(call, message):
    with pytest.raises(ParameterError) as error:
        call()
    assert str(error.value) == message


def test_a_size_below_0_is_refused():
    for call in (nd.zeros, nd.ones, np.zeros, np.ones):
        with pytest.raises(ShapeError, match=r"the dimensions must be >= 0, got \(2, -1\)"):
            call((2, -1))


def test_what_is_a_shape_is_taken():
    for shape in (
        (2, 3), [2, 3], (2.0, 3), onp.array([2, 3]), (onp.int8(2), onp.float32(3)), range(2, 4),
        nd.array([2, 3]), (nd.array([2]), 3),
    ):  # fmt: skip
        assert nd.zeros(shape).shape == np.ones(shape).shape == (2, 3)
    assert nd.zeros(3).shape == nd.zeros(onp.int64(3)).shape == (3,)
    assert nd.empty(()).shape == np.zeros(()).shape == ()
    assert nd.zeros((2, 3)).reshape((3, -1)).shape == (3, 2)
    assert sym.var("x", shape=(-1, 2)).list_attr() == {"__shape__": "(-1, 2)"}
    assert mx.nd.empty((0, 2)).shape == (0, 2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 1)])
def test_shapes_that_are_not_known_make_no_arrays_but_in_numpys_mode(shape):
    for make in (nd.zeros, nd.ones):
        with pytest.raises(ShapeError, match="says that it is not known.*np_shape"):
            make(shape)
        with mx.util.np_shape():
            assert make(shape).shape == shape
