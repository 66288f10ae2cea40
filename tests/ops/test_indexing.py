"""Operators that select by positions, order, and multiply matrices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_gradient, run_op
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as mx
from hybridnet import autograd, nd
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError

_A = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "int16", "int32", "int64", "uint8", "uint32"]
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take(axis, dtype):
    positions = np.array([[0, 2], [1, 1]], dtype)
    got = run_op("take", _A, positions, axis=axis)[0]
    np.testing.assert_array_equal(got, np.take(_A, positions.astype(int), axis))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: nd.take(x, i),
        lambda x, i: nd.take(x.T, i, axis=-1, mode="wrap"),
        lambda x, i: mx.np.take(x.as_np_ndarray(), i.as_np_ndarray(), axis=0),
        lambda x, i: mx.np.take(x.as_np_ndarray(), i.as_np_ndarray()),
        lambda x, i: nd.gather_nd(x, i.reshape((1, 2))),
    ],
)
def test_nothing_can_be_taken_from_an_empty_axis(call):
    empty = nd.array(np.zeros((0, 3)))
    with pytest.raises(ShapeError, match=r"needs at least one element along axis \((0|1),\)"):
        call(empty, nd.array([0, 1]))
    assert nd.take(empty, nd.array(np.zeros((0,)))).shape == (0, 3)


# Measured with MXNet 1.9.1, apart from the NaN, where it raises.
def test_positions_outside():
    x, outside = np.arange(4.0), np.array([0, -5, 9, 3.7])
    assert run_op("take", x, outside)[0].tolist() == [0, 0, 3, 3]
    assert run_op("take", x, outside, mode="wrap")[0].tolist() == [0, 3, 1, 3]
    np.testing.assert_array_equal(
        run_op("take", x, outside, mode="raise")[0], [0, np.nan, np.nan, 3]
    )
    grad, _ = run_gradient("take", x, outside.astype(int), heads=[np.ones(4)])
    np.testing.assert_array_equal(grad, [2, 0, 0, 2])


def test_pick_and_batch_take():
    index = np.array([0, -1, 9])
    assert run_op("pick", _A, index)[0].tolist() == [0, 4, 11]
    assert run_op("pick", _A, index, mode="wrap")[0].tolist() == [0, 7, 9]
    assert run_op("pick", _A, np.array([0, 1, 2, 1]), axis=0)[0].tolist() == [0, 5, 10, 7]
    assert run_op("pick", _A, index[:, None])[0].tolist() == [0, 4, 11]
    assert run_op("pick", _A, index, keepdims=True)[0].tolist() == [[0], [4], [11]]
    assert run_op("pick", _A[0], np.array([1]))[0].tolist() == [1]
    assert run_op("choose_element_0index", _A, np.array([0, 1, 2.0]))[0].tolist() == [0, 5, 10]
    assert run_op("batch_take", _A, np.array([0, 3, 1]))[0].tolist() == [0, 7, 9]
    with pytest.raises(ShapeError, match=r"pick: index must have shape \(3,\) or \(3, 1\)"):
        run_op("pick", _A, np.array([0, 1]))
    with pytest.raises(ParameterError, match="pick: axis must be an integer, got None"):
        run_op("pick", _A, index, axis=None)
    with pytest.raises(ShapeError, match=r"batch_take: a must be \(rows, columns\)"):
        run_op("batch_take", _A, np.array([0]))


def test_one_hot():
    got = run_op("one_hot", np.array([0, 2, -1, 5, 1.6]), depth=3)[0]
    np.testing.assert_array_equal(got, [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 0]])
    assert got.dtype == np.float32
    got = run_op("one_hot", np.array([[0, 1]]), depth=2, on_value=5, off_value=-1, dtype="int32")[0]
    np.testing.assert_array_equal(got, np.array([[[5, -1], [-1, 5]]], np.int32))


def test_where():
    x, y = np.ones((2, 3)), np.zeros((2, 3), np.float32)
    mask = np.array([[1, 0, -1], [0, np.nan, 0]])
    np.testing.assert_array_equal(run_op("where", mask, x, y)[0], mask != 0)
    rows = run_op("where", np.array([1, 0], np.int32), x, y)[0]
    np.testing.assert_array_equal(rows, [[1, 1, 1], [0, 0, 0]])
    assert rows.dtype == np.float64
    with pytest.raises(ShapeError, match="where: x and y must have equal shapes, and condition"):
        run_op("where", np.ones((2, 1)), x, y)


# Measured with MXNet 1.9.1.
def test_gather_and_scatter():
    coordinates = np.array([[0, 1, 2], [1, 2, -1]])
    assert run_op("gather_nd", _A, coordinates)[0].tolist() == [1, 6, 11]
    assert run_op("gather_nd", _A, np.array([[0, 2]]))[0].tolist() == _A[[0, 2]].tolist()
    assert run_op("gather_nd", _A, np.array([1, 2]))[0].tolist() == [6]
    got = run_op("scatter_nd", np.array([[1, 2], [3, 4]]), np.array([[2, 0]]), shape=(3, 2))[0]
    assert got.tolist() == [[3, 4], [0, 0], [1, 2]]
    grad, _ = run_gradient("gather_nd", _A, np.array([[1, 1]]), heads=[np.ones((2, 4))])
    np.testing.assert_array_equal(grad, [[0] * 4, [2] * 4, [0] * 4])
    with pytest.raises(ShapeError, match="gather_nd: indices must have one row for each leading"):
        run_op("gather_nd", _A, np.zeros((3, 1)))
    with pytest.raises(ShapeError, match=r"scatter_nd: data must have shape \(2, 2\)"):
        run_op("scatter_nd", np.ones(3), np.array([[2, 0]]), shape=(3, 2))


def test_embedding():
    weight = np.arange(6, dtype=np.float16).reshape(3, 2)
    got = run_op("Embedding", np.array([[0, 2, -1, 7.9]]), weight, input_dim=3, output_dim=2)[0]
    assert got.dtype == np.float16
    assert got.tolist() == [[[0, 1], [4, 5], [0, 1], [4, 5]]]
    with pytest.raises(ShapeError, match=r"weight must be \(input_dim, output_dim\) = \(4, 2\)"):
        run_op("Embedding", np.array([0]), weight, input_dim=4, output_dim=2)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_flat_and_multiple_indices_are_those_of_numpy(shape):
    flat = np.arange(int(np.prod(shape)))
    coordinates = run_op("unravel_index", flat, shape=shape)[0]
    np.testing.assert_array_equal(coordinates, np.unravel_index(flat, shape))
    np.testing.assert_array_equal(run_op("ravel_multi_index", coordinates, shape=shape)[0], flat)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.booleans())
def test_sorting_is_stable(numbers, ascending):
    x = np.array(numbers, np.float32)
    order = np.argsort(x if ascending else -x, kind="stable")
    got = run_op("argsort", x, is_ascend=ascending, dtype="int32")[0]
    np.testing.assert_array_equal(got, order)
    np.testing.assert_array_equal(run_op("sort", x, is_ascend=ascending)[0], x[order])


# Measured with MXNet 1.9.1.
def test_topk():
    x = np.array([[3, 1, 2], [4, 6, 5]], np.float32)
    assert run_op("topk", x)[0].tolist() == [[0], [1]]
    assert run_op("topk", x, k=2)[0].tolist() == [[0, 2], [1, 2]]
    values, indices = run_op("topk", x, k=2, ret_typ="both", dtype="int32")
    assert values.tolist() == [[3, 2], [6, 5]]
    assert indices.dtype == np.int32
    assert run_op("topk", x, k=2, ret_typ="mask")[0].tolist() == [[1, 0, 1], [0, 1, 1]]
    assert run_op("topk", x, k=2, axis=None)[0].tolist() == [4, 5]
    assert run_op("topk", x, k=2, axis=None, ret_typ="mask")[0].tolist() == [[0, 0, 0], [0, 1, 1]]
    assert run_op("topk", x, k=1, axis=0, is_ascend=True, ret_typ="value")[0].tolist() == [
        [3, 1, 2]
    ]
    assert run_op("topk", x, k=0)[0].tolist() == [[0, 2, 1], [1, 2, 0]]
    with pytest.raises(ParameterError, match="topk: k must be at most the size of the axis, 3"):
        run_op("topk", x, k=9)


@pytest.mark.parametrize(
    "left,right,attrs,axes",
    [
        ((2, 3), (3, 4), {}, (1, 0)),
        ((3,), (3,), {}, (0, 0)),
        ((2, 4), (4,), {}, (1, 0)),
        ((4,), (4, 2), {"transpose_a": True}, (0, 0)),
        ((2, 3, 4), (4, 5, 6), {}, (2, 0)),
        ((4, 3, 2), (4, 5), {"transpose_a": True}, (0, 0)),
        ((2, 4), (3, 5, 4), {"transpose_b": True}, (1, 2)),
        ((4, 2), (3, 4), {"transpose_a": True, "transpose_b": True}, (0, 1)),
    ],
)
def test_dot(left, right, attrs, axes):
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=left), generator.normal(size=right)
    expected = np.tensordot(a, b, axes)
    got = run_op("dot", a, b, **attrs)[0]
    np.testing.assert_allclose(got, expected.reshape(expected.shape or (1,)))


def test_batch_dot():
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(2, 5, 3, 4)), generator.normal(size=(2, 5, 4, 6))
    np.testing.assert_allclose(run_op("batch_dot", a, b)[0], a @ b)
    got = run_op("batch_dot", a.swapaxes(-1, -2), b.swapaxes(-1, -2), transpose_a=1, transpose_b=1)
    np.testing.assert_allclose(got[0], a @ b)


@pytest.mark.parametrize(
    "name,left,right,message",
    [
        ("dot", (2, 3), (2, 3), r"lhs.shape\[1\] must equal rhs.shape\[0\] .* lhs float64\[2,3\]"),
        ("batch_dot", (3, 4), (4, 5), r"must be \(batch, ..., rows, columns\) with equal batch"),
        ("batch_dot", (1, 3, 4), (2, 4, 5), "with equal batch dimensions"),
        ("batch_dot", (2, 3, 4), (2, 3, 4), "columns of lhs must be as many as the rows of rhs"),
    ],
)
def test_products_that_do_not_fit_are_refused(name, left, right, message):
    with pytest.raises(ShapeError, match=f"{name}: .*{message}"):
        run_op(name, np.ones(left), np.ones(right))


def test_products_of_mixed_dtypes():
    a, b = np.ones((2, 3), np.float32), np.ones((3, 2), np.int32)
    assert run_op("dot", a, b)[0].dtype == np.float32
    assert run_op("dot", b, b.T)[0].dtype == np.int32
    with pytest.raises(DTypeError, match="dot: inputs must be numeric"):
        run_op("dot", a, b != 0)


def test_positions_outside_are_an_error():
    data = nd.array([[0, 1, 2], [3, 4, 5]])
    for column in (3, -4):
        with pytest.raises(IndexError, match=rf"gather_nd: index {column} .* axis 1 with size 3"):
            nd.gather_nd(data, nd.array([[0, 1], [1, column]]))
    inside = nd.gather_nd(data, nd.array([[0, -1], [1, -2]]))
    assert inside.asnumpy().tolist() == [1, 4]
    with pytest.raises(MXNetError, match="take: index 2 is out of bounds for axis 0 with size 2"):
        nd.take(data, nd.array([0, 2]), mode="raise")
    taken = nd.take(data, nd.array([1, 0]), mode="raise")
    assert taken.asnumpy().tolist() == [[3, 4, 5], [0, 1, 2]]


def test_positions_that_are_computed_are_looked_at_where_a_value_is_read():
    data, column = nd.array([[0, 1, 2], [3, 4, 5]]), nd.array([[0], [6]])
    with autograd.record():
        total = nd.gather_nd(data, column + 1).sum()
    with pytest.raises(IndexError, match=r"gather_nd: index 7 .* size 3, at position \[1, 0\]"):
        total.asnumpy()


@pytest.mark.parametrize("rows", [[0, 2], [0.7, 2.9]])
def test_rows_are_copied_to_positions_of_any_dtype(rows):
    """MXNet 1.9.1: positions of floats are cut to whole numbers; the gradient is that of rows."""
    old, index, new = nd.ones((3, 2)), nd.array(rows), nd.array([[1, 2], [3, 4]])
    old.attach_grad(), new.attach_grad()
    with autograd.record():
        copied = nd.contrib.index_copy(old, index, new)
    copied.backward(nd.array([[1, 2], [3, 4], [5, 6]]))
    assert copied.asnumpy().tolist() == [[1, 2], [1, 1], [3, 4]]
    assert old.grad.asnumpy().tolist() == [[0, 0], [3, 4], [0, 0]]
    assert new.grad.asnumpy().tolist() == [[1, 2], [5, 6]]
    symbol = mx.sym.contrib.index_copy(*map(mx.sym.var, ("old", "index", "new")))
    (given,) = symbol.eval(old=old, index=index, new=new)
    assert given.asnumpy().tolist() == copied.asnumpy().tolist()
    for dtype in ("float64", "float16", "uint8", "int8"):
        copied = nd.contrib.index_copy(old, index.astype(dtype), new)
        assert copied.asnumpy().tolist() == [[1, 2], [1, 1], [3, 4]]
