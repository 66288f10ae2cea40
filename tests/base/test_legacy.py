"""What programs import from `base`: kinds of numbers, the default dtype, one value as a list."""

import ctypes

import numpy as np
import pytest

from hybridnet import base


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
    assert base.py_str("Größe".encode()) == "Größe"
    assert base._as_list(pair) is pair and base._as_list(3) == [3]
