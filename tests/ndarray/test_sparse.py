"""Sparse arrays: making them, reading them, and what they are made of."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.ndarray.sparse import BaseSparseNDArray, CSRNDArray, RowSparseNDArray

A = np.array([[0, 1, 0], [2, 0, 3], [0, 0, 0], [-4, 0, 0]], np.float32)
PARTS = ([1, 2, 3, -4], [1, 0, 2, 0], [0, 1, 3, 3, 4])


def csr() -> CSRNDArray:
    return nd.sparse.csr_matrix(PARTS, shape=A.shape)


def rows() -> RowSparseNDArray:
    return nd.sparse.row_sparse_array((A[[0, 1, 3]], [0, 1, 3]), shape=A.shape)


def host(*arrays: Any) -> list[Any]:
    return [one.asnumpy().tolist() for one in arrays]


def test_a_csr_matrix_is_values_columns_and_row_ends() -> None:
    x = csr()
    assert (x.stype, x.shape, x.dtype, x.nnz) == ("csr", (4, 3), np.float32, 4)
    assert isinstance(x, nd.NDArray) and isinstance(x, BaseSparseNDArray)
    assert host(x.data, x.indices, x.indptr) == [list(one) for one in PARTS]
    assert x.indices.dtype == x.indptr.dtype == np.int64
    assert x.context == hn.cpu(0)
    assert repr(x) == "\n<CSRNDArray 4x3 @cpu(0)>"
    np.testing.assert_array_equal(x.asnumpy(), A)


def test_a_row_sparse_array_is_rows_and_where_they_stand() -> None:
    x = rows()
    assert (x.stype, x.shape, x.ndim, len(x)) == ("row_sparse", (4, 3), 2, 4)
    assert host(x.indices) == [[0, 1, 3]]
    assert x.indices.dtype == np.int64
    np.testing.assert_array_equal(x.data.asnumpy(), A[[0, 1, 3]])
    assert repr(x) == "\n<RowSparseNDArray 4x3 @cpu(0)>"
    np.testing.assert_array_equal(x.asnumpy(), A)


def test_data_and_positions_are_copies() -> None:
    x = csr()
    x.data[:] = 0
    x.indices[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), A)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_storage_is_cast_there_and_back(stype: str) -> None:
    x = nd.array(A).tostype(stype)
    assert x.stype == stype
    x.check_format()
    np.testing.assert_array_equal(x.tostype("default").asnumpy(), A)
    same = x.tostype(stype)
    assert same.stype == stype and same is not x
    assert nd.cast_storage(x, "default").stype == "default"
    for cast in (nd.cast_storage, nd.sparse.cast_storage):
        assert cast(nd.array(A), stype=stype).stype == stype
        assert cast(nd.array(A), stype).stype == stype


def test_values_decide_the_dtype_unless_it_is_given() -> None:
    make = nd.sparse.csr_matrix
    assert make(np.eye(3)).dtype == np.float64
    assert make([[1, 0], [0, 2]]).dtype == np.float32
    assert make((np.array([1, 2], np.int32), [0, 1], [0, 1, 2])).dtype == np.int32
    assert make(nd.array([[1, 0]], dtype="float16")).dtype == np.float16
    assert make(PARTS, dtype="float64").dtype == np.float64
    assert nd.sparse.row_sparse_array((np.ones((1, 2)), [1])).dtype == np.float64


def test_a_csr_matrix_from_positions_adds_what_meets() -> None:
    x = nd.sparse.csr_matrix(([1, 2, 5, 7], ([0, 2, 0, 1], [1, 0, 1, 2])), shape=(4, 3))
    wanted = np.zeros((4, 3), np.float32)
    wanted[0, 1], wanted[2, 0], wanted[1, 2] = 6, 2, 7
    x.check_format()
    np.testing.assert_array_equal(x.asnumpy(), wanted)
    assert nd.sparse.csr_matrix(([1, 2], ([0, 2], [1, 0]))).shape == (3, 2)


def test_positions_that_do_not_ascend_are_sorted() -> None:
    x = nd.sparse.csr_matrix(([3, 2, 1], [2, 0, 1], [0, 2, 3]))
    assert host(x.indices, x.data) == [[0, 2, 1], [2, 3, 1]]
    x = nd.sparse.row_sparse_array((nd.array([[1, 2], [3, 4]]), nd.array([3, 1])))
    assert x.shape == (4, 2)
    assert host(x.indices, x.data) == [[1, 3], [[3, 4], [1, 2]]]


def test_a_shape_or_zeros_store_nothing() -> None:
    made = [
        nd.sparse.csr_matrix((3, 4)),
        nd.sparse.row_sparse_array((3, 4, 2), dtype="int32"),
        nd.sparse.zeros("csr", (3, 4), dtype="float64"),
        nd.sparse.empty("row_sparse", (3, 4)),
        nd.zeros((3, 4), stype="row_sparse"),
        nd.empty((3, 4), stype="csr"),
    ]
    kinds = ["float32", "int32", "float64", "float32", "float32", "float32"]
    assert [np.dtype(x.dtype).name for x in made] == kinds
    for x in made:
        assert x.data.shape[0] == 0 and not x.asnumpy().any()
        x.check_format()
    assert nd.sparse.zeros("default", (2, 2)).stype == "default"


def test_matrices_of_scipy_come_and_go() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    source = sparse.random(5, 4, 0.4, format="coo", random_state=1)
    x = nd.sparse.csr_matrix(source)
    np.testing.assert_array_equal(x.asnumpy(), source.toarray())
    back = x.asscipy()
    assert back.format == "csr" and back.dtype == source.dtype
    np.testing.assert_array_equal(back.toarray(), source.toarray())
    assert nd.sparse.array(source).stype == "csr"


def test_copies_between_storages_and_contexts() -> None:
    for x in (csr(), rows()):
        dense, same = nd.zeros((4, 3)), nd.sparse.zeros(x.stype, (4, 3))
        assert x.copyto(dense) is dense and x.copyto(same) is same
        there = x.as_in_context(hn.cpu(1))
        assert there.context == there.data.context == hn.cpu(1)
        wide = x.astype("float64")
        assert wide.dtype == np.float64 and wide.stype == x.stype
        assert x.astype("float32", copy=False) is x
        restored = pickle.loads(pickle.dumps(x))
        for one in (dense, same, there, wide, restored, copy.copy(x), copy.deepcopy(x), x.copy()):
            np.testing.assert_array_equal(one.asnumpy(), A)
        assert nd.array(x).stype == nd.sparse.array(x).stype == x.stype
        x.wait_to_read()


def test_rows_of_a_csr_matrix() -> None:
    x = csr()
    for key in (slice(1, 3), slice(None, 2), slice(-2, None), slice(2, 2), slice(3, 1)):
        part = x[key]
        part.check_format()
        np.testing.assert_array_equal(part.asnumpy(), A[key])
    assert x[-1].shape == x[3].shape == (1, 3)
    np.testing.assert_array_equal(x[-1].asnumpy(), A[-1:])
    assert x[:] is x
    assert [one.shape for one in x] == [(1, 3)] * 4
    with pytest.raises(IndexError, match="index 4 is out of range for 4 rows"):
        x[4]


def test_the_whole_array_is_written() -> None:
    x = rows()
    x[:] = 2 * A
    np.testing.assert_array_equal(x.asnumpy(), 2 * A)
    x[:] = 0
    assert x.indices.shape == (0,)
    x = csr()
    x[:] = csr() * 3
    np.testing.assert_array_equal(x.asnumpy(), 3 * A)


def test_parts_of_other_orders_are_found_by_check_format() -> None:
    data, (columns, ends) = csr()._data, csr()._aux
    bad = CSRNDArray.of(data, (columns + 1, ends), (4, 3))
    bad.check_format(full_check=False)
    with pytest.raises(MXNetError, match="indices of a csr array must ascend in each row"):
        bad.check_format()
    with pytest.raises(MXNetError, match="indptr of a csr array must begin with 0"):
        CSRNDArray.of(data, (columns, ends + 1), (4, 3)).check_format()
    where = nd.array([1, 0, 3], dtype="int64")
    with pytest.raises(MXNetError, match="indices of a row_sparse array must ascend"):
        RowSparseNDArray.of(rows()._data, (where,), (4, 3)).check_format()


def test_files_keep_the_storage(tmp_path: Any) -> None:
    nd.save(tmp_path / "a.params", {"c": csr(), "r": rows() + rows(), "d": nd.array(A)})
    loaded = nd.load(tmp_path / "a.params")
    assert [one.stype for one in loaded.values()] == ["csr", "row_sparse", "default"]
    assert host(loaded["c"].data, loaded["c"].indices, loaded["c"].indptr) == list(map(list, PARTS))
    np.testing.assert_array_equal(loaded["r"].asnumpy(), 2 * A)
    nd.save(tmp_path / "a.params", csr())
    (alone,) = nd.load_frombuffer((tmp_path / "a.params").read_bytes())
    alone.check_format()
    np.testing.assert_array_equal(alone.asnumpy(), A)


@pytest.mark.parametrize(
    "call,error,message",
    [
        (lambda: nd.sparse.csr_matrix((1, 2, 3)), ShapeError, "must have 1 dimension"),
        (lambda: nd.sparse.csr_matrix(PARTS, shape=(4, 2)), ShapeError, "indices: must be from 0"),
        (lambda: nd.sparse.csr_matrix(PARTS, shape=(5, 3)), ShapeError, "indptr must have"),
        (lambda: nd.sparse.csr_matrix(([1], 2)), ParameterError, "a tuple must be"),
        (lambda: nd.sparse.csr_matrix(rows()), ParameterError, "needs a dense array or one of"),
        (lambda: nd.sparse.csr_matrix(A, shape=(3, 4)), ShapeError, r"shape must be \(4, 3\)"),
        (
            lambda: nd.sparse.row_sparse_array((A[:2], [1, 1])),
            ParameterError,
            "indices must be distinct",
        ),
        (lambda: nd.sparse.row_sparse_array((A, [1])), ShapeError, r"indices \(n,\)"),
        (lambda: nd.sparse.array(A), ParameterError, "use nd.array"),
        (lambda: nd.sparse.zeros("coo", (2, 2)), ParameterError, "stype must be one of"),
        (lambda: nd.sparse.zeros("csr", (2, 2, 2)), ShapeError, "must have 2 dimensions"),
        (lambda: rows()[1], ParameterError, r"the only index is \[:\]"),
        (lambda: csr().__setitem__(1, 0), ParameterError, "only the whole array"),
        (lambda: csr().__setitem__(slice(None), 1), ParameterError, "needs an array"),
        (lambda: csr().copyto(nd.zeros((2, 2))), ShapeError, "copyto: shapes must be equal"),
        (lambda: csr().copyto(rows()), ParameterError, "from csr the storage type"),
    ],
)
def test_errors_say_what_is_required(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_rows_of_a_csr_matrix_by_their_numbers(mode: str) -> None:
    host = np.array([[1, 0, 2], [0, 0, 0], [3, 4, 0]], np.float32)
    rows = np.array([2, 5, -4, 0, 1])
    for data in (host, host * 0):
        made = nd.take(nd.array(data).tostype("csr"), nd.array(rows), mode=mode)
        made.check_format()
        assert made.stype == "csr" and made.shape == (5, 3)
        np.testing.assert_array_equal(made.asnumpy(), np.take(data, rows, mode=mode, axis=0))


def test_dense_arrays_are_copied_into_sparse_ones() -> None:
    x = nd.array([[0, 2], [3, 0]])
    for stype in ("csr", "row_sparse"):
        target = nd.sparse.zeros(stype, (2, 2))
        assert x.copyto(target) is target and target.stype == stype
        assert target.asnumpy().tolist() == [[0, 2], [3, 0]]
        assert target._num_aux == (2 if stype == "csr" else 1)


def test_a_matrix_without_elements_needs_a_shape() -> None:
    with pytest.raises(ShapeError, match="shape must be given"):
        nd.sparse.csr_matrix(([], [], [0, 0, 0]))
    assert nd.sparse.csr_matrix(([], [], [0, 0, 0]), shape=(2, 3)).nnz == 0


def test_matrices_of_scipy_are_made_csr_arrays() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    ends, columns = np.array([0, 2, 3, 7]), np.array([0, 2, 2, 0, 1, 2, 1])
    matrix = sparse.csr_matrix((np.arange(1.0, 8.0), columns, ends), shape=(3, 3))
    for make in (nd.array, nd.sparse.array):
        made = make(matrix)
        made.check_format()
        assert made.stype == "csr" and made.dtype is np.float64
        np.testing.assert_array_equal(made.asnumpy(), matrix.toarray())
        assert make(matrix, dtype="float32").dtype is np.float32


def test_a_row_sparse_bias_is_a_column() -> None:
    data, weight = nd.ones((2, 3)), nd.ones((4, 3)).tostype("row_sparse")
    bias = nd.array([[1], [0], [2], [3]]).tostype("row_sparse")
    made = nd.sparse.FullyConnected(data, weight, bias, num_hidden=4)
    assert made.asnumpy().tolist() == [[4, 3, 5, 6]] * 2
