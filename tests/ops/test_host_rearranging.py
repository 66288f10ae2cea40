"""Gradients of functions that rearrange NumPy arrays, against JAX's own."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from hybridnet.ops.host.namespace import jnp
from hybridnet.ops.host.traced import plain, vjp

_FEW = np.array([[2, 0, 2], [-1, 1, 0]])
_CASES = {
    "flip": (lambda x: jnp.flip(x), (2, 3)),
    "flip, one axis": (lambda x: jnp.flip(x, 1), (2, 3)),
    "roll": (lambda x: jnp.roll(x, 4), (2, 3)),
    "roll, axes": (lambda x: jnp.roll(x, (1, -2), (0, 1)), (3, 4)),
    "rot90": (lambda x: jnp.rot90(x, 3), (2, 3)),
    "rot90, axes": (lambda x: jnp.rot90(x, 1, (2, 0)), (2, 3, 4)),
    "tril": (lambda x: jnp.tril(x, 1), (2, 3, 4)),
    "triu": (lambda x: jnp.triu(x, -1), (3, 4)),
    "diag of a matrix": (lambda x: jnp.diag(x, 1), (3, 4)),
    "diag of a vector": (lambda x: jnp.diag(x, -1), (3,)),
    "diagflat": (lambda x: jnp.diagflat(x, 2), (2, 2)),
    "diagonal": (lambda x: jnp.diagonal(x, -1, 2, 0), (3, 2, 4)),
    "rollaxis": (lambda x: jnp.rollaxis(x, 2, 1), (2, 3, 4)),
    "repeat": (lambda x: jnp.repeat(x, 3), (2, 3)),
    "repeat, axis": (lambda x: jnp.repeat(x, 2, -2), (2, 3, 4)),
    "repeat, counts": (lambda x: jnp.repeat(x, np.array([2, 0, 1]), 1), (2, 3)),
    "tile": (lambda x: jnp.tile(x, (2, 3)), (2, 3)),
    "tile, more axes": (lambda x: jnp.tile(x, (2, 1, 3)), (4,)),
    "tile, fewer": (lambda x: jnp.tile(x, 2), (2, 3)),
    "take": (lambda x: jnp.take(x, _FEW), (2, 3)),
    "take, rows": (lambda x: jnp.take(x, _FEW, 0), (3, 4)),
    "take, inner axis": (lambda x: jnp.take(x, _FEW, 1), (2, 3, 4)),
    "take, last axis": (lambda x: jnp.take(x, _FEW, -1), (2, 4, 3)),
    "take, clipped": (lambda x: jnp.take(x, 2 * _FEW, 1, mode="clip"), (2, 3, 4)),
    "take, of a vector": (lambda x: jnp.take(x, _FEW, 0), (3,)),
    "take, one": (lambda x: jnp.take(x, np.int64(1), 1), (2, 3)),
    "take, nothing": (lambda x: jnp.take(x, np.zeros((0,), np.int64), 1), (2, 3)),
    "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 3))), (2, 3)),
    "pad, one width": (lambda x: jnp.pad(x, 2), (2, 3)),
    "pad, edge": (lambda x: jnp.pad(x, ((1, 2), (0, 3)), "edge"), (2, 3)),
    "places": (lambda x: x[_FEW], (3, 4)),
    "places, of two axes": (lambda x: x[_FEW, np.array([1, 1, 0])], (3, 2, 4)),
    "places, and a part": (lambda x: x[:, _FEW], (2, 3, 4)),
    "a mask": (lambda x: x[np.array([True, False, True])], (3, 4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_are_those_of_jax(name, dtype):
    function, shape = _CASES[name]
    draw = np.random.default_rng(len(name))
    x = draw.normal(size=shape).astype(dtype)
    made, pull_back = vjp(function, x)
    grad = draw.integers(-9, 10, plain(made).shape).astype(dtype)  # whose sums are exact
    with jax.enable_x64(True):
        by_jax, pull_by_jax = jax.vjp(function, x)
        expected = pull_by_jax(jax.numpy.asarray(grad))[0]
    np.testing.assert_array_equal(plain(made), by_jax)
    (found,) = pull_back(grad)
    assert found.shape == x.shape
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, expected)
