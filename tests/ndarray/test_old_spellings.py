"""Spellings that programs of MXNet use: views on request, `out` of creators, contexts."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.base.errors import FormatError, MXNetError, ParameterError, ShapeError

_SHAPE = (1, 2, 1, 3)


@pytest.mark.parametrize(
    ("name", "arguments", "shape"),
    [
        ("flatten", {}, (1, 6)),
        ("squeeze", {}, (2, 3)),
        ("squeeze", {"axis": 0}, (2, 1, 3)),
        ("squeeze", {"axis": (0, -2)}, (2, 3)),
        ("expand_dims", {"axis": 2}, (1, 2, 1, 1, 3)),
        ("expand_dims", {"axis": -1}, (1, 2, 1, 3, 1)),
    ],
)
def test_views_where_they_are_asked_for(name: str, arguments: Any, shape: tuple[int, ...]) -> None:
    x = nd.arange(6).reshape(_SHAPE)
    copy, view = (getattr(x, name)(**arguments, inplace=inplace) for inplace in (False, True))
    assert copy.shape == view.shape == shape
    x[:] = 7
    assert (view == 7).asnumpy().all() and copy.asnumpy().max() == 5
    view[:] = 8
    assert (x == 8).asnumpy().all()
    x.attach_grad()
    with autograd.record():
        loss = (getattr(x, name)(**arguments, inplace=True) * 3).sum()
    loss.backward()
    assert (x.grad == 3).asnumpy().all()


def test_views_of_odd_shapes() -> None:
    assert nd.ones((1, 1)).squeeze(inplace=True).shape == (1,)
    assert nd.ones((2,)).flatten(inplace=True).shape == (2, 1)
    assert nd.empty((0, 3)).flatten(inplace=True).shape[0] == 0
    with pytest.raises(ShapeError, match="axis 1 must have size 1"):
        nd.ones((2, 3)).squeeze(axis=1, inplace=True)
    with pytest.raises(ShapeError, match="axis must be from -3 to 2, got 5"):
        nd.ones((2, 3)).expand_dims(axis=5, inplace=True)
    with pytest.raises(ParameterError, match="inplace=True takes no out"):
        nd.ones((2, 3)).flatten(inplace=True, out=nd.ones((2, 3)))


def test_creators_fill_what_they_are_given() -> None:
    out = nd.zeros((2, 2))
    assert nd.ones((2, 2), out=out) is out and (out == 1).asnumpy().all()
    nd.eye(2, k=1, out=out)
    assert out.asnumpy().tolist() == [[0, 1], [0, 0]]
    nd.zeros((2, 2), out=out)
    assert not out.asnumpy().any()
    sparse = nd.ones((2, 2)).tostype("csr")
    nd.zeros((2, 2), stype="csr", out=sparse)
    assert sparse.nnz == 0


def test_where_operators_without_inputs_make_arrays() -> None:
    for where in (hn.cpu(2), "cpu(2)"):
        assert nd.random_uniform(shape=(2,), ctx=where).context is hn.cpu(2)
        assert nd._internal._zeros(shape=(2,), ctx=where).context is hn.cpu(2)
    assert nd.random_uniform(shape=(2,), ctx="cpu").context is hn.cpu(0)
    for where in ("moon(0)", "cpu(x)"):
        with pytest.raises(ParameterError):
            nd.random_uniform(shape=(2,), ctx=where)


def test_axes_by_name() -> None:
    x = nd.zeros((2, 3, 4))
    assert x.transpose(axes=(0, 2, 1)).shape == x.transpose((0, 2, 1)).shape == (2, 4, 3)
    assert x.transpose(0, 2, 1).shape == (2, 4, 3) and x.transpose().shape == (4, 3, 2)
    out = nd.zeros((4, 3, 2))
    assert x.transpose(out=out) is out
    assert hn.sym.var("x").transpose(axes=(1, 0)).infer_shape(x=(2, 3))[1] == [(3, 2)]


def test_arrays_like_others_pass_a_dtype_over() -> None:
    x = nd.ones((2,))
    assert x.zeros_like(dtype="int32").dtype is nd.ones_like(x, dtype="int32").dtype is np.float32
    assert nd.zeros_like(x, ctx=hn.cpu(0)).context == nd.ones_like(x, ctx="cpu(0)").context


def test_an_array_stands_for_its_dtype() -> None:
    whole = nd.array([1.5, 2.5])
    for like in (nd.ones((1,), dtype="int32"), np.ones(1, "int32"), np.int32(3)):
        assert whole.astype(like).dtype == np.int32
        assert nd.zeros((2,), dtype=like).dtype == np.int32
    assert whole.astype(nd.ones((3,)), copy=False) is whole


def test_numbers_as_text() -> None:
    assert nd.array(["12", "3"], dtype="int32").asnumpy().tolist() == [12, 3]
    with pytest.raises(ParameterError, match="needs real numbers, got other text"):
        nd.array(["12", "a"])


def test_truth_of_arrays() -> None:
    assert not nd.array([]) and not nd.zeros((1,)) and nd.ones((1, 1))
    with pytest.raises(ShapeError, match="ambiguous"):
        bool(nd.ones((2,)))


def test_functions_of_numpy_read_arrays() -> None:
    x = nd.array([1, 4])
    assert np.all(x == nd.array([1, 4])) and np.sqrt(x).tolist() == [1, 2]
    assert type(np.maximum(np.array([2, 2]), x)) is np.ndarray
    assert type(np.float64(2) * x) is nd.NDArray and (np.float32(2) * x).asnumpy().tolist() == [
        2,
        8,
    ]
    for left, right in ((np.ones(2), x), (x, np.ones(2))):
        with pytest.raises(TypeError, match="two of a kind, got NDArray and numpy.ndarray"):
            left + right
        with pytest.raises(TypeError, match="two of a kind"):
            _ = left == right


def test_the_gradient_of_relu_passes_nan_on() -> None:
    x = nd.array([np.nan, 1, -1, 0])
    x.attach_grad()
    for relu in (nd.relu, lambda x: nd.Activation(x, act_type="relu")):
        with autograd.record():
            made = relu(x)
        made.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), [np.nan, 1, 0, 0])


def test_signatures_of_functions_by_their_operators() -> None:
    from hybridnet import _numpy_op_doc
    from hybridnet.numpy_op_signature import _get_builtin_op

    assert _get_builtin_op("_np_sum") is _numpy_op_doc._np_sum is hn.np.sum
    assert "axis" in _numpy_op_doc._np_sum.__signature__.parameters
    assert _get_builtin_op("relu") is None
    with pytest.raises(ValueError, match="no function 'nothing'"):
        _get_builtin_op("_np_nothing")


def test_sums_of_what_cannot_be_summed_name_the_operator() -> None:
    with pytest.raises(MXNetError, match="broadcast_add"):
        nd.ones((2,)) + nd.ones((3,))


def test_gradients_of_parts_of_whole_numbers() -> None:
    x = nd.arange(6, dtype="int32").reshape((2, 3))
    x.attach_grad()
    for key in (0, slice(0, 1), (0, 1), [0], (slice(None), 0), ([0, 0], [1, 1]), ()):
        wanted = np.zeros((2, 3), np.int32)
        np.add.at(wanted, key, 1)
        with autograd.record():
            part = x[key]
        with pytest.warns(UserWarning, match="requires an array of floats"):
            part.backward()
        assert x.grad.dtype is np.int32 and (x.grad.asnumpy() == wanted).all()


def test_which_parts_are_runs_of_memory() -> None:
    x = np.zeros((3, 4, 5))
    parts = [slice(None), slice(2), slice(1, 2), slice(None, None, -1), slice(None, None, 20)]
    for a in parts:
        for b in parts:
            for c in parts:
                is_run = nd.NDArray._basic_indexing_slice_is_contiguous((a, b, c), x.shape)
                assert is_run == x[a, b, c].flags.contiguous, (a, b, c)


def test_smallest_elements_of_half_precision_keep_nan() -> None:
    x = np.ones((8, 10, 8, 7), np.float16)
    x[0, 3] = np.nan
    for _ in range(3):  # by NumPy, and compiled
        smallest = nd.array(x, dtype="float16").min(axis=1)
    assert np.isnan(smallest.asnumpy()[0]).all() and (smallest[1:] == 1).asnumpy().all()


def test_broadcasting_along_no_axes_is_refused() -> None:
    with pytest.raises(ParameterError, match="must name an axis"):
        nd.broadcast_like(nd.ones((1, 2)), nd.ones((3, 2)), lhs_axes=(), rhs_axes=())


def test_pickles_of_mxnet() -> None:
    # What pickle keeps of mxnet.nd.arange(1, ctx=mx.gpu()): header V2, dense, one dimension of
    # size 1, gpu(0), float32, and the value.
    handle = struct.pack("<IiiqiiiI", 0xF993FAC9, 0, 1, 1, 2, 0, 0, 0)
    array = nd.NDArray(None)
    array.__setstate__({"handle": bytearray(handle)})
    assert array.context is hn.cpu(0) and array.asnumpy().tolist() == [0]
    with pytest.raises(FormatError, match="a pickled array"):
        array.__setstate__({"handle": handle[:-1]})
    with pytest.raises(MXNetError, match="no C library"):
        nd.NDArray(7)
