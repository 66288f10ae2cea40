"""Rows of segments: by NumPy and by XLA what a plain loop over the rows finds."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from helpers import run_op
from hypothesis import given
from hypothesis import strategies as st

from hybridnet import autograd, nd
from hybridnet.ops.core.registry import get
from hybridnet.ops.host import by_numpy
from hybridnet.ops.host.segments import added_rows

OPERATOR = get("_segment_reduce")
JOIN: dict[str, Callable[..., np.ndarray]] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def slowly(data: np.ndarray, ids: np.ndarray, count: int, how: str) -> np.ndarray:
    """Joins one row after the other."""
    if how == "sum":
        start = 0
    else:
        limits = np.iinfo(data.dtype) if data.dtype.kind in "iu" else ml_dtypes.finfo(data.dtype)
        start = limits.min if how == "max" else limits.max
    wide = np.float64 if data.dtype.kind not in "iu" else data.dtype
    found = np.full((count, *data.shape[ids.ndim :]), start, wide)
    for place in np.ndindex(ids.shape):
        if 0 <= ids[place] < count:
            row = found[ids[place]]
            found[ids[place]] = JOIN[how](row, data[place].astype(wide))
    return found.astype(data.dtype)


def by_host(*inputs: np.ndarray, **attrs: object) -> np.ndarray:
    call, _ = OPERATOR.bind(attrs)
    return by_numpy(call.evaluate, inputs, ())[0]


@given(
    rows=st.integers(0, 30),
    width=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
    count=st.integers(0, 6),
    is_sorted=st.booleans(),
    how=st.sampled_from(["sum", "max", "min"]),
    dtype=st.sampled_from(["float32", "float64", "float16", "bfloat16", "int8", "uint32", "int64"]),
    seed=st.integers(0, 1000),
)
def test_numpys_form_is_that_of_a_loop(rows, width, count, is_sorted, how, dtype, seed) -> None:
    draw = np.random.default_rng(seed)
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    data = draw.integers(-20, 20, (rows, *width)).astype(kind)
    ids = draw.integers(-2, count + 2, rows)
    ids = np.sort(ids) if is_sorted else ids
    found = by_host(data, ids, num_segments=count, how=how)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, slowly(data, ids, count, how))


@pytest.mark.parametrize("how", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64"])
def test_xlas_form_is_that_of_a_loop(how: str, dtype: str) -> None:
    draw = np.random.default_rng(0)
    data = draw.integers(0, 100, (3, 7, 2)).astype(dtype)
    ids = draw.integers(-1, 6, (3, 7))
    wanted = slowly(data, ids, 5, how)
    np.testing.assert_array_equal(
        run_op("_segment_reduce", data, ids, num_segments=5, how=how)[0], wanted
    )
    np.testing.assert_array_equal(by_host(data, ids, num_segments=5, how=how), wanted)


@pytest.mark.parametrize("host", ["only", "off"])
def test_each_row_gets_the_gradient_of_its_segment(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDNET_HOST", host)
    draw = np.random.default_rng(1)
    x = nd.array(draw.normal(size=(9, 2)))
    ids = np.array([3, 0, 1, -1, 3, 9, 2, 0, 0])
    heads = draw.normal(size=(4, 2)).astype("float32")
    x.attach_grad()
    with autograd.record():
        inputs = x, nd.array(ids, dtype="int32")
        y = nd.NDArray.apply_operator(OPERATOR, inputs, {"num_segments": 4})
    y.backward(nd.array(heads))
    inside = (ids >= 0) & (ids < 4)
    wanted = np.where(inside[:, None], heads[np.where(inside, ids, 0)], 0)
    np.testing.assert_array_equal(x.grad.asnumpy(), wanted)


@pytest.mark.parametrize("length", [1, 65536, 65537])
def test_rows_are_added_at_any_place(length):
    draw = np.random.default_rng(length)
    places, rows = draw.integers(0, length, 300), draw.normal(size=(300, 4)).astype("float32")
    places[:2] = length - 1, 0
    expected = np.zeros((length, 4))
    np.add.at(expected, places, rows)
    np.testing.assert_allclose(added_rows(places, rows, length), expected, rtol=1e-5, atol=1e-5)
