"""What programs import from `base`: kinds of numbers, the default dtype, one value as a list."""

import array
import ctypes

import numpy as np
import pytest

from hybridnet import base, nd
from hybridnet.base.unsupported import NotSupportedError


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (3, {"integer", "numeric"}),
        (np.int64(3), {"integer", "numeric"}),
        (np.int8(3), {"numeric"}),
        (3.5, {"numeric"}),
        (np.float32(3.5), {"numeric"}),
        ("3", {"string"}),
        ([3], set()),
    ],
)
def test_kinds_of_values(value, kinds):
    found = {
        kind
        for kind in ("integer", "numeric", "string")
        if isinstance(value, getattr(base, f"{kind}_types"))
    }
    assert found == kinds


def test_the_default_dtype_is_that_of_new_arrays():
    assert base.mx_real_t is np.float32
    assert base.mx_uint is ctypes.c_uint and base.mx_float is ctypes.c_float


def test_text_and_lists():
    pair = (1, 2)
    assert base.py_str("Größe".encode()) == base.py_str("Größe") == "Größe"
    assert base._as_list(pair) is pair and base._as_list(3) == [3]


def test_arrays_of_c():
    assert list(base.c_array(ctypes.c_int, [1, 2])) == [1, 2]
    numbers = array.array("f", [1.0, 2.0])
    shared = base.c_array_buf(base.mx_float, numbers)
    shared[0] = 5.0
    assert numbers[0] == 5.0
    assert base.c_str("a").value == b"a"
    assert list(base.c_str_array(["a", "bc"])) == [b"a", b"bc"]


def test_properties_of_classes_and_classes_of_classes():
    class Meta(type):
        pass

    class Made(base.with_metaclass(Meta, int)):
        @base.classproperty
        def called(cls):
            return cls.__name__

    assert type(Made) is Meta and issubclass(Made, int)
    assert Made.called == Made(3).called == "Made"


def test_the_c_library_is_refused_by_name():
    with pytest.raises(NotSupportedError, match="no C library"):
        _ = base._LIB
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = base.nothing


def test_codes_beside_arrays():
    from hybridnet.ndarray.ndarray import (
        _DTYPE_MX_TO_NP,
        _DTYPE_NP_TO_MX,
        _GRAD_REQ_MAP,
        _STORAGE_TYPE_STR_TO_ID,
        py_slice,
    )

    assert py_slice is slice and _DTYPE_NP_TO_MX[np.float32] == 0
    assert all(_DTYPE_NP_TO_MX[kind] == code for code, kind in _DTYPE_MX_TO_NP.items())
    assert _STORAGE_TYPE_STR_TO_ID["csr"] == 2 and _GRAD_REQ_MAP["add"] == 3


def test_operators_by_their_inner_names():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    assert nd._internal._square_sum(x, axis=1).asnumpy().tolist() == [5.0, 25.0]
    with pytest.raises(AttributeError, match="_square_sum"):
        _ = nd._internal._square_summ
