"""Sums in the order of the ranks."""

import numpy as np

from hybridnet.kvstore.storage.sums import DenseSum, RowSum


def test_dense_sums_are_those_of_the_order():
    values = np.random.default_rng(0).standard_normal((5, 1000)).astype(np.float32)
    kept = values.copy()
    total = DenseSum((1000,), values.dtype)
    for _ in range(2):  # the memory is used again
        for rank, value in enumerate(values):
            total.fold(value, first=rank == 0)
        expected = values[0]
        for value in values[1:]:
            expected = expected + value
        assert total.total().tobytes() == expected.tobytes()
        assert total.total().tobytes() == expected.tobytes()
    total.fold(values[3], first=True)
    assert total.total().tobytes() == values[3].tobytes()
    total.total()[:] = 0  # may be written
    assert (values == kept).all()


def test_sums_of_rows_have_the_rows_of_all():
    generator = np.random.default_rng(1)
    total = RowSum((3,), np.dtype(np.float32))
    dense = np.zeros((50, 3), np.float32)
    for rank in range(4):
        rows = np.sort(generator.choice(50, 12, replace=False))
        values = generator.standard_normal((12, 3)).astype(np.float32)
        total.fold(rows, values, first=rank == 0)
        dense[rows] += values
    rows, found = total.total()
    assert rows.tolist() == np.flatnonzero(dense.any(1)).tolist()
    assert found.tobytes() == dense[rows].tobytes()
    none = RowSum((3,), np.dtype(np.float32))
    none.fold(np.zeros(0, np.int64), np.zeros((0, 3), np.float32), first=True)
    assert [one.shape for one in none.total()] == [(0,), (0, 3)]
