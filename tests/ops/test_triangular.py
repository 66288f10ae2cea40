"""Triangular systems: one by one by LAPACK, and many small ones together, against a plain solve."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hybridnet import autograd, nd


@pytest.mark.parametrize("shape", [(32, 1, 4), (20, 5, 3), (2, 3, 4, 2), (2, 12, 3), (6, 2)])
def test_many_small_systems_are_solved_as_single_ones_are(shape):
    *batch, rows, columns = shape
    rng = np.random.default_rng(rows)
    a = np.asarray(rng.normal(size=(*batch, rows, rows)) / rows + 2 * np.eye(rows))
    for lower, transpose, rightside in itertools.product((True, False), repeat=3):
        b = rng.normal(size=(*batch, columns, rows) if rightside else shape)
        with autograd.record():
            left, right = nd.array(a, dtype="float64"), nd.array(b, dtype="float64")
            for array in (left, right):
                array.attach_grad()
            found = nd.linalg.trsm(
                left, right, lower=lower, transpose=transpose, rightside=rightside, alpha=2.0
            )
        found.backward()
        triangle = np.tril(a) if lower else np.triu(a)
        triangle = triangle.mT if transpose else triangle
        wanted = np.linalg.solve(triangle.mT, 2 * b.mT).mT if rightside else None
        wanted = np.linalg.solve(triangle, 2 * b) if wanted is None else wanted
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-9, atol=1e-12)
        ones = np.ones_like(b)
        of_b = np.linalg.solve(triangle, 2 * ones.mT).mT if rightside else None
        of_b = np.linalg.solve(triangle.mT, 2 * ones) if of_b is None else of_b
        np.testing.assert_allclose(right.grad.asnumpy(), of_b, rtol=1e-9, atol=1e-12)


def test_a_zero_on_the_diagonal_gives_infinities():
    a = nd.array(np.stack([np.eye(2), np.diag([1.0, 0.0]), 2 * np.eye(2)]))
    found = nd.linalg.trsm(a, nd.ones((3, 2, 1))).asnumpy()[..., 0]
    np.testing.assert_array_equal(found, [[1, 1], [1, np.inf], [0.5, 0.5]])
